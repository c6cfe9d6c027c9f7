"""`make bench` lists every bench, and no time of one that is gone."""

from __future__ import annotations

from bench.__main__ import TIMES, benches


def test_every_bench_says_what_it_measures() -> None:
    found = benches()
    assert {"speed", "bandwidth", "keep"} <= found.keys()
    assert "shared_world" not in found, "a part of benches, which nobody can run"
    assert all(what.endswith((".", "?")) for what in found.values())


def test_times_are_those_of_benches() -> None:
    assert TIMES.keys() <= benches().keys()
