"""The page of changes: differences line by line, the rest in lists."""

from __future__ import annotations

from headgate.features.changes.view import changes_page
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
