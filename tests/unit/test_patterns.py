"""No regular expression of the product can be held up by a text, whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.patterns import Dynamic, Found, patterns_in, slow_with

import headgate
from headgate.frontier import traps
from headgate.reading import links, tags

HOME = Path(headgate.__file__).parent
MADE: Mapping[str, Callable[[], Iterable[re.Pattern[Any]]]] = {
    "headgate.frontier.traps: _any_of": lambda: map(
        traps._any_of, (range(2029, 2059), range(1946, 1976))
    ),
    "headgate.reading.tags: _pattern": lambda: [
        tags._pattern(frozenset(links.PAGE_TAGS | links.RESOURCE_TAGS))
    ],
}
"""What functions make by their arguments."""
LEAST_FOUND = 100


@cache
def found_in_the_product() -> tuple[tuple[Found, ...], frozenset[str]]:
    """The constant patterns, and the functions that make others."""
    found: list[Found] = []
    makers: set[str] = set()
    for file in sorted(HOME.rglob("*.py")):
        source = file.read_text("utf-8")
        if "import re\n" not in source and "Meta(" not in source:
            assert "from re " not in source
            continue
        name = ".".join(("headgate", *file.relative_to(HOME).with_suffix("").parts))
        module = import_module(name.removesuffix(".__init__"))
        for one in patterns_in(source, module.__name__, vars(module)):
            if isinstance(one, Dynamic):
                makers.add(one.function)
            else:
                found.append(one)
    return tuple(found), frozenset(makers)


def test_all_patterns_are_found() -> None:
    found, makers = found_in_the_product()
    assert len(found) > LEAST_FOUND
    assert makers == set(MADE), "give an example of what such a function makes"


@pytest.mark.parametrize("part", range(8))
def test_time_grows_as_the_text_does(part: int) -> None:
    found, _ = found_in_the_product()
    slow = [words for one in found[part::8] if (words := slow_with(one))]
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize("maker", MADE)
def test_so_it_does_with_patterns_that_functions_make(maker: str) -> None:
    slow = [words for made in MADE[maker]() if (words := slow_with(Found.of(maker, made)))]
    assert not slow, "\n".join(slow)


PLANTED = {
    "a comment that does not end": r"""_P = re.compile(r"<!--[\s\S]*?-->")""",
    "the same, as bytes": r"""_P = re.compile(rb"<!--[\s\S]*?-->", re.I)""",
    "tags that do not end": r"""_P = re.compile(r"<style\b[^>]*>([\s\S]*?)(?:</style|\Z)")""",
    "a bounded look back": r"""_P = re.compile(rb"<<((?:(?!stream)[\s\S]){0,2000}?)>>\s*stream")""",
    "blanks before what is not there": r"""_P = re.compile(rb"^(a:[ \t]*[^=;]*=)[^;]*", re.M)""",
    "one beside the other": r"""_P = re.compile(r"\s*(\d+)\s*(\w*)\s*")""",
    "one in the other": r"""_P = re.compile(r"(?:[a-z]+)*;")""",
    "either of two that are alike": r"""_P = re.compile(r"(?:a|ab|b)*;")""",
    "the last of many": r"""_P = re.compile("^(.*)id=[^&]+&token=")""",
    "in a function": r"""
def f(text):
    return re.sub(r"\s+$", "", text)""",
    "of an f-string": r"""
_BLANK = r"[ \t]"
_P = re.compile(rf"a{_BLANK}*b{'|'.join(['c', _BLANK + '+;'])}")""",
    "of a sum": """
_P = re.compile("[ab]" + "*" + "c")""",
    "of an argument": """
def f(pattern):
    return re.compile(pattern)
f("[ab]*c")""",
    "of a value": """
Text = Annotated[str, msgspec.Meta(pattern="[ab]*c")]""",
}


def planted(source: str) -> list[Found | Dynamic]:
    source = f"import re\nimport msgspec\nfrom typing import Annotated\n{source}\n"
    names: dict[str, Any] = {}
    exec(source, names)
    return list(patterns_in(source, "planted", names))


@pytest.mark.parametrize("kind", PLANTED)
def test_a_slow_pattern_would_be_found(kind: str) -> None:
    (one,) = planted(PLANTED[kind])
    assert isinstance(one, Found)
    assert slow_with(one)


@pytest.mark.parametrize(
    "source",
    [
        r"""_P = re.compile(r"<!--[\s\S]*?(?:-->|\Z)")""",
        r"""_P = re.compile(r"<[^>]*+(?:>|\Z)")""",
        r"""
_P = re.compile(r"[!-~](?:[\t -~]*[!-~])?")
def f(text):
    return _P.fullmatch(text)""",
    ],
)
def test_a_linear_one_is_not_found_slow(source: str) -> None:
    (one,) = planted(source)
    assert isinstance(one, Found)
    assert slow_with(one) is None


def test_what_a_pattern_is_used_for_counts() -> None:
    """Held against a whole text once, this is linear; sought in it, it is not."""
    (one,) = planted("_P = re.compile('[ab]*c')\ndef f(text):\n    return _P.search(text)")
    assert isinstance(one, Found)
    assert one.uses == {"search"}
    assert slow_with(one)
    (other,) = planted("_P = re.compile('[ab]*c')\ndef f(text):\n    return _P.match(text)")
    assert isinstance(other, Found)
    assert slow_with(other) is None


def test_those_of_an_enumeration_are_used_by_their_value() -> None:
    one, other = planted("""
from enum import Enum
class Kind(Enum):
    ONE = re.compile("[ab]*")
    OTHER = re.compile(rf"{ONE.pattern}c")
def f(kind, text):
    return kind.value.fullmatch(text)""")
    assert isinstance(one, Found)
    assert isinstance(other, Found)
    assert (other.pattern, set(other.uses)) == ("[ab]*c", {"fullmatch"})


def test_a_pattern_of_an_argument_is_told_apart() -> None:
    (one,) = planted("def f(name):\n    return re.compile(name + '*')")
    assert one == Dynamic("planted: f")
