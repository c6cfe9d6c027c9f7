"""A collection crawled again and again over a scripted web, with the real frontier and storage,
beside a reckoning of what must be known after each run."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq

from headgate.crawling.page_reader import PageReader
from headgate.crawling.site_run import SiteRun, Tools
from headgate.engine.clock import SystemClock
from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.events import JournalEntry
from headgate.frontier.frontier import Frontier, FrontierRules
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.retries import RetryRules
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.model.page import Page
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.memory.page import PageMemory
from headgate.storage.memory.remembering import mend_memories
from headgate.storage.memory.site import SiteMemory
from headgate.storage.sealing import seal
from headgate.storage.spill import DiskSpill

from .scripted_web import NOON, Bounds, Kind, PageScript, ScriptedWeb, reachable, url_of

SITE = "site"
RULES = FrontierRules(
    TrapRules(this_year=2026),
    DispatchRules(pace=PolitenessRules(first_failure_pause=0.0, failure_limit=10_000)),
    RetryRules(tries=1),
)


@dataclass
class Reckoned:
    """What must be known of one page."""

    depth: int
    looks: int = 0
    missing: int = 0

    @property
    def gone(self) -> bool:
        return self.missing >= 2

    @property
    def never_there(self) -> bool:
        """It is asked for only where something leads to it."""
        return 0 < self.looks == self.missing


class CommittingSpool(SiteSpool):
    """Commits at every so many pages, so that a kill finds some of them stored."""

    every = 1
    _since = 0

    def put(self, page: Page, entry: JournalEntry | None = None) -> int:
        number = super().put(page, entry)
        self._since += 1
        if self._since % self.every == 0:
            self.commit()
        return number


@dataclass
class History:
    """Crawls, and reckons. ``check`` compares the two."""

    folder: Path
    web: ScriptedWeb = field(default_factory=ScriptedWeb)
    known: dict[int, Reckoned] = field(default_factory=dict)
    runs: int = 0

    @property
    def collection(self) -> Collection:
        return Collection(self.folder)

    def run(
        self, bounds: Bounds, *, kill_at: int | None = None, commit_every: int = 1,
        stop_at: int | None = None, sealed_and_killed: bool = False,
    ) -> None:  # fmt: skip
        """One run: killed after some pages and resumed; stopped after some, or to its end; killed
        between its sealing and its end and resumed, which then takes it to its end."""
        self.runs += 1
        self.web.answered.clear()
        with self.collection.lock():
            began = datetime.fromtimestamp(NOON, UTC) + timedelta(days=self.runs)
            self.web.moment = began.timestamp()
            run = self.collection.new_run(began)
            if kill_at is not None:
                self._leg(run, bounds, kill_at=kill_at, commit_every=commit_every)
                self.web.answered.clear()
            complete = self._leg(run, bounds, stop_at=stop_at)
            found = list(found_in(run))
            assert seal(run) == []
            if sealed_and_killed:
                complete = self._leg(run, bounds)
                assert seal(run) == []
            asked = asked_in(run)
            run.finish()
        if complete:
            self._reckon(bounds)
            assert asked == self.last_asked
        else:
            self._follow(set(asked), found)
        self.check(bounds, complete=complete)

    def lose_memory(self) -> None:
        """The file is lost. What no run ever asked for is lost with it, if nothing leads to it."""
        self.collection.memory(SITE).unlink(missing_ok=True)
        mend_memories(self.collection, [SITE], lambda _: True)
        self.known = {number: page for number, page in self.known.items() if page.looks}

    def lose_archives(self) -> None:
        for file in self.folder.glob("runs/*/warc/*"):
            file.unlink()

    def check(self, bounds: Bounds, *, complete: bool) -> None:
        memory = self.remembered()
        must = {url_of(number) for number, page in self.known.items() if not page.gone}
        assert {url for url, page in memory.items() if not page.gone} == must
        exact = complete and bounds.depth is not None
        for number, page in self.known.items():
            entry = memory.get(url_of(number))
            if entry is not None:
                assert (entry.looks, entry.missing) == (page.looks, page.missing), number
                assert entry.depth == page.depth or not exact, number
                page.depth = entry.depth  # without a maximum, levels overlap: any way will do
        if complete:
            self._check_links()

    def remembered(self) -> dict[str, PageMemory]:
        with SiteMemory.checked(self.collection.memory(SITE), SITE) as memory:
            pages = {page.url: page for page in memory}
            here = [page for page in pages.values() if not page.gone]
            summary = memory.summary
            assert summary.pages == len(here)
            assert summary.gone == len(pages) - len(here)
            assert summary.never_asked == sum(page.never_asked for page in here)
            assert summary.sized_bytes == sum(page.size_bytes for page in here)
            assert summary.revalidatable == sum(page.revalidatable for page in here)
            assert all(memory.find(url) == page for url, page in pages.items())
            return pages

    def _leg(
        self, run: RunFolder, bounds: Bounds, *, kill_at: int | None = None,
        stop_at: int | None = None, commit_every: int = 1,
    ) -> bool:  # fmt: skip
        """Whether it came to its end."""
        site = Site(
            SITE,
            tuple(url_of(seed) for seed in bounds.seeds),
            exclude=(bounds.exclude,) if bounds.exclude else (),
            depth=bounds.depth,
        )
        web = self.web
        web.ending = False
        web.stop_at = stop_at if kill_at is None else kill_at

        async def crawl(spool: SiteSpool, known: KnownPages, spill: DiskSpill) -> str:
            frontier = Frontier(Scope.for_site(site), spill, RULES, known.asked)
            tools = Tools(
                frontier, web, store=spool, known=known, reader=PageReader(), clock=SystemClock()
            )
            site_run = SiteRun(Task(site), tools)
            running = asyncio.ensure_future(site_run.run())

            def stop() -> None:
                if kill_at is None:
                    site_run.stop("time")
                else:
                    running.cancel()

            web.stopped = stop
            async with asyncio.timeout(20):
                progress = await running
            frontier.check()
            return progress.reason

        spool = CommittingSpool(run.place(SITE))
        spool.every = commit_every
        with (
            closing(spool),
            closing(KnownPages(self.collection, SITE)) as known,
            closing(DiskSpill(run.spool)) as spill,
            suppress(asyncio.CancelledError),
        ):
            return asyncio.run(crawl(spool, known, spill)) == "finished"
        return False

    def _reckon(self, bounds: Bounds) -> None:
        """After a run that came to its end."""
        web = self.web
        starts = {}
        if bounds.depth is None and not web.disallowed.issuperset(bounds.seeds):
            starts = {
                number: page.depth
                for number, page in self.known.items()
                if not page.looks and bounds.has(number)
            }
        fresh = reachable(web, bounds, starts)
        asked = set(fresh)
        for number, page in self.known.items():
            in_depth = bounds.depth is None or page.depth <= bounds.depth
            if bounds.has(number) and in_depth and not (page.gone or page.never_there):
                asked.add(number)
        for number, depth in fresh.items():
            self.known.setdefault(number, Reckoned(depth)).depth = depth
        self.last_asked = asked - web.disallowed
        self._look(self.last_asked)

    def _follow(self, asked: set[int], found: list[str]) -> None:
        """After a run that was stopped: what it found is known, by the journal's word."""
        depths = {url: page.depth for url, page in self.remembered().items()}
        for number in asked | {number_of(url) for url in found}:
            self.known.setdefault(number, Reckoned(0))
        for number, page in self.known.items():
            page.depth = depths.get(url_of(number), page.depth)
        self._look(asked)

    def _look(self, asked: set[int]) -> None:
        for number in asked:
            page = self.known[number]
            page.looks += 1
            kind = self.web.pages.get(number, PageScript(Kind.MISSING)).kind
            if kind in (Kind.MISSING, Kind.GONE):
                page.missing += 1
            elif kind in (Kind.THERE, Kind.MOVED):
                page.missing = 0

    def _check_links(self) -> None:
        """Every page that is there has its links in the table, changed or not."""
        run = self.collection.runs()[0]
        rows = pq.read_table(run.path / "links.parquet").to_pylist()
        links = {(number_of(row["source"]), number_of(row["target"])) for row in rows}
        there = {n: self.web.pages[n] for n in self.last_asked if n in self.web.pages}
        assert links == {
            (number, target)
            for number, page in there.items()
            if page.kind is Kind.THERE
            for target in page.links
        }


def number_of(url: str) -> int:
    found = re.fullmatch(r"http://site\.test/p(\d+)", url)
    assert found is not None, url
    return int(found[1])


def found_in(run: RunFolder) -> Iterator[str]:
    with closing(SiteSpool(run.place(SITE))) as spool:
        for entry in spool.entries():
            yield from entry.found


def asked_in(run: RunFolder) -> set[int]:
    rows = pq.read_table(run.path / "pages.parquet").to_pylist()
    asked = [number_of(row["url"]) for row in rows if row["role"] == "page"]
    assert len(asked) == len(set(asked)), "a page is in the tables twice"
    return set(asked)
