"""One site, crawled: performs what its frontier commands and tells it how things ended.

    frontier ──Fetch──► fetcher ──response──► reading ──links──► frontier
        │                                                            │
        └──Record──► store ◄── page ─────────────────────────────────┘

All decisions are the frontier's. A page is given to the store together with the journal entry that
settles its URL, so both become durable at once; a fetch that will be tried again leaves nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass

from headgate.crawling.commits import Commits
from headgate.crawling.page_reading import PageReader, ReadPage
from headgate.crawling.ports import Clock, Fetcher, Known, SiteStore
from headgate.crawling.progress import Progress, SiteState
from headgate.crawling.robots import RobotsFile, learn_robots
from headgate.frontier.commands import (
    FINISHED,
    Command,
    Done,
    Fetch,
    GiveUp,
    LearnRobots,
    Record,
    Wait,
)
from headgate.frontier.events import (
    ErrorStatus,
    Event,
    FetchFailed,
    Found,
    PageFetched,
    Redirected,
    RobotsLearned,
    Seeds,
    Slots,
    Tick,
)
from headgate.frontier.frontier import Frontier
from headgate.frontier.journal import JournalEntry
from headgate.model.fetch import Fetched, FetchFailure, FetchRequest
from headgate.model.page import Earlier, Page, Role
from headgate.model.site import Site
from headgate.reading.urls import join

__all__ = ["SiteRun", "Tools"]

_FIRST_GUESS_BYTES = 20_000
"""Of a response, before one was seen."""
_MOST_PAGE_BYTES = 16_000_000
_MOST_SITEMAPS = 50
_LATEST_WEIGHT = 0.1
_REDIRECTS = frozenset((301, 302, 303, 307, 308))


@dataclass(frozen=True, slots=True)
class Tools:
    """What a site run works with."""

    frontier: Frontier
    fetcher: Fetcher
    store: SiteStore
    known: Known
    reader: PageReader
    clock: Clock


class SiteRun:
    """Crawls one site, once, within one event loop."""

    def __init__(self, site: Site, tools: Tools) -> None:
        self.progress = Progress(site.name)
        self._site = site
        self._tools = tools
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._commits = Commits(tools.store, self.progress)
        self._expected_bytes: float = _FIRST_GUESS_BYTES
        self._slots = 0
        self._listing = 0
        """Sitemaps being read: while there are, more may be to do than the frontier knows."""

    async def run(self) -> Progress:
        """Crawl until nothing is left, a stop, or a fault of this machine, which is raised."""
        committing = asyncio.create_task(self._commits.run())
        committing.add_done_callback(self._fail_with)
        try:
            self._take_up()
            reason = await self._ended
            if reason == FINISHED:
                self._tools.store.finish()
            self.progress.state = SiteState.DONE if reason == FINISHED else SiteState.STOPPED
            self.progress.reason = reason
            self.progress.ended = self._tools.clock.now()
        finally:
            await self._wind_down(committing)
        await self._commits.commit()
        return self.progress

    def stop(self, reason: str) -> None:
        """End at once: fetches under way are given up, and their URLs stay to do."""
        if not self._ended.done():
            self._ended.set_result(reason)

    def look(self) -> Progress:
        """The counters, brought up to date."""
        tally = self._tools.frontier.tally
        self.progress.to_do = tally.to_do + tally.in_flight
        self.progress.seen = tally.seen
        self.progress.under_way_bytes = self._tools.fetcher.under_way(self._site.name)
        return self.progress

    def rate_changed(self) -> None:
        """The site's share is another now: other connections may be needed."""
        url = self._site.seeds[0]
        slots = self._tools.fetcher.connections(self._site.name, url, self._expected_bytes)
        if slots != self._slots and not self._ended.done():
            self._slots = slots
            self._tell(Slots(slots))

    def _take_up(self) -> None:
        """Start, or go on where the store stands."""
        self.progress.state = SiteState.CRAWLING
        self.progress.started = self._tools.clock.now()
        for row in self._tools.store.pages():
            self._count(row.role, row.status, row.error)
            self.progress.payload_bytes += row.payload_bytes
            self.progress.wire_bytes += row.wire_bytes
        self.progress.stored = self.progress.fetches
        self.progress.earlier_wire_bytes = self.progress.wire_bytes
        self._commits.go_on()
        self._tools.frontier.replay(self._tools.store.entries)
        self._tell(Seeds(self._site.seeds))
        self.rate_changed()
        for depth, urls in self._tools.known.urls(self._site.name):
            self._tell(Found(urls, depth))

    def _tell(self, event: Event) -> list[Command]:
        commands = self._tools.frontier.handle(event, self._tools.clock.now())
        self._perform(commands)
        return commands

    def _perform(self, commands: list[Command], page: Page | None = None) -> Fetch | None:
        """``page`` is what has just landed; its task goes on with the Fetch that is returned."""
        next_fetch = None
        for command in commands:
            match command:
                case Fetch():
                    if page is not None and next_fetch is None:
                        next_fetch = command
                    else:
                        self._spawn(self._fetch(command))
                case Record(entry=entry):
                    self._store(entry, page)
                case Wait(until=until):
                    self._set_timer(until)
                case LearnRobots(origin=origin):
                    self._spawn(self._learn_robots(origin))
                case GiveUp(host=host, reason=reason):
                    self.progress.given_up[host] = reason
                case Done(reason=reason):
                    if not self._ended.done() and not self._listing:
                        self._ended.set_result(reason)
        return next_fetch

    def _store(self, entry: JournalEntry, page: Page | None) -> None:
        if page is not None and entry.url == page.outcome.url:
            self._tools.store.put(page, entry)
        else:
            self._tools.store.record(entry)
        self._commits.given()

    async def _fetch(self, first: Fetch) -> None:
        """A fetch, and as its successor the next that its end lets start: a task serves many."""
        fetch: Fetch | None = first
        while fetch is not None:
            await self._commits.room()
            earlier = self._tools.known.find(fetch.url)
            request = FetchRequest(
                fetch.url,
                self._site.name,
                int(self._expected_bytes),
                _MOST_PAGE_BYTES,
                _conditions(earlier),
            )
            outcome = await self._tools.fetcher.fetch(request)
            fetch = self._landed(fetch, outcome, earlier)

    def _landed(
        self, fetch: Fetch, outcome: Fetched | FetchFailure, earlier: Earlier | None
    ) -> Fetch | None:
        read = ReadPage()
        if isinstance(outcome, FetchFailure):
            event: Event = FetchFailed(fetch.url, outcome.kind)
            error = outcome.kind.value
        else:
            error = ""
            self._learn_size(outcome.wire_bytes)
            event, read = self._ending(outcome)
        commands = self._tools.frontier.handle(event, self._tools.clock.now())
        page = Page(outcome, fetch.depth, read.title, read.language, read.links, earlier)
        settled = any(isinstance(c, Record) and c.entry.url == fetch.url for c in commands)
        self.progress.wire_bytes += outcome.wire_bytes
        if settled:
            status = outcome.status if isinstance(outcome, Fetched) else 0
            self._count(Role.PAGE, status, error)
        if isinstance(outcome, Fetched):
            self.progress.payload_bytes += len(outcome.payload)
            self.progress.fetch_seconds += outcome.seconds
            self.progress.first_byte_seconds += outcome.first_byte_seconds
        return self._perform(commands, page)

    def _ending(self, fetched: Fetched) -> tuple[Event, ReadPage]:
        """What a response means to the frontier, and what was read in it."""
        reader = self._tools.reader
        if fetched.status in _REDIRECTS:
            return Redirected(fetched.url, reader.redirect_target(fetched)), ReadPage()
        if fetched.status >= 400:
            retry_after = reader.retry_after(fetched, self._tools.clock.wall())
            return ErrorStatus(fetched.url, fetched.status, retry_after), ReadPage()
        read = reader.read(fetched)
        return PageFetched(fetched.url, read.to_follow, read.digest), read

    def _count(self, role: str, status: int, error: str) -> None:
        self.progress.fetches += 1
        if error:
            self.progress.errors[error] += 1
        elif status >= 400 and role == Role.PAGE:
            self.progress.errors[str(status)] += 1
        elif role == Role.PAGE and status not in _REDIRECTS:
            self.progress.pages += 1

    def _learn_size(self, wire_bytes: int) -> None:
        before = self._expected_bytes
        self._expected_bytes += _LATEST_WEIGHT * (wire_bytes - before)

    async def _learn_robots(self, origin: str) -> None:
        found: RobotsFile = await learn_robots(origin, self._site.name, self._tools.fetcher)
        for outcome in found.outcomes:
            self.progress.wire_bytes += outcome.wire_bytes
            self._tools.store.put(Page(outcome, 0, role=Role.ROBOTS))
        rules = found.rules
        self._tell(RobotsLearned(origin, rules.allows, rules.crawl_delay))
        self._listing += 1
        for line in rules.sitemaps[:_MOST_SITEMAPS]:
            url = join(f"{origin}/", line)
            if url is not None:
                await self._read_sitemap(url)
        self._listing -= 1
        self._tick()

    async def _read_sitemap(self, url: str, *, index: bool = True) -> None:
        """Pages a site lists of itself are found as if a seed had linked to them."""
        request = FetchRequest(url, self._site.name, _FIRST_GUESS_BYTES, _MOST_PAGE_BYTES)
        outcome = await self._tools.fetcher.fetch(request)
        self.progress.wire_bytes += outcome.wire_bytes
        self._tools.store.put(Page(outcome, 0, role=Role.SITEMAP))
        if not isinstance(outcome, Fetched) or outcome.status != 200:
            return
        sitemap = self._tools.reader.read_sitemap(outcome)
        if sitemap.pages and not self._ended.done():
            self._tell(Found(sitemap.pages))
        for further in sitemap.sitemaps[:_MOST_SITEMAPS] if index else ():
            await self._read_sitemap(further, index=False)

    def _set_timer(self, until: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay = max(until - self._tools.clock.now(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        if not self._ended.done():
            self._tell(Tick())

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._fail_with(task)

    def _fail_with(self, task: asyncio.Task[None]) -> None:
        """A fault in any task ends the run: it is this machine's or ours, not the web's."""
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._ended.done():
            self._ended.set_exception(error)

    async def _wind_down(self, committing: asyncio.Task[None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        committing.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(committing, *self._tasks, return_exceptions=True)


def _conditions(earlier: Earlier | None) -> tuple[tuple[str, str], ...]:
    """The headers that let a server say "not modified"."""
    if earlier is None:
        return ()
    conditions = []
    if earlier.etag:
        conditions.append(("If-None-Match", earlier.etag))
    if earlier.last_modified:
        conditions.append(("If-Modified-Since", earlier.last_modified))
    return tuple(conditions)
