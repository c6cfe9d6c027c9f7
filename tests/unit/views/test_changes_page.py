"""The page of changes: differences line by line, the rest in lists."""

from __future__ import annotations

from headgate.model.page_change import Change, PageChange
from headgate.views.changes_page import changes_page


def test_a_difference_has_a_line_for_each_of_its_lines() -> None:
    change = PageChange(
        Change.CHANGED, "docs", "http://a/", "A", 1e9, 9e8, ("- old <b>", "+ new", "  same"), 2
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
