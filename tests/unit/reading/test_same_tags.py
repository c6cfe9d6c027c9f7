"""The compiled pass against the plain one, and both against the standard's own test cases."""

from __future__ import annotations

import json
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.tag_fuzz import disagreement, made_pages

from headgate.reading.tags import COMPILED, CompiledTags, PlainTags, TagPass, Wanted

CASES = Path(__file__).parents[2] / "data" / "html5lib-tokenizer"
RAW_TEXT = ("iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title")
needs_compiled = pytest.mark.skipif(
    not COMPILED, reason="no compiler was there when Headgate was installed"
)


def test_compiled_where_there_is_a_compiler() -> None:
    """Without this, all that follows could be skipped for ever. Here: pip install -e ."""
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    assert COMPILED or shutil.which("gcc") is None or not headers.exists()


@needs_compiled
def test_same_in_pages_made_by_chance() -> None:
    files = sorted(Path("/usr/share/doc").glob("postgresql-doc-*/html/*.html"))[::50]
    real = [path.read_text("utf-8", "replace") for path in files]
    assert disagreement(made_pages(10_000, 5, real)) is None


def cases() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.test")):
        told = json.loads(path.read_text("utf-8"))
        yield from told.get("tests", told.get("xmlViolationTests", ()))


@needs_compiled
def test_same_in_the_standards_cases() -> None:
    assert disagreement(case["input"] for case in cases()) is None
    assert disagreement(f"<title>{case['input']}</title>" for case in cases()) is None
    assert disagreement(f"<a href='{case['input']}'>" for case in cases()) is None


def wanted_of(case: Any) -> Wanted:
    """What a case's start tags have, as far as it can be asked for."""
    wanted: dict[str, dict[str, None]] = {"a": {"href": None}}
    for token in case["output"]:
        if token[0] == "StartTag" and is_word(token[1]):
            wanted.setdefault(token[1], {}).update(dict.fromkeys(filter(is_word, token[2])))
    return {name: tuple(keys)[:8] for name, keys in wanted.items() if keys} | {"title": ()}


def is_word(text: str) -> bool:
    return text.isascii() and text.islower() and text[0].isalpha() and len(text) <= 15


@pytest.mark.parametrize(
    "make", [PlainTags, pytest.param(CompiledTags, marks=needs_compiled)], ids=lambda m: m.__name__
)
def test_start_tags_are_the_standards(make: type[PlainTags] | type[CompiledTags]) -> None:
    """Cases with raw text need a tree builder's word, and U+0000 stays what it was."""
    held = 0
    for case in cases():
        low = case["input"].lower()
        if case.get("initialStates", ["Data state"]) != ["Data state"] or case.get("doubleEscaped"):
            continue
        if any(f"<{name}" in low for name in RAW_TEXT) or "\0" in low or "<![cdata[" in low:
            continue
        wanted = wanted_of(case)
        tag_pass: TagPass = make(wanted)
        batches = tag_pass.batches(low_lines(case), brief=False)
        ours = [tag[:2] for batch in batches for tag in batch]
        theirs = [
            (token[1], {key: token[2][key] for key in wanted[token[1]] if key in token[2]})
            for token in case["output"]
            if token[0] == "StartTag" and any(key in token[2] for key in wanted.get(token[1], ()))
        ]
        assert ours == theirs, case["description"]
        held += bool(theirs)
    assert held > 300


def low_lines(case: Any) -> str:
    """A parser's input has its line ends made one before it is read."""
    return str(case["input"]).replace("\r\n", "\n").replace("\r", "\n")
