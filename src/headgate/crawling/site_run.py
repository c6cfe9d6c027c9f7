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

from msgspec import structs

from headgate.crawling.commits import Commits
from headgate.crawling.discovery import Discovery
from headgate.crawling.focusing import Focusing
from headgate.crawling.page_reading import PageReader, ReadPage
from headgate.crawling.ports import Clock, Fetcher, Known, SiteStore
from headgate.crawling.progress import Harvest, Progress, SiteState
from headgate.crawling.reading_aside import LARGE_BYTES, read_aside
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
    Seeds,
    Slots,
    Tick,
)
from headgate.frontier.frontier import Frontier
from headgate.frontier.journal import JournalEntry
from headgate.frontier.scope import host_of
from headgate.frontier.scored_todo import score_of
from headgate.model.fetch import Fetched, FetchFailure, FetchRequest
from headgate.model.page import Earlier, Page, Role
from headgate.model.site import Site

__all__ = ["SiteRun", "Tools"]

_FIRST_GUESS_BYTES = 20_000
"""Of a response, before one was seen."""
_MOST_PAGE_BYTES = 16_000_000
_LATEST_WEIGHT = 0.1
_FIT_SLOTS_EVERY = 16
"""Fetches between two looks at how many are needed at once; at first, each teaches something."""
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
    focus: Focusing | None = None
    """Given where the frontier goes by scores, or a topic is to be judged by."""


