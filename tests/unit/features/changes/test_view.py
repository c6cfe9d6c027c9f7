"""The page of changes: differences line by line, the rest in lists. The feed: XML, whatever pages
say."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.features.changes.view import changes_feed, changes_page
from headgate.model.page import Change, PageChange


def test_a_difference_has_a_line_for_each_of_its_lines() -> None:
    change = PageChange(
        Change.CHANGED,
        "docs",
        url="http://a/",
        title="A",
        seen_at=1e9,
        before_at=9e8,
        difference=("- old <b>", "+ new", "  same"),
        more_lines=2,
    )
    page = changes_page([change], "Changes", "1 page changed")
    assert (
        '<span class="went">- old &lt;b&gt;\n</span><span class="came">+ new\n</span>'
        '<span class="around">  same\n</span><span class="around">  … 2 more lines\n</span>'
    ) in page
    assert "�" not in page


def test_pages_without_a_difference_are_listed() -> None:
    changes = [
        PageChange(Change.NEW, "docs", f"http://a/{number}", f"Page {number}", 1e9)
        for number in range(3)
    ]
    page = changes_page([*changes, PageChange(Change.GONE, "docs", "http://a/x", "", 1e9)], "T", "")
    assert "New: 3 pages" in page
    assert "Gone: 1 page<" in page
    assert page.count("<li>") == 4


ATOM = "{http://www.w3.org/2005/Atom}"


def entries(*changes: PageChange) -> list[ElementTree.Element]:
    """As a reader gets them: in UTF-8."""
    feed = "".join(changes_feed(changes, "mine", 1e9)).encode("utf-8")
    return ElementTree.fromstring(feed).findall(f"{ATOM}entry")


def changed(title: str = "", *lines: str, url: str = "http://a/") -> PageChange:
    return PageChange(
        Change.CHANGED, "docs", url=url, title=title, seen_at=1e9, before_at=9e8, difference=lines
    )


def text_of(entry: ElementTree.Element, name: str) -> str:
    return entry.findtext(f"{ATOM}{name}") or ""


@pytest.mark.parametrize("character", ["\0", "\x0b", "\x1b", "\ud800", "\ufffe", "\uffff", "\r"])
def test_a_title_of_a_stranger_leaves_the_feed_readable(character: str) -> None:
    honest = changed("Honest", "- a", "+ b")
    found = entries(
        changed(f"a{character}b", f"+ {character}", url=f"http://a/{character}"), honest
    )
    assert [text_of(entry, "title") for entry in found] == ["changed: a\ufffdb", "changed: Honest"]


@given(st.lists(st.text(st.characters() | st.sampled_from("\ufffe\uffff\ud800\x01")), max_size=3))
@example(["\U0001ffff"])
def test_no_text_makes_it_anything_but_xml(lines: list[str]) -> None:
    (entry,) = entries(changed("".join(lines), *lines, url="".join(lines)))
    assert len(text_of(entry, "content").split("\n")) == max(len(lines), 1)


def test_a_difference_has_lines_in_the_feed_too() -> None:
    (entry,) = entries(changed("A", "- 5 < 6", "+ 7"))
    assert text_of(entry, "content") == "- 5 < 6\n+ 7"
