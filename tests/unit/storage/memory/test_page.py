from __future__ import annotations

import pytest
from msgspec.structs import replace

from headgate.model.look_history import gaps_of
from headgate.model.page import LINK_RULES
from headgate.storage.memory.page import PageLook, PageMemory, Sighting, after, earlier_of
from headgate.storage.memory.site import VisitCounts

URL = "http://site.test/"
BEGAN = 1000.0


def look(at: float, status: int = 200, content: bytes = b"one", **other: object) -> PageLook:
    held = content if status == 200 else b""
    plain = PageLook(
        at=at, status=status, error="", size_bytes=500, etag='"e"' if held else "",
        last_modified="", digest=held, content=held, original_url="", original_at=at,
        file=3, offset=77,
    )  # fmt: skip
    return replace(plain, **other)


def seen(page: PageMemory | None, *looks: PageLook, depth: int = 1) -> PageMemory:
    for one in looks:
        page = after(page, Sighting(URL, depth, BEGAN, one))
    assert page is not None
    return page


def test_a_page_that_was_only_met_is_known_and_never_asked() -> None:
    page = after(None, Sighting(URL, 4, BEGAN))
    assert (page.depth, page.first_known, page.looks, page.asked) == (4, BEGAN, 0, 0.0)
    assert page.never_asked
    assert not page.gone
    assert earlier_of(page, "") is None


def test_what_a_page_shows_is_known_as_such_until_a_link_leads_to_it() -> None:
    page = after(None, Sighting(URL, 1, BEGAN, needed=True))
    assert page.needed
    assert seen(page, look(1.0)).needed
    assert not after(page, Sighting(URL, 1, BEGAN + 1)).needed


def test_the_depth_is_the_last_runs() -> None:
    assert after(after(None, Sighting(URL, 4, BEGAN)), Sighting(URL, 2, BEGAN + 1)).depth == 2
    assert seen(seen(None, look(1.0)), look(2.0), depth=5).depth == 5


def test_the_same_look_counts_once() -> None:
    once = seen(None, look(1.0), look(2.0, 404))
    assert seen(once, look(2.0, 404)) == once
    assert (once.looks, once.missing) == (2, 1)


@pytest.mark.parametrize("missing", [404, 410])
def test_a_page_is_gone_when_it_was_missing_twice(missing: int) -> None:
    page = seen(None, look(1.0), look(2.0, missing))
    assert not page.gone
    assert seen(page, look(3.0, 404)).gone
    assert not seen(page, look(3.0), look(4.0, 404)).gone, "it was there between"


@pytest.mark.parametrize("status", [0, 401, 403, 429, 500, 503])
def test_other_errors_say_nothing_about_it(status: int) -> None:
    page = seen(None, look(1.0))
    for at in range(2, 9):
        page = seen(page, look(float(at), status))
    assert not page.gone
    assert page.status == status
    kept = earlier_of(page, "warc")
    assert kept is not None, "what is archived can still be asked about"
    assert seen(page, look(10.0, 404), look(11.0, status), look(12.0, 404)).gone


def test_a_change_is_another_content_not_another_coding() -> None:
    page = seen(None, look(1.0))
    assert (page.changes, page.changed) == (0, 1.0)
    page = seen(page, look(2.0, digest=b"gzip"))
    assert (page.changes, page.changed) == (0, 1.0)
    page = seen(page, look(3.0, content=b"two"))
    assert (page.changes, page.changed) == (1, 3.0)
    page = seen(page, look(4.0, content=b"", digest=page.digest))
    assert page.changes == 1, "where no content is known, the payload decides"


def test_not_modified_keeps_where_the_payload_lies_and_its_size() -> None:
    page = seen(None, look(1.0))
    told = look(2.0, 304, digest=b"one", original_at=1.0, size_bytes=90, etag='"f"')
    again = seen(page, told)
    assert (again.size_bytes, again.etag, again.content) == (500, '"f"', b"one")
    assert (again.original_at, again.file, again.offset) == (1.0, 3, 77)
    assert (again.changes, again.looks) == (0, 2)
    earlier = earlier_of(again, "runs/x/warc/f")
    assert earlier is not None
    assert (earlier.url, earlier.wall_time, earlier.file) == (URL, 1.0, "runs/x/warc/f")