class SiteRun:
    """Crawls one site, once, within one event loop."""

    def __init__(self, site: Site, tools: Tools) -> None:
        self.progress = Progress(site.name)
        self._site = site
        self._tools = tools
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._harvest = Harvest()
        self._commits = Commits(tools.store, self._harvest, self.progress)
        self._discovery = Discovery(
            site.name, tools.fetcher, tools.reader, tools.clock, self._keep, self._hear
        )
        self._expected_bytes: float = _FIRST_GUESS_BYTES
        self._slots = 0
        self._exploring = 0
        """Origins being explored: while there are, more may be to do than the frontier knows."""

    async def run(self) -> Progress:
        """Crawl until nothing is left, a stop, or a fault of this machine, which is raised."""
        committing = asyncio.create_task(self._commits.run())
        committing.add_done_callback(self._fail_with)
        try:
            self._take_up()
            reason = await self._ended
            ended = self._tools.clock.now()
            if reason == FINISHED:
                self._tools.store.finish()
        finally:
            await self._wind_down(committing)
        await self._commits.commit()
        self.look()
        self.progress.state = SiteState.DONE if reason == FINISHED else SiteState.STOPPED
        self.progress.reason = reason
        self.progress.ended = ended
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
        if self._tools.focus is not None:
            self.progress.focus = self._tools.focus.report()
        return self.progress

    def rate_changed(self) -> None:
        """The site's share is another now: other connections may be needed.

        Before the start it tells nothing: a frontier without its seeds would find itself done."""
        if self.progress.state is not SiteState.WAITING:
            self._fit_slots()

    def _fit_slots(self) -> None:
        """As many fetches at once as use up the share, by what is known of server and pages."""
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
            self._count(row.role, row.status, row.error, row.payload_bytes)
            self.progress.wire_bytes += row.wire_bytes
            if self._tools.focus is not None:
                self._tools.focus.recall(row.relevance)
        self.progress.keep(self._harvest.copy())
        self.progress.earlier_wire_bytes = self.progress.wire_bytes
        self._tools.frontier.replay(self._tools.store.entries)
        self._tell(Seeds(self._site.seeds))
        self.rate_changed()
        for depth, urls in self._tools.known.urls(self._site.name):
            self._hear(Found(urls, depth))

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
                    self._spawn(self._explore(origin))
                case GiveUp(host=host, reason=reason):
                    self.progress.given_up[host] = reason
                case Done(reason=reason):
                    if not self._ended.done() and not self._exploring:
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
            event, read = await self._ending(outcome)
            page = Page(outcome, fetch.depth, read.title, read.language, read.links, earlier)
            if self._tools.focus is not None and isinstance(event, PageFetched):
                judged = await self._tools.focus.judge(fetch.url, read, score_of(fetch.level))
                event = structs.replace(event, scores=judged.scores)
                page = structs.replace(page, relevance=judged.relevance)
            fetch = self._landed(event, page)

    def _landed(self, event: Event, page: Page) -> Fetch | None:
        outcome = page.outcome
        commands = self._tools.frontier.handle(event, self._tools.clock.now())
        settled = any(isinstance(c, Record) and c.entry.url == outcome.url for c in commands)
        self.progress.wire_bytes += outcome.wire_bytes
        if settled:
            self._count_outcome(outcome, Role.PAGE)
        if isinstance(outcome, Fetched):
            self._learn_size(outcome.wire_bytes)
            self.progress.fetch_seconds += outcome.seconds
            self.progress.first_byte_seconds += outcome.first_byte_seconds
        next_fetch = self._perform(commands, page)
        if self.progress.fetches < _FIT_SLOTS_EVERY or not self.progress.fetches % _FIT_SLOTS_EVERY:
            self._fit_slots()
        return next_fetch

    async def _ending(self, fetched: Fetched | FetchFailure) -> tuple[Event, ReadPage]:
        """What a fetch's end means to the frontier, and what was read in it."""
        if isinstance(fetched, FetchFailure):
            return FetchFailed(fetched.url, fetched.kind), ReadPage()
        reader = self._tools.reader
        if fetched.status in _REDIRECTS:
            return Redirected(fetched.url, reader.redirect_target(fetched)), ReadPage()
        if fetched.status >= 400:
            retry_after = reader.retry_after(fetched, self._tools.clock.wall())
            return ErrorStatus(fetched.url, fetched.status, retry_after), ReadPage()
        body = reader.body(fetched)
        if len(body) < LARGE_BYTES:
            read = reader.read(fetched, body)
        else:
            read = await read_aside(reader.read, fetched, body)
        return PageFetched(fetched.url, read.to_follow, read.digest), read

    def _count_outcome(self, outcome: Fetched | FetchFailure, role: Role) -> None:
        if isinstance(outcome, Fetched):
            self._count(role, outcome.status, "", len(outcome.payload))
        else:
            self._count(role, 0, outcome.kind.value, 0)

    def _count(self, role: str, status: int, error: str, payload_bytes: int) -> None:
        """What is stored, or given to the store in the same moment."""
        self.progress.fetches += 1
        self._harvest.payload_bytes += payload_bytes
        if error:
            self._harvest.errors[error] += 1
        elif status >= (400 if role == Role.PAGE else 500):  # most sites have no robots.txt
            self._harvest.errors[str(status)] += 1
        elif role == Role.PAGE and status not in _REDIRECTS:
            self._harvest.pages += 1

    def _learn_size(self, wire_bytes: int) -> None:
        before = self._expected_bytes
        self._expected_bytes += _LATEST_WEIGHT * (wire_bytes - before)

    async def _explore(self, origin: str) -> None:
        self._exploring += 1
        trouble = await self._discovery.explore(origin)
        if trouble:
            self.progress.given_up[host_of(origin)] = trouble
        self._exploring -= 1
        self._tick()

    async def _keep(self, outcome: Fetched | FetchFailure, role: Role) -> None:
        """Store what is no page, such as robots.txt."""
        await self._commits.room()
        self.progress.wire_bytes += outcome.wire_bytes
        self._count_outcome(outcome, role)
        self._tools.store.put(Page(outcome, 0, role=role))
        self._commits.given()

    def _hear(self, event: Event) -> None:
        if self._tools.focus is not None and isinstance(event, Found):
            event = structs.replace(event, scores=self._tools.focus.of_urls(event.urls))
        if not self._ended.done():
            self._tell(event)

    def _set_timer(self, until: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay = max(until - self._tools.clock.now(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        self._hear(Tick())

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
