"""One site's run over a fetcher and a store made for the test: what the wiring must guarantee."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence

from tests.idle_fetcher import IdleFetcher

from headgate.crawling.page_reader import PageReader
from headgate.crawling.ports import ReplayedPage
from headgate.crawling.progress import Progress, TaskState
from headgate.crawling.site_run import SiteRun, Tools
from headgate.engine.clock import SystemClock
from headgate.frontier.events import JournalEntry
from headgate.frontier.frontier import Frontier, FrontierRules
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_queue import MemorySpill
from headgate.model.fetch import Fetched, FetchFailure, FetchRequest
from headgate.model.page import Page
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.testing.memory_store import MemoryKnown

PAGES = 80
PAGE_BYTES = 1_000_000


class InstantWeb(IdleFetcher):
    """A front page and PAGES large pages, there at once."""

    at_once = 6

    async def fetch(self, request: FetchRequest) -> Fetched | FetchFailure:
        await asyncio.sleep(0)
        path = request.url.removeprefix("http://site.test")
        status, body = 404, b""
        if path == "/":
            links = "".join(f"<a href=/{k}>{k}</a>" for k in range(PAGES))
            status, body = 200, links.encode()
        elif path[1:].isdigit():
            status, body = 200, path.encode().ljust(PAGE_BYTES, b".")
        headers = (("content-type", "text/html"),)
        head = b"HTTP/1.1 200 OK\r\n\r\n"
        return Fetched(
            request.url,
            status,
            headers=headers,
            request_head=head,
            response_head=head,
            payload=body,
            address="",
            wall_time=0,
            first_byte_seconds=0,
            seconds=0,
            wire_bytes=len(body),
        )


class SlowDisk:
    """A store whose every commit takes a while."""

    finished = False

    def __init__(self) -> None:
        self.waiting_bytes = 0
        self.most_waiting = 0
        self.stored: list[str] = []
        self._given: list[str] = []
        self._committing = threading.Lock()
        self.ended = False

    def put(self, page: Page, entry: JournalEntry | None = None) -> int:  # noqa: ARG002
        self._given.append(page.outcome.url)
        if isinstance(page.outcome, Fetched):
            self.waiting_bytes += len(page.outcome.payload)
        self.most_waiting = max(self.most_waiting, self.waiting_bytes)
        return len(self._given)

    def record(self, entry: JournalEntry) -> None: ...

    def add_note(self, url: str, wall_time: float, fields: Sequence[tuple[str, str]]) -> None: ...

    def finish(self) -> None:
        self.ended = True

    def commit(self) -> int:
        with self._committing:  # the last one may come while another is under way
            taken, self._given = self._given, []
            waiting, self.waiting_bytes = self.waiting_bytes, 0
            time.sleep(waiting / 200e6)
            self.stored += taken
            return len(self.stored)

    def entries(self) -> Iterator[JournalEntry]:
        return iter(())

    def pages(self) -> Sequence[ReplayedPage]:
        return ()

    def close(self) -> None: ...


def test_a_line_faster_than_the_disk_waits_for_it_and_goes_on() -> None:
    store = SlowDisk()

    async def crawl() -> Progress:
        site = Site("site", seeds=("http://site.test/",))
        rules = FrontierRules(TrapRules(this_year=2026))
        frontier = Frontier(Scope.for_site(site), MemorySpill(), rules)
        tools = Tools(
            frontier,
            InstantWeb(),
            store=store,
            known=MemoryKnown(),
            reader=PageReader(),
            clock=SystemClock(),
        )
        async with asyncio.timeout(30):
            return await SiteRun(Task(site), tools).run()

    progress = asyncio.run(crawl())
    assert progress.state is TaskState.DONE
    assert progress.pages == PAGES + 1
    assert store.ended
    assert len(set(store.stored)) == PAGES + 3, "front page, robots.txt, sitemap.xml and all pages"
    assert store.most_waiting < 40e6


def test_no_page_is_counted_before_it_is_durable() -> None:
    store = SlowDisk()
    ahead: list[int] = []

    async def watch(run: SiteRun) -> None:
        while True:
            counted = run.report_progress().pages  # read before what is stored, which only grows
            ahead.append(counted - len(store.stored))
            await asyncio.sleep(0.001)

    async def crawl() -> Progress:
        site = Site("site", seeds=("http://site.test/",))
        rules = FrontierRules(TrapRules(this_year=2026))
        frontier = Frontier(Scope.for_site(site), MemorySpill(), rules)
        tools = Tools(
            frontier,
            InstantWeb(),
            store=store,
            known=MemoryKnown(),
            reader=PageReader(),
            clock=SystemClock(),
        )
        run = SiteRun(Task(site), tools)
        watching = asyncio.create_task(watch(run))
        async with asyncio.timeout(30):
            progress = await run.run()
        watching.cancel()
        return progress

    assert asyncio.run(crawl()).pages == PAGES + 1
    assert len(ahead) > 3
    assert max(ahead) <= 0


def test_a_rate_that_changes_before_the_start_does_not_end_the_run() -> None:
    """Rates and total come in one go to a process of its own: the run exists, but has no seeds."""

    async def crawl() -> Progress:
        site = Site("site", seeds=("http://site.test/",))
        rules = FrontierRules(TrapRules(this_year=2026))
        frontier = Frontier(Scope.for_site(site), MemorySpill(), rules)
        tools = Tools(
            frontier,
            InstantWeb(),
            store=SlowDisk(),
            known=MemoryKnown(),
            reader=PageReader(),
            clock=SystemClock(),
        )
        run = SiteRun(Task(site), tools)
        run.rate_changed()
        async with asyncio.timeout(30):
            return await run.run()

    assert asyncio.run(crawl()).pages == PAGES + 1
