"""Both tag passes against lexbor's tree, and its bounds on pages made to be dear."""

from __future__ import annotations

import runpy
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from headgate.reading import tags
from headgate.reading.tags import (
    COMPILED,
    CompiledTags,
    PlainTags,
    Tag,
    TagPass,
    Wanted,
    attributes,
    shown_text,
    start_tags,
    unescaped,
)

KEYS = {"a": "href", "area": "href", "link": "href", "meta": "content", "iframe": "src"}
WANTED: Wanted = {"a": ("href",), "area": ("href",), "base": ("href",), "frame": ("src",)} | {
    "html": ("lang",), "iframe": ("src",), "link": ("href",), "meta": ("content",), "title": ()
}  # fmt: skip
PASSES: dict[str, TagPass] = {"plain": PlainTags(WANTED)}
if COMPILED:
    PASSES["compiled"] = CompiledTags(WANTED)


@pytest.fixture(params=["plain", "compiled"], scope="module")
def tags_of(request: pytest.FixtureRequest) -> Callable[[str], list[Tag]]:
    if request.param not in PASSES:
        pytest.skip("no compiler was there when Headgate was installed")
    tag_pass = PASSES[request.param]
    return lambda page: [
        tag
        for batch in tag_pass.batches(page, brief=False)
        for tag in batch
        if not isinstance(tag, str)
    ]


def hrefs(tags: list[Tag]) -> list[str]:
    return [found["href"] for _, found, _, _ in tags if "href" in found]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ('<a href="x">', ["x"]),
        ("<A HREF=x>", ["x"]),
        ("<a\nhref\n=\n'x'>", ["x"]),
        ('<a href="x"title="y">', ["x"]),
        ('<a/href="x">', ["x"]),
        ("<a href=x/>", ["x/"]),
        ('<a href="x" href="y">', ["x"]),
        ('<a title=">" href="x">', ["x"]),
        ('<a data-href="n" href="x" hreflang="y">', ["x"]),
        ("<a href>", [""]),
        ("<a href=>", [""]),
        ("<a =href=x>", []),
        ("<abbr href=x>", []),
        ("< a href=x>", []),
        ("</a href=x>", []),
        ("<a href=x", []),
        ('<a href="x><a href=y>', []),
        ("<!--<a href=x>--><a href=y>", ["y"]),
        ("<!--><a href=x>", ["x"]),
        ("<!---><a href=x>", ["x"]),
        ("<!-- --!><a href=x>", ["x"]),
        ("<!-- -- ><a href=x>", []),
        ("<!doctype html '<a href=x>'><a href=y>", ["y"]),
        ("<?php <a href=x>", []),
        ("</ <a href=x><a href=y>", ["y"]),
        ('<div title="<a href=x>"><a href=y>', ["y"]),
        ("<div title='> <a href=x>'><a href=y>", ["y"]),
        ('</div title="<a href=x>"><a href=y>', ["y"]),
        ("<p <a href=x><a href=y>", ["y"]),
        ("<script>'<a href=x>'</script><a href=y>", ["y"]),
        ("<script>'</scripty>'<a href=x></SCRIPT ><a href=y>", ["y"]),
        ("<style><a href=x></style><a href=y>", ["y"]),
        ("<textarea><a href=x></textarea><a href=y>", ["y"]),
        ("<title><a href=x></title><a href=y>", ["y"]),
        ("<iframe src=z><a href=x></iframe><a href=y>", ["y"]),
        ("<xmp><a href=x></xmp><noembed><a href=x></noembed><a href=y>", ["y"]),
        ("<noscript><a href=x></noscript>", ["x"]),
        ("<plaintext><a href=x>", []),
        ("<script src=z/><a href=x></script><a href=y>", ["y"]),
        ('<a href=\'x&#38;y\'><a href="x&#38;y"><a href="x&amp;y#z">', ["x&y", "x&y", "x&y#z"]),
        ('\0<a\0 href=x><a href="y\0">', ["y\0"]),
        ("a < b <a href=x> c << <", ["x"]),
        ('<div="><a href=x>"><a href=y>', ["x", "y"]),
        ('<p ="x=" y><a href=x>"><a href=y>', ["y"]),
        ('<p a="b"="c=" d><a href=x>"><a href=y>', ["y"]),
        ("<a \u212a=1 hre\u017f=2 href=x>", ["x"]),
        ("<title></t\u0131tle><a href=x></title><a href=y>", ["y"]),
    ],
)
def test_found(tags_of: Callable[[str], list[Tag]], page: str, expected: list[str]) -> None:
    assert hrefs(tags_of(page)) == expected


@pytest.mark.parametrize(
    "page", ["<title/><a href=x>", '<svg><style id="s"/><a href=x>', "<iframe src='y' /><a href=x>"]
)
def test_raw_text_tags_that_close_themselves_are_empty(
    tags_of: Callable[[str], list[Tag]], page: str
) -> None:
    assert hrefs(tags_of(page)) == ["x"]


def test_raw_text_comes_with_its_tag(tags_of: Callable[[str], list[Tag]]) -> None:
    assert tags_of("<title lang=en>a <b> &amp; c</title>") == [("title", {}, "a <b> &amp; c", 28)]
    assert tags_of("<title>open") == [("title", {}, "open", 11)]
    assert tags_of(f"<title>{'x' * 5_000}")[0][2] == "x" * 2_000


