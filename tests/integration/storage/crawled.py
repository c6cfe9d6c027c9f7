"""A small finished run to look at: every kind of record there is."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace
from tests.unit.storage.warc.making import (
    NOON,
    make_body,
    make_chunked,
    make_failure,
    make_fetched,
    make_not_modified,
    make_page,
    make_url,
)

from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.page import Page, Role
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.sealing import seal

STARTED = datetime.fromtimestamp(NOON, UTC)
SHARED_BODY = make_body(99, 4000)
WARCINFO = (("software", "Headgate"), ("format", "WARC File Format 1.1"))


def crawl_once(folder: Path) -> RunFolder:
    """Ten pages, two with one payload, one chunked, one cut short, one failed, a robots.txt."""
    collection = Collection(folder)
    with collection.lock():
        run = collection.new_run(STARTED)
        spool = SiteSpool(run.place("docs", WARCINFO))
        spool.record(JournalEntry(UrlOutcome.FOUND, found=[make_url(0)]))
        for number in range(5):
            spool.put(make_page(number))
        spool.commit()
        tagged = make_fetched(5, SHARED_BODY, [("ETag", '"v1"'), ("Last-Modified", "long ago")])
        spool.put(Page(tagged, 2))
        spool.put(Page(make_fetched(6, SHARED_BODY), 2))
        spool.put(Page(make_chunked(7), 2))
        whole = make_fetched(8)
        spool.put(Page(replace(whole, payload=whole.payload[:50], truncated="time"), 2))
        spool.put(Page(make_failure(9), 2))
        spool.put(Page(replace(make_fetched(10), url=make_robots_url()), 0, role=Role.ROBOTS))
        spool.add_note(make_url(11), NOON, [("robots", "Disallow: /page/11")])
        end_run(run, spool)
    return run


def crawl_again(folder: Path) -> RunFolder:
    """A second run a day later: page 5 is not modified, page 1 comes with the same payload."""
    collection = Collection(folder)
    with collection.lock(), closing(KnownPages(collection, "docs")) as known:
        run = collection.new_run(datetime.fromtimestamp(NOON + 86_400, UTC))
        spool = SiteSpool(run.place("docs", WARCINFO))
        spool.put(Page(make_not_modified(5), 0, earlier=known.find(make_url(5))))
        same = replace(make_fetched(1), wall_time=NOON + 86_401)
        spool.put(Page(same, 0, earlier=known.find(make_url(1))))
        end_run(run, spool)
    return run


def end_run(run: RunFolder, spool: SiteSpool) -> None:
    """Finish a run of one site, of which all pages were put into the spool."""
    spool.finish()
    spool.commit()
    spool.close()
    seal(run)
    run.finish()


def make_robots_url() -> str:
    return "http://site.example/robots.txt"
