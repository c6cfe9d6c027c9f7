"""A run that sites are visited in again and again: what it holds, and what it leaves of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from tests.integration.storage.crawled import STARTED
from tests.unit.storage.warc.making import NOON, make_body, make_failure, make_fetched, make_url

from headgate.features.keep.notice_log import leave_news
from headgate.features.keep.visit_memory import remember_visit
from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.keeping import Keeping
from headgate.model.page import Page, Role
from headgate.model.site import Site
from headgate.reading.digests import content_digest
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.run_journals import SharedFiles, site_journals
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.memory.remembering import mend
from headgate.storage.memory.site import SiteMemory, VisitCounts
from headgate.storage.sealing import seal_volume

DAY = 86_400.0


def visit(
    run: RunFolder,
    number: int,
    bodies: Mapping[int, bytes | None],
    *,
    asks: Iterable[int] = (),
    left: Iterable[int] = (),
    shared: SharedFiles | None = None,
    finished: bool = True,
    believe: bool = False,
    day: int | None = None,
    on_change: str = "",
) -> VisitCounts:
    """A visit that finds pages as given, None: no answer; a day after the one before, or on some
    other day by a clock that was changed."""
    began = NOON + (number if day is None else day) * DAY
    spool = SiteSpool(run.place("docs", visit=number), shared)
    spool.record(JournalEntry(UrlOutcome.FOUND, found=[make_url(page) for page in asks], depth=1))
    spool.record(JournalEntry(UrlOutcome.FOUND, left=[make_url(page) for page in left], depth=1))
    for page, body in bodies.items():
        at = began + page
        url = make_url(page)
        if body is None:
            outcome = replace(make_failure(page), wall_time=at)
            spool.put(Page(outcome, 1), JournalEntry(UrlOutcome.FAILURE, url, depth=1))
        else:
            fetched = replace(make_fetched(page, body), wall_time=at)
            entry = JournalEntry(UrlOutcome.PAGE, url, depth=2, digest=content_digest(body))
            spool.put(Page(fetched, 1), entry)
    if finished:
        spool.finish()
    spool.commit()
    ended = began + 60
    owner = Owner("docs", number)
    site = Site("docs", (make_url(0),), keeping=Keeping(on_change=on_change))
    found = remember_visit(
        run, owner, spool.commits, ended, believe=believe,
        beside=lambda old: leave_news(run, owner, site, old, spool.commits),
    )  # fmt: skip
    spool.close()
    return found


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    collection = Collection(tmp_path)
    with collection.lock():
        return collection.new_run(STARTED)


def old(page: int) -> bytes:
    return make_body(page)


def new(page: int) -> bytes:
    return make_body(1000 + page)


def test_a_volume_holds_every_version_and_says_of_which_visit(run: RunFolder) -> None:
    with closing(SharedFiles.claim(run)) as shared:
        visit(run, 1, {0: old(0), 1: old(1)}, shared=shared)
        visit(run, 2, {0: new(0)}, shared=shared)
        visit(run, 3, {0: old(0)})
    assert list(site_journals(run)) == [Owner("docs", number) for number in (1, 2, 3)]
    assert sorted(path.name for path in run.warc.iterdir()) == [
        "docs~3-00001.warc.gz", "small-sites-1-00001.warc.gz",
    ]  # fmt: skip
    seal_volume(run)
    lines = (run.path / "index.cdxj").read_text().splitlines()
    fields = [json.loads(line.split(" ", 2)[2]) for line in lines]
    assert [field["url"] for field in fields] == [make_url(0)] * 3 + [make_url(1)]
    assert len({(field["filename"], field["offset"]) for field in fields}) == 4
    table = pq.read_table(run.path / "pages.parquet", columns=["visit", "url"]).to_pylist()
    assert [row["visit"] for row in table] == [1, 1, 2, 3]
    before = [(run.path / name).read_bytes() for name in ("index.cdxj", "pages.parquet")]
    seal_volume(run)
    assert before == [(run.path / name).read_bytes() for name in ("index.cdxj", "pages.parquet")]


def test_a_visit_counts_what_it_found_and_is_merged_once(run: RunFolder) -> None:
    assert visit(run, 1, {0: old(0), 1: old(1), 2: None}).new == 2
    found = visit(run, 2, {0: new(0), 1: old(1), 3: old(3), 2: None})
    assert (found.asked, found.changed, found.same, found.new, found.failed) == (4, 1, 1, 1, 1)
    path = Collection(run.collection).memory("docs")
    before = path.read_bytes()
    for owner, journal in site_journals(run).items():
        assert remember_visit(run, owner, journal.commits, NOON) == found
    assert path.read_bytes() == before, "after a crash all visits may be merged again"


def test_what_a_finished_visit_left_out_was_looked_at_in_vain(run: RunFolder) -> None:
    visit(run, 1, {0: old(0)}, asks=[0, 1])
    visit(run, 2, {}, asks=[2], finished=False)
    with SiteMemory(Collection(run.collection).memory("docs"), "docs") as memory:
        page = memory.find(make_url(1))
        assert page is not None
        assert (page.looks, page.failing, page.error) == (1, 1, "left-out")
        page = memory.find(make_url(2))
        assert page is not None
        assert page.never_asked, "an interrupted visit says nothing of what it did not come to"
        assert memory.summary.visit == 2


def test_what_is_out_of_scope_was_looked_at_in_vain_even_if_nothing_else_was_asked(
    run: RunFolder,
) -> None:
    visit(run, 1, {0: old(0), 1: old(1)})
    visit(run, 2, {}, left=[0])
    visit(run, 3, {1: None}, left=[1], asks=[2])
    with SiteMemory(Collection(run.collection).memory("docs"), "docs") as memory:
        pages = [memory.find(make_url(page)) for page in range(3)]
        assert [page and page.error for page in pages[:1]] == ["left-out"]
        assert pages[2] is not None
        assert pages[2].never_asked, "the site gave no answer, so its robots.txt may be to blame"


def test_one_text_for_all_pages_is_not_believed_at_once(run: RunFolder) -> None:
    visit(run, 1, {page: old(page) for page in range(10)})
    path = Collection(run.collection).memory("docs")
    sorry = dict.fromkeys(range(10), b"<p>Sorry, we are down for an hour")
    assert visit(run, 2, sorry).doubted
    with SiteMemory(path, "docs") as memory:
        assert {page.looks for page in memory} == {1}, "passed over"
    assert not visit(run, 3, {page: old(page) for page in range(10)}).doubted
    with SiteMemory(path, "docs") as memory:
        assert {page.changes for page in memory} == {0}
    believed = visit(run, 4, sorry, believe=True)
    assert (believed.doubted, believed.changed) == (False, 10)


def test_a_few_pages_may_well_become_one(run: RunFolder) -> None:
    visit(run, 1, {page: old(page) for page in range(4)})
    assert not visit(run, 2, dict.fromkeys(range(4), b"<p>moved")).doubted
    visit(run, 3, {page: old(page) for page in range(10, 20)})
    mixed = {page: b"<p>same" if page < 18 else old(page) for page in range(10, 20)}
    assert not visit(run, 4, mixed).doubted


@pytest.mark.parametrize("sealed", [False, True])
def test_a_lost_memory_is_made_again_from_journals_and_tables(run: RunFolder, sealed: bool) -> None:
    visit(run, 1, {0: old(0), 1: old(1)})
    visit(run, 2, {0: new(0), 1: old(1)})
    visit(run, 3, {0: new(0), 1: new(1)})
    collection = Collection(run.collection)
    path = collection.memory("docs")
    with SiteMemory(path, "docs") as memory:
        before = {page.url: (page.looks, page.changes, page.history) for page in memory}
    path.unlink()
    if sealed:
        seal_volume(run)
        run.finish()
    assert "2 pages" in mend(collection, "docs")[0]
    with SiteMemory(path, "docs") as memory:
        assert {page.url: (page.looks, page.changes, page.history) for page in memory} == before
        assert memory.summary.visit == 3


def test_robots_and_sitemaps_are_no_looks(run: RunFolder) -> None:
    spool = SiteSpool(run.place("docs", visit=1))
    spool.put(Page(make_fetched(0), 0, role=Role.ROBOTS))
    spool.finish()
    spool.commit()
    found = remember_visit(run, Owner("docs", 1), spool.commits, NOON)
    spool.close()
    assert found.asked == 0