def test_attributes() -> None:
    text = ' a b=1 C = \'2\' d="3"e=4/ f=/ g="" =h=5 b=6'
    expected = {"a": "", "b": "1", "c": "2", "d": "3", "e": "4/", "f": "/", "g": "", "=h": "5"}
    assert attributes(text) == expected
    assert attributes(None) == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a&amp;b", "a&b"),
        ("a&ampb", "a&ampb"),
        ("a&amp=b", "a&amp=b"),
        ("a&amp", "a&"),
        ("a&copy=1&lt;", "a&copy=1<"),
        ("&copyx;&nosuch;&", "&copyx;&nosuch;&"),
        ("&#65;&#x41&#X41;", "AAA"),
        ("&#0;&#xD800;&#99999999;", "\ufffd\ufffd\ufffd"),
        ("&#" + "9" * 5000 + ";", "\ufffd"),
        ("&amp;amp;", "&amp;"),
    ],
)
def test_unescaped(value: str, expected: str) -> None:
    assert unescaped(value) == expected


def test_shown_text() -> None:
    assert shown_text("a&nbsp;b <!-- > --> <i>c</i>\n&lt;d&gt;") == "a b c <d>"
    assert shown_text("&#" + "1" * 9999) == "\ufffd"


WORDS = ["<a", "<A", "</a", "<p", "</p", "<!--", "-->", "--!>", "-", "<!", "<?", "</", "<area"]
WORDS += ["<title", "</title", "<script", "</script", "<style", "</style", "<link", "<iframe"]
WORDS += ["</iframe", "<meta", " href", " src=", " content=", "=", '"', "'", ">", "/", " ", "\n"]
WORDS += ["x", "#", "y&amp;z", "&#38;", "<", ' href="q"', " href='r'>", ' class="c">', ">t</a>"]
soup = st.lists(st.sampled_from(WORDS), max_size=30).map("".join)


def departs_on_purpose(page: str) -> bool:
    """Raw text that closes itself, and scripts that hold comments."""
    low = page.lower()
    return "/>" in low or ("<script" in low and "<!--" in low)


@given(soup)
@example("<a href='x'><p><a href='y'>")
@example("<a href=x <!-- > -->")
def test_agrees_with_lexbor_on_soup(tags_of: Callable[[str], list[Tag]], page: str) -> None:
    if departs_on_purpose(page):
        return
    ours = {
        (name, found[KEYS[name]].partition("#")[0])
        for name, found, _, _ in tags_of(page)
        if name in KEYS
    }
    theirs = {
        (name, (node.attributes[key] or "").partition("#")[0])
        for name, key in KEYS.items()
        for node in LexborHTMLParser(page).css(name)
        if key in node.attributes
    }
    assert ours == theirs


@given(st.one_of(st.text(), soup))
def test_reads_any_text(tags_of: Callable[[str], list[Tag]], page: str) -> None:
    tags_of(page)
    attributes(page)
    unescaped(page)
    shown_text(page)


@pytest.fixture(scope="module")
def careful() -> dict[str, Any]:
    """The module as Python 3.11.0 to 3.11.4 would run it."""
    version = sys.version_info
    try:
        sys.version_info = (3, 11, 2)  # type: ignore[assignment]
        return runpy.run_path(str(Path(tags.__file__)))
    finally:
        sys.version_info = version


def test_careful_form_finds_the_same(careful: dict[str, Any]) -> None:
    assert careful["ATTRIBUTES"] != tags.ATTRIBUTES or sys.version_info < (3, 11, 5)
    other: Callable[..., Iterator[tags.StartTag]] = careful["start_tags"]

    @given(soup)
    def same(page: str) -> None:
        spans = [(tag.span(), tag.groups()) for tag in start_tags(page, frozenset(WANTED))]
        assert [(tag.span(), tag.groups()) for tag in other(page, frozenset(WANTED))] == spans

    same()


DEAR = {
    "nested": "<div>",
    "misnested": "<b id=1><i id=2><p>",
    "paragraphs": "<p>",
    "attributes": "<a " + "b=c " * 70_000 + "href=x>",
    "endless tag": "<a b='c' ",
    "endless quote": "<a b='",
    "open comments": "<!--",
    "comments": "<!---->",
    "dashes": "-",
    "open scripts": "<script><",
    "ends of scripts": "</script",
    "less-than": "<",
    "titles": "<title></title",
    "links": '<a href="x">',
    "links with references": "<a href=&amp;#x>",
    "end tags": "</p",
    "equals": "<p =",
    "bogus": "<!",
}


@pytest.mark.parametrize("start", ["", "<!--", "<script>", "<p "])
@pytest.mark.parametrize("kind", DEAR)
def test_time_and_memory_stay_linear(
    tags_of: Callable[[str], list[Tag]], kind: str, start: str
) -> None:
    """A quadratic pass would take minutes, a tree gigabytes."""
    page = start + DEAR[kind] * (300_000 // len(DEAR[kind]) + 1)
    tracemalloc.start()
    began = time.process_time()
    for _ in tags_of(page):
        pass
    seconds = time.process_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 20
    assert peak < 60 * len(page)
