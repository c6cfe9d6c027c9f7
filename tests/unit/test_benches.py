"""`make bench` lists every bench with how long it takes."""

from __future__ import annotations

import ast
from pathlib import Path

import bench.__main__
from bench.__main__ import TIMES, benches


def test_every_bench_says_what_it_measures() -> None:
    found = benches()
    assert {"speed", "bandwidth", "keep"} <= found.keys()
    assert "shared_world" not in found, "a part of benches, which nobody can run"
    assert all(what.endswith((".", "?")) for what in found.values())


def test_every_bench_has_a_time_and_none_that_is_gone() -> None:
    assert TIMES.keys() == benches().keys()
    assert all(TIMES.values())


def test_every_bench_says_how_it_is_run() -> None:
    for name in benches():
        module = Path(bench.__main__.__file__).with_name(f"{name}.py")
        head = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
        assert f"python -m bench.{name}" in head
