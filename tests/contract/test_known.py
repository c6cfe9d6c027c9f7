"""What every memory of earlier runs must do, whatever it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path

import pytest
from tests.unit.storage.warc.making import NOON, make_body, make_fetched, make_url

from headgate.crawling.ports import Known
from headgate.frontier.events import NEEDED, JournalEntry, UrlOutcome
from headgate.frontier.seen_urls import UrlSeen
from headgate.model.fetch import Fetched
from headgate.model.page import Earlier, Page
from headgate.storage.collection import Collection
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.sealing import seal
from headgate.testing.memory_store import MemoryKnown

ELSEWHERE = "http://elsewhere.test/"
ETAG = '"v1"'


def on_disk(folder: Path) -> None:
    """One run that asked for pages 0 and 1, and left page 2 to do."""
    collection = Collection(folder)
    with collection.lock():
        run = collection.new_run(datetime.fromtimestamp(NOON, UTC))
        spool = SiteSpool(run.place("docs"))
        spool.record(JournalEntry(UrlOutcome.FOUND, found=[make_url(0)]))
        spool.record(JournalEntry(UrlOutcome.FOUND, found=[make_url(2)], depth=1, detail=NEEDED))
        spool.put(
            Page(make_fetched(0, extra=[("ETag", ETAG)]), 0),
            JournalEntry(UrlOutcome.PAGE, make_url(0), found=[make_url(1)], depth=1),
        )
        spool.put(Page(make_fetched(1), 1), JournalEntry(UrlOutcome.PAGE, make_url(1), depth=1))
        spool.commit()
        spool.close()
        seal(run)
        run.finish()


def in_memory() -> MemoryKnown:
    def kept(number: int, etag: str = "") -> tuple[str, tuple[Earlier, Fetched]]:
        fetched = make_fetched(number, extra=[("ETag", etag)] if etag else [])
        digest = sha1(fetched.payload, usedforsecurity=False).digest()
        return make_url(number), (Earlier(make_url(number), NOON + number, digest, etag), fetched)

    return MemoryKnown(
        dict([kept(0, ETAG), kept(1)]),
        {make_url(0): 0, make_url(1): 1},
        {make_url(2): 1},
        {make_url(2)},
    )


@pytest.fixture(params=["memory", "disk"])
def known(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Known]:
    if request.param == "memory":
        yield in_memory()
        return
    on_disk(tmp_path)
    with ExitStack() as opened:
        pages = KnownPages(Collection(tmp_path), "docs")
        opened.callback(pages.close)
        yield pages


@pytest.fixture(params=["memory", "disk"])
def nothing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Known]:
    if request.param == "memory":
        yield MemoryKnown()
        return
    with ExitStack() as opened:
        pages = KnownPages(Collection(tmp_path), "docs")
        opened.callback(pages.close)
        yield pages


def urls(batches: Iterable[tuple[int, Sequence[str]]]) -> dict[str, int]:
    return {url: depth for depth, batch in batches for url in batch}


def test_a_first_run_knows_nothing(nothing: Known) -> None:
    assert not nothing.asked(make_url(0))
    assert nothing.find(make_url(0)) is None
    assert urls(nothing.pages()) == urls(nothing.left_to_do()) == {}


def test_what_was_asked_for_and_what_was_left(known: Known) -> None:
    assert [known.asked(make_url(number)) for number in range(4)] == [True, True, False, False]
    assert urls(known.left_to_do()) == {make_url(2): 1}
    assert urls(known.pages()) == {make_url(0): 0, make_url(1): 1, make_url(2): 1}


def test_an_archived_response_is_found_by_its_url_and_read_back(known: Known) -> None:
    found = known.find(make_url(0))
    assert found is not None
    assert (found.url, found.etag, found.wall_time) == (make_url(0), ETAG, NOON)
    assert found.digest == sha1(make_body(0), usedforsecurity=False).digest()
    stored = known.stored(make_url(7), found)
    assert stored is not None
    assert (stored.url, stored.payload) == (make_url(7), make_body(0))
    assert known.find(make_url(2)) is None
    assert known.find(make_url(9)) is None


def test_of_urls_it_gives_those_known_with_their_depth(known: Known) -> None:
    urls = [make_url(2), ELSEWHERE, make_url(0), make_url(1)]
    found = {url: depth for depth, some in known.by_depth(urls) for url in some}
    assert found == {make_url(0): 0, make_url(1): 1, make_url(2): 1}
    assert not [some for _, some in known.by_depth([]) if some]


def test_what_pages_show_is_known_as_such(known: Known) -> None:
    assert known.needed([make_url(0), make_url(2), ELSEWHERE]) == [make_url(2)]


def test_its_hashes_are_those_that_a_frontier_knows_urls_by(known: Known) -> None:
    seen = UrlSeen()
    seen.fill(known.hashes())
    assert seen.add([make_url(0), make_url(1), make_url(2), ELSEWHERE]) == [ELSEWHERE]