def test_a_payload_that_is_not_whole_is_no_ground_for_a_condition() -> None:
    page = seen(None, look(1.0), look(2.0, content=b"cut", digest=b"", etag=""))
    assert not page.revalidatable
    assert earlier_of(page, "") is None


def test_looks_that_tell_are_kept_with_what_they_told() -> None:
    page = seen(None, look(100.0), look(160.0), look(260.0, content=b"two"), look(300.0, 304))
    assert [changed for _, changed in gaps_of(page.history)] == [False, True], "304 without digest"
    page = seen(page, look(360.0, 304, digest=b"two"))
    assert [(round(gap), changed) for gap, changed in gaps_of(page.history)] == [
        (60, False), (100, True), (100, False),
    ]  # fmt: skip
    assert (page.told, page.failing) == (360.0, 0)


@pytest.mark.parametrize("status", [0, 301, 403, 404, 500])
def test_a_look_that_tells_nothing_is_neither_change_nor_none(status: int) -> None:
    page = seen(None, look(100.0), look(200.0, status), look(300.0, status))
    assert (page.history, page.told, page.failing) == (b"", 100.0, 2)
    page = seen(page, look(400.0))
    assert [round(gap) for gap, _ in gaps_of(page.history)] == [300], "since it was last told"
    assert page.failing == 0


def test_a_clock_set_back_makes_a_gap_short_and_not_negative() -> None:
    page = seen(None, look(1e9), look(1e9 - 4e7, content=b"two"))
    assert [(round(gap), changed) for gap, changed in gaps_of(page.history)] == [(1, True)]


def test_a_server_that_sends_all_the_same_does_not_heed_conditions() -> None:
    page = seen(None, look(1.0))
    assert page.heeds_conditions
    page = seen(page, look(2.0), look(3.0))
    assert not page.heeds_conditions
    assert seen(page, look(4.0, 304, digest=b"one", etag='"e"')).heeds_conditions


def test_a_memory_of_before_tells_when_it_was_told() -> None:
    old = PageMemory(URL, 1, BEGAN, asked=5.0, status=200, looks=1, changed=5.0)
    assert old.told_at == 5.0
    assert replace(old, status=503).told_at == 5.0, "when its content was seen first"


def test_links_are_unknown_until_they_are_read_by_the_rules_of_now() -> None:
    assert not after(None, Sighting(URL, 4, BEGAN)).links_unknown, "it has no content"
    assert not seen(None, look(1.0, 404)).links_unknown
    assert not seen(None, look(1.0, link_rules=LINK_RULES)).links_unknown
    page = seen(None, look(1.0, link_rules=LINK_RULES - 1))
    assert page.links_unknown
    unread = look(2.0, 304, digest=b"one")
    assert seen(page, unread).links_unknown, "nothing was read"
    known = seen(page, replace(unread, link_rules=LINK_RULES))
    assert not known.links_unknown, "the archived page was read again"
    assert not seen(known, replace(unread, at=3.0)).links_unknown
    assert not seen(known, look(3.0, 500)).links_unknown
    assert seen(known, look(3.0, content=b"two")).links_unknown, "of the new content none were read"


def test_what_was_never_there_is_not_gone_from_anywhere() -> None:
    page = seen(None, look(1.0, 404), look(2.0, 404))
    assert page.gone
    assert page.never_there
    assert not seen(None, look(1.0), look(2.0, 404), look(3.0, 404)).never_there
    assert not seen(None, look(1.0, 301), look(2.0, 404), look(3.0, 404)).never_there
    assert not after(None, Sighting(URL, 4, BEGAN)).never_there


@pytest.mark.parametrize(("first", "gone", "failed"), [(200, 1, 0), (404, 0, 1)])
def test_a_visit_counts_as_gone_what_was_there(first: int, gone: int, failed: int) -> None:
    before = seen(None, look(1.0, first), look(2.0, 404))
    last = look(3.0, 404)
    counts = VisitCounts()
    counts.count(before, seen(before, last), last)
    assert (counts.gone, counts.failed) == (gone, failed)
