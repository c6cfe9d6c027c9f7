"""Users' patterns mean in RE2 what they mean in Python, and take no longer for a stranger."""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.model.errors import UserMistake
from headgate.model.patterns import Pattern, line_pattern, url_pattern

ALL = [chr(number) for number in range(sys.maxunicode + 1) if not 0xD800 <= number < 0xE000]
PIECES = (
    "a", "B", "é", "ſ", "_", ".", r"\.", "-", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b",
    r"\B", "[ab]", "[^ab]", "[a-f_]", r"[\w-]", r"[\W_]", r"[^\W_]", r"[^\d\s]",
    r"[^\D1]", "[]x]", "[[a]",
    r"[\b]", r"\x41", r"\101", r"\u00e9", r"\t", "^", "$", r"\A", r"\Z", "(?i:a)", "(?-i:a)",
    "(?s:.)", "(?#no)", "(?P<n>a)", "(a|b|)", "(?:ab)", " ", "0", "~", "&&", "{", "{a}",
)  # fmt: skip
SUFFIXES = ("", "*", "+", "?", "*?", "+?", "??", "{2}", "{,2}", "{1,}", "{0,3}?")
ANCHORS = ("^", "$", r"\A", r"\Z", r"\b", r"\B", "(?#no)")


def plain(pattern: str, text: str, flags: int = 0) -> re.Match[str] | None:
    return re.compile(pattern, flags).search(text)


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Of which Python and RE2 know the same."""
    words = []
    for piece in draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5)):
        words.append(piece + ("" if piece in ANCHORS else draw(st.sampled_from(SUFFIXES))))
        if draw(st.booleans()) and draw(st.booleans()):
            words.append("|")
    return "".join(words).replace("(?P<n>", "(", max("".join(words).count("(?P<n>") - 1, 0))


@given(patterns(), st.text("aBbéſK_.-0 1~&{}[]x\tA", min_size=1, max_size=12))
@example(r"[^\W_]+", "é_")
@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
def test_a_line_is_searched_as_python_does(pattern: str, line: str) -> None:
    if r"\b" in pattern.lower().replace(r"[\b]", "") and not line.isascii():
        return  # documented: RE2 knows the edges of ASCII words only
    expected = plain(pattern, line, re.IGNORECASE)
    assert line_pattern(pattern).search(line) == (expected is not None)


@given(patterns(), st.text("aBb_.-0 1~&{}[]x/:?=A", min_size=1, max_size=12))
@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
def test_a_url_is_searched_as_python_does(pattern: str, url: str) -> None:
    assert url_pattern(pattern).search(url) == (plain(pattern, url) is not None)


@given(patterns(), st.text("aBb_.-0 1~&{}[]x", max_size=30))
@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
def test_what_matches_is_taken_out_as_python_does(pattern: str, line: str) -> None:
    def blank(match: re.Match[str]) -> str:
        return " " if match[0] else ""

    expected = re.compile(pattern, re.IGNORECASE).sub(blank, line)
    if plain(pattern, "", re.IGNORECASE) is None:  # after an empty match, each goes on in its way
        assert line_pattern(pattern).without(line) == expected


@pytest.mark.parametrize("kind", [r"\d", r"\w", r"\s", r"[^\W_]", r"[^\s\d]", r"[\W\d]"])
def test_classes_are_those_of_all_scripts(kind: str) -> None:
    """But for a few letters that only one of two versions of Unicode knows."""
    engine, letters = line_pattern(kind), re.compile(kind)
    unlike = [
        char
        for char in ALL
        if unicodedata.category(char) not in ("Cn", "Co")
        and engine.search(char) != (letters.match(char) is not None)
    ]
    assert len(unlike) <= 10, [f"{ord(char):x}" for char in unlike]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", r"'\(' is not a regular expression: missing \)"),
        ("/(?!old)", "looks ahead or back"),
        ("/(?=old)", "looks ahead or back"),
        ("(?<=/)x", "looks ahead or back"),
        ("(?<!/)x", "looks ahead or back"),
        (r"(a)\1", "refers to a group; write out"),
        ("(?P<x>a)(?P=x)", "refers to a group; write out"),
        ("(a)?(?(1)b|c)", "refers to a group; write out"),
        ("a++", r"drop \+\+"),
        ("(?>a)", r"drop \+\+"),
        ("a{1001}", "more than 1,000 times; write"),
        (r"(\w{1,100}){1,100}", "too much memory; let it repeat less often"),
        ("\ud800", "half a character"),
    ],
)
@pytest.mark.parametrize("reader", [url_pattern, line_pattern])
def test_what_cannot_be_done_says_what_to_do(
    pattern: str, problem: str, reader: Callable[[str], Pattern]
) -> None:
    if pattern.startswith(r"(\w") and reader is url_pattern:
        pattern = pattern.replace(r"\w", r"[^x]")
    with pytest.raises(UserMistake, match=problem):
        reader(pattern)


def seconds(pattern: Pattern, text: str) -> float:
    began = time.thread_time()
    pattern.search(text)
    pattern.without(text)
    return time.thread_time() - began


@pytest.mark.parametrize(
    ("pattern", "piece"),
    [
        (r".*[?&]page=\d+.*[?&]sort=.*$", "&page=1"),
        (r"\d+ visitors", "1"),
        ("(a+)+b", "a"),
        ("a(.*b)?", "a"),
        (r"(x+x+)+y", "x"),
        ("(a|b)*a(a|b){12}", "ab"),
        ("", "a"),
    ],
)
def test_time_grows_as_the_text_does(pattern: str, piece: str) -> None:
    """Sixteen times the text: 256 times the time if it were quadratic."""
    engine = line_pattern(pattern)
    short, long = (piece * (size // len(piece)) for size in (10_000, 160_000))
    least = min(seconds(engine, short) for _ in range(5))
    assert min(seconds(engine, long) for _ in range(2)) < 64 * max(least, 1e-4)


def test_a_line_without_a_match_is_the_same_line() -> None:
    line = "Tea, 5 EUR " * 100
    assert line_pattern("coffee").without(line) is line


def test_many_matches_in_a_long_line_are_all_found() -> None:
    line = "1 visitor, é; " * 20_000
    assert line_pattern(r"\d visitors?").without(line) == " , é; " * 20_000


def test_half_a_character_stays_as_it_is() -> None:
    assert line_pattern("b").without("a\ud800b") == "a\ud800 "
    assert not line_pattern("a b").search("a\ud800b")


def test_all_of_a_rule_that_runs_to_the_end_of_a_line_is_taken_out() -> None:
    assert line_pattern("Offer: .*").without("Offer: " + "x" * 100_000) == " "


def test_a_compiled_pattern_goes_by_its_text_and_what_it_is_for() -> None:
    assert url_pattern("kept") is url_pattern("kept")
    assert line_pattern("É").search("é")
    assert not url_pattern("É").search("é")
    assert not line_pattern("È").search("é")
