"""What every store of a site run must do, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.storage.warc.making import (
    NOON,
    make_body,
    make_failure,
    make_fetched,
    make_not_modified,
    make_page,
    make_url,
)

from headgate.crawling.ports import SiteStore
from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.page import Earlier, Page, payload_digest
from headgate.storage.collection import Collection
from headgate.storage.journals.run_journals import SharedFiles
from headgate.storage.journals.spool import SiteSpool
from headgate.testing.memory_store import MemoryStore, Shelf

Reopen = Callable[[], SiteStore]
"""What whoever resumes the run finds; what waited in the store before is lost."""


@pytest.fixture(params=["memory", "spool", "shared", "grown"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    shelf = Shelf()
    collection = Collection(tmp_path)
    with collection.lock(), ExitStack() as opened:
        run = collection.new_run(datetime.fromtimestamp(NOON, UTC))

        def on_disk() -> SiteStore:
            opened.close()
            spool = SiteSpool(run.place("docs"))
            opened.callback(spool.close)
            return spool

        def among_others() -> SiteStore:
            """One that moves to files of its own with its first page, or never."""
            opened.close()
            shared = SharedFiles.claim(run)
            opened.callback(shared.close)
            other = SiteSpool(run.place("other"), shared)
            other.put(make_page(99))
            other.commit()
            small = 0 if request.param == "grown" else 10**9
            spool = SiteSpool(run.place("docs"), shared, small)
            opened.callback(spool.close)
            return spool

        on_shelf = {"memory": lambda: MemoryStore(shelf), "spool": on_disk}
        yield on_shelf.get(request.param, among_others)


def entry(number: int) -> JournalEntry:
    return JournalEntry(UrlOutcome.PAGE, make_url(number), found=[make_url(100 + number)], depth=1)


def test_a_new_store_is_empty(reopen: Reopen) -> None:
    store = reopen()
    assert not store.finished
    assert store.waiting_bytes == 0
    assert list(store.entries()) == []
    assert list(store.pages()) == []
    assert store.commit() == 0


def test_pages_are_numbered_as_given_and_counted_when_stored(reopen: Reopen) -> None:
    store = reopen()
    assert [store.put(make_page(number), entry(number)) for number in range(3)] == [1, 2, 3]
    assert store.waiting_bytes > 0
    assert store.commit() == 3
    assert store.waiting_bytes == 0
    assert store.put(make_page(3)) == 4
    assert store.commit() == 4


def test_what_was_committed_is_found_again_in_its_order_and_nothing_else(reopen: Reopen) -> None:
    store = reopen()
    store.record(JournalEntry(UrlOutcome.FOUND, found=[make_url(0)]))
    store.put(make_page(0), entry(0))
    store.commit()
    store.put(Page(make_failure(1), 2), entry(1))
    store.add_note(make_url(5), NOON, [("robots", "Disallow: /page/5")])
    store.commit()
    store.put(make_page(2), entry(2))
    again = reopen()
    assert [found.url for found in again.entries()] == ["", make_url(0), make_url(1)]
    assert list(next(again.entries()).found) == [make_url(0)]
    rows = list(again.pages())
    page, failure = make_page(0).outcome, make_failure(1)
    assert [(row.role, row.status, row.error) for row in rows] == [
        ("page", 200, ""),
        ("page", 0, "dns"),
    ]
    assert [row.wire_bytes for row in rows] == [page.wire_bytes, failure.wire_bytes]
    assert [row.seconds for row in rows] == [page.seconds, failure.seconds]
    assert [row.payload_bytes > 0 for row in rows] == [True, False]
    assert again.commit() == 0, "counts what this process has stored"


def test_entries_may_be_read_again_and_again(reopen: Reopen) -> None:
    store = reopen()
    store.put(make_page(0), entry(0))
    store.commit()
    assert list(store.entries()) == list(store.entries()) != []


def test_a_run_is_finished_once_that_is_committed(reopen: Reopen) -> None:
    store = reopen()
    store.finish()
    assert not store.finished
    assert not reopen().finished
    store = reopen()
    store.finish()
    store.commit()
    assert store.finished
    assert reopen().finished


def test_a_page_that_is_as_an_earlier_run_had_it_is_known_as_that(reopen: Reopen) -> None:
    """Not one that only equals another of the same run."""
    store = reopen()
    digest, body = payload_digest(make_body(0)), make_body(0)
    for outcome, earlier in (
        (make_fetched(0), Earlier(make_url(0), NOON - 9, digest)),
        (make_not_modified(1), Earlier(make_url(1), NOON - 9, digest, '"v1"')),
        (make_fetched(2), Earlier(make_url(2), NOON - 9, digest)),
        (make_fetched(3), Earlier(make_url(3), NOON - 9, b"")),
        (make_fetched(4, body), None),
        (replace(make_fetched(5, body), truncated="length"), Earlier(make_url(5), NOON, digest)),
        (make_failure(6), Earlier(make_url(6), NOON - 9, digest)),
    ):
        store.put(Page(outcome, 0, earlier=earlier))
    store.commit()
    assert [row.unchanged for row in reopen().pages()] == [True, True] + [False] * 5
