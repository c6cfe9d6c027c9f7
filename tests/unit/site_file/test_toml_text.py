"""The place of every table, key and element, whatever the text does to mislead."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.site_file.toml_text import DEEPEST, Path, TomlPositions

MISLEADING = '''\
# [site.commented]
title = """
[site.in-a-string]
deadline = "1s"
""" # the end
[budget]
bandwidth = [  # ] not the end
    "Mon-Fri 08:00 300 KB/s", "19:00 2 MB/s",

    "Sat 00:00 unlimited",
]
[ site . "a.b" ]  # a quoted name with a dot
seeds = ["https://x/]", 'https://y/#"',
    """https://z/
""", "https://last/",
]
deadline = 1.5
note = \'\'\'
[site.also-in-a-string]\'\'\'
[site]
x = { deadline = 1.5, seeds = ["a", "b"], "quoted key" = {k = [1,
    2]} }
y.deadline = 3
y.expect = 2026-11-16 08:00:00.5
[[site.z]]
"q\\u0041" = 2
[site.'li"teral']
'''

PLACES: list[tuple[Path, int]] = [
    (("title",), 2),
    (("budget",), 6),
    (("budget", "bandwidth"), 7),
    (("budget", "bandwidth", 0), 8),
    (("budget", "bandwidth", 1), 8),
    (("budget", "bandwidth", 2), 10),
    (("site", "a.b"), 12),
    (("site", "a.b", "seeds"), 13),
    (("site", "a.b", "seeds", 1), 13),
    (("site", "a.b", "seeds", 2), 14),
    (("site", "a.b", "seeds", 3), 15),
    (("site", "a.b", "deadline"), 17),
    (("site", "x"), 21),
    (("site", "x", "seeds", 1), 21),
    (("site", "x", "quoted key", "k", 1), 22),
    (("site", "y"), 23),
    (("site", "y", "expect"), 24),
    (("site", "z"), 25),
    (("site", "z", "qA"), 26),
    (("site", 'li"teral'), 27),
]


@pytest.mark.parametrize(("path", "line"), PLACES, ids=[str(path) for path, _ in PLACES])
def test_nothing_misleads(path: Path, line: int) -> None:
    assert TomlPositions.from_text(MISLEADING).lines[path] == line


def test_only_what_is_there_is_found() -> None:
    tomllib.loads(MISLEADING)
    sites = {
        path[1]
        for path in TomlPositions.from_text(MISLEADING).lines
        if path[:1] == ("site",)[: len(path) - 1]
    }
    assert sites == {"a.b", "x", "y", "z", 'li"teral'}


def test_windows_line_ends_count_once() -> None:
    positions = TomlPositions.from_text("[a]\r\nb = 1\r\n\r\n[c]\r\n")
    assert positions.line_of(("a", "b")) == 2
    assert positions.line_of(("c",)) == 4


def test_what_is_not_written_has_the_line_of_what_encloses_it() -> None:
    positions = TomlPositions.from_text("\n[site.a]\n")
    assert positions.line_of(("site", "a", "expect")) == 2
    assert positions.line_of(("budget", "bandwidth")) == 1


def test_the_statement_at_a_line_may_have_begun_before_it() -> None:
    positions = TomlPositions.from_text("[a]\nb = [\n 1,\n 2,\n]\nc = 1")
    assert positions.statement_at(4) == (2, ("a", "b"))
    assert positions.statement_at(6) == (6, ("a", "c"))
    assert TomlPositions.from_text("\n\n").statement_at(2) is None


def test_deep_nesting_is_noted_and_costs_no_stack() -> None:
    positions = TomlPositions.from_text("a = 1\nb = [\n" + "[" * 100_000)
    assert positions.too_deep == 3
    assert TomlPositions.from_text("a = " + "[" * DEEPEST).too_deep is None


@given(text=st.text() | st.text(alphabet="[]{}=,.\"'#\\\n ab1", max_size=60))
def test_any_text_is_walked(text: str) -> None:
    TomlPositions.from_text(text)


names = st.sampled_from(["a", "b-c", "x y", "d.e", 'q"', "ü", "1", "#"])
scalars = st.sampled_from(["1", "1.5", "true", '"s # ]"', "'l'", '"""m\n[no]\n"""', "08:00:00"])
arrays = st.lists(scalars, max_size=3).map(lambda parts: "[\n" + ",\n# c\n".join(parts) + "]")
tables = st.dictionaries(names, st.dictionaries(names, scalars | arrays, max_size=4), max_size=4)


@given(tables=tables)
def test_every_key_of_a_document_has_the_line_it_was_written_on(
    tables: dict[str, dict[str, str]],
) -> None:
    text = ""
    expected: dict[tuple[str, ...], int] = {}
    for table, values in tables.items():
        expected[(table,)] = text.count("\n") + 1
        text += f"[{_quoted(table)}] # [z]\n"
        for key, value in values.items():
            expected[table, key] = text.count("\n") + 1
            text += f"{_quoted(key)} = {value}\n\n"
    positions = TomlPositions.from_text(text)
    assert _paths(tomllib.loads(text)) == set(expected)
    assert {path: positions.lines[path] for path in expected} == expected


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'


def _paths(document: dict[str, Any]) -> set[tuple[str, ...]]:
    return {(table,) for table in document} | {
        (table, key) for table, values in document.items() for key in values
    }
