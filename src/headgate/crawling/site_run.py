"""One site, crawled: performs what its frontier commands and tells it how things ended.

    frontier ──Fetch──► fetcher ──response──► reading ──links──► frontier
        │                                                            │
        └──Record──► store ◄── page ─────────────────────────────────┘

All decisions are the frontier's, on what earlier runs knew as on what this one finds. Pages are met
as a crawl that knows nothing would meet them, by today's links, so that depths and scope are
today's; a page that did not change is read in the archive. Then come those known before that no
link led to. What the last run left to do goes first, unless a maximum depth forbids: at which depth
it is, today's links must say.

A page is given to the store together with the journal entry that
settles its URL, so both become durable at once; a fetch that will be tried again leaves nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from headgate.crawling.asking import Asking, not_modified
from headgate.crawling.commits import Commits
from headgate.crawling.discovery import Discovery
from headgate.crawling.focusing import Focusing
from headgate.crawling.held_pages import HeldPages
from headgate.crawling.page_reading import PageReader
from headgate.crawling.ports import Clock, Fetcher, Known, SiteStore
from headgate.crawling.progress import Harvest, Progress, SiteState
from headgate.crawling.robots_cache import RobotsCache
from headgate.crawling.run_tasks import RunTasks
from headgate.crawling.second_reader import SecondReader
from headgate.crawling.understanding import Understanding
from headgate.frontier.commands import (
    FINISHED,
    NAMED_BY_SITE,
    Command,
    Done,
    Fetch,
    GiveUp,
    LearnRobots,
    Record,
    Wait,
)
from headgate.frontier.events import (
    Asked,
    Event,
    Found,
    NotNow,
    PageFetched,
    Recalled,
    Redirected,
    Seeds,
    SitemapRead,
    SitemapsNamed,
    Slots,
    Tick,
)
from headgate.frontier.frontier import Frontier
from headgate.frontier.journal import JournalEntry, Outcome
from headgate.frontier.scope import host_of, origin_of
from headgate.frontier.scored_todo import Scores, score_of
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import Page, Role
from headgate.model.run_report import ENOUGH_NEW, MAX_TIME
from headgate.model.task import Task
from headgate.reading.sitemaps import Sitemap

__all__ = ["SiteRun", "Tools"]

_LINKS_AT_ONCE = 2_000
"""Told to the frontier in one go. A link takes it some microseconds, one that was made to be dear a
tenth of a millisecond."""
_OTHERS_PART = 1.0
"""Seconds that others have for each that the frontier takes for very many links."""
_FIT_SLOTS_EVERY = 16
"""Fetches between two looks at how many are needed at once; at first, each teaches something."""
_SHORTEST_PAUSE_SECONDS = 0.2
"""Of a site that waits for its own delay: less is not worth lending what it has."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a site run works with."""

    frontier: Frontier
    fetcher: Fetcher
    store: SiteStore
    known: Known
    reader: PageReader
    clock: Clock
    remember: Callable[[], bool] = lambda: False
    """Told when all is stored and nothing is left to do; may block. Whether it did."""
    focus: Focusing | None = None
    """Given where the frontier goes by scores, or a topic is to be judged by."""
    second_reader: SecondReader | None = None
    """Shared with other sites."""
    commit: Callable[[], Awaitable[object]] | None = None
    """Commits the store together with others; None: it is committed alone."""
    robots_cache: RobotsCache | None = None
    """Given where sites are visited again and again."""


class SiteRun:
    """One task, within one event loop."""

    def __init__(self, task: Task, tools: Tools, started: float | None = None) -> None:
        """``started``: when the task was, by the clock; None: now."""
        self._site = site = task.site
        self.progress = Progress(site.name, visit=task.visit)
        self._tools = tools
        self._started = tools.clock.now() if started is None else started
        self._tasks = RunTasks()
        self._wakes = -math.inf
        """When the timer goes off."""
        self._harvest = Harvest()
        store_all = tools.commit or partial(asyncio.to_thread, tools.store.commit)
        self._commits = Commits(tools.store, store_all, self._harvest, self.progress)
        self._asking = Asking(site, tools.fetcher, self.progress, self.stop)
        self._understanding = Understanding(
            site.name, tools.reader, tools.second_reader, tools.clock
        )
        self._discovery = Discovery(
            site.name,
            self._asking.request,
            tools.reader,
            tools.clock,
            self._keep,
            self._hear,
            cache=tools.robots_cache,
        )
        self._held = HeldPages()
        self._slots = self._in_flight = 0
        self._exploring = 0
        """Origins explored and pages recalled just now: more may be to do than the frontier
        knows."""
        self._explored = False
        """An origin at least, in this leg."""
        self._resumed = False
        self._asks, self._kept = task.asks, task.kept
        self._took_up_rest = site.depth is not None or self._kept is not None
        self._recalled_all = self._kept is not None
        self._asked = frozenset(task.asks or ())
        self._new_bytes = 0
        """On the line, for pages that a keeper's visit found."""
        self._told = True
        """The frontier, of something since the last look."""
        self._took_seconds = 0.0
        """The frontier, for the last event."""

    async def run(self) -> Progress:
        """Crawl until nothing is left, a stop, or a fault of this machine, which is raised."""
        self._tasks.spawn(self._commits.run())
        time_up: asyncio.TimerHandle | None = None
        if self._site.max_time is not None:
            loop = asyncio.get_running_loop()
            time_up = loop.call_later(self._site.max_time, self.stop, MAX_TIME)
        try:
            self._take_up()
            reason = await self._tasks.reason()
            ended = self._seconds
            if reason == FINISHED:
                self._tools.store.finish()
        finally:
            if time_up is not None:
                time_up.cancel()
            await self._tasks.wind_down()
        self.progress.wire_bytes += self._tools.fetcher.take_cut_off(self._site.name)
        await self._commits.commit()
        self.look()
        self.progress.state = SiteState.DONE if reason == FINISHED else SiteState.STOPPED
        self.progress.reason = reason
        self.progress.ended = ended
        if reason == FINISHED or self._kept is not None:
            self.progress.remembered = await asyncio.to_thread(self._tools.remember)
        return self.progress

    def stop(self, reason: str) -> None:
        """End at once: fetches under way are given up, and their URLs stay to do."""
        self._tasks.end(reason)

    def look(self) -> Progress:
        """The counters, brought up to date."""
        if self._told:
            self._told = False
            tally = self._tools.frontier.tally
            self.progress.to_do = tally.to_do + tally.in_flight
            self.progress.seen = tally.seen
            self.progress.left_out = tally.left_out
            self.progress.seconds_per_request = self._tools.frontier.seconds_per_request
            self._in_flight = tally.in_flight
        self.progress.pausing = not self._in_flight and self._waits_for_its_delay()
        self.progress.under_way_bytes = self._tools.fetcher.under_way(self._site.name)
        announced = self._tools.fetcher.announced(self._site.name)
        self.progress.announced_bytes = announced.wire_bytes
        self.progress.announced_fetches = announced.responses
        if self._tools.focus is not None:
            self.progress.focus = self._tools.focus.report()
        self._asking.keep_to_bytes()
        return self.progress

    @property
    def max_rate(self) -> float:
        """Bytes per second, by the user's word."""
        return self._site.max_rate or math.inf

    def rate_changed(self) -> None:
        """The site's share is another now: other connections may be needed.

        Before the start it tells nothing: a frontier without its seeds would find itself done."""
        if self.progress.state is not SiteState.WAITING:
            self._fit_slots()

    @property
    def _seconds(self) -> float:
        return self._tools.clock.now() - self._started

    def _waits_for_its_delay(self) -> bool:
        if self._exploring:
            return self._exploring == len(self._discovery.waiting)
        return self._wakes > self._tools.clock.now() + _SHORTEST_PAUSE_SECONDS

    def _fit_slots(self) -> None:
        """As many fetches at once as use up the share, by what is known of server and pages."""
        expected = self._asking.response_size.expected
        name, url = self._site.name, self._site.seeds[0]
        slots = min(self._tools.fetcher.connections(name, url, expected), self._held.most)
        if slots != self._slots and not self._tasks.over:
            self._slots = slots
            self._tell(Slots(slots))

    def _take_up(self) -> None:
        """Start, or go on where the store stands."""
        self.progress.state = SiteState.CRAWLING
        self.progress.started = self._seconds
        for row in self._tools.store.pages():
            self._count(row.role, row.status, row.error, row.payload_bytes)
            self.progress.wire_bytes += row.wire_bytes
            if row.role == Role.PAGE and not row.error:
                self.progress.fetch_seconds += row.seconds
                self.progress.first_byte_seconds += row.first_byte_seconds
            if row.role == Role.PAGE:
                self.progress.growth.came(row.wire_bytes)
            if self._tools.focus is not None:
                self._tools.focus.recall(row.relevance)
        self.progress.keep(self._harvest.copy())
        self.progress.earlier_wire_bytes = self.progress.wire_bytes
        self._tools.frontier.replay(self._tools.store.entries)
        landed = False
        for entry in self._tools.store.entries():
            self.progress.growth.note(entry)
            self._resumed = True
            landed = landed or entry.outcome not in (Outcome.FOUND, Outcome.REDIRECT)
        if landed:  # before the interruption; perhaps nothing is left that will
            self._take_up_rest()
        self._tell_what_is_wanted()
        self.rate_changed()

    def _tell_what_is_wanted(self) -> None:
        """A visit that asks for some pages meets those and new ones; all others are met already."""
        if self._asks is None:
            self._tell(Seeds(self._site.seeds))
        else:
            for depth, urls in self._tools.known.by_depth(self._asks):
                self._tell(Asked(urls, depth))
        if self._kept is not None:
            self._tell(NotNow(self._tools.known.hashes()))

    def _tell(self, event: Event) -> list[Command]:
        commands = self._handle(event)
        self._perform(commands)
        return commands

    def _handle(self, event: Event) -> list[Command]:
        self._told = True
        clock = self._tools.clock
        began = clock.now()
        commands = self._tools.frontier.handle(event, began)
        self._took_seconds = clock.now() - began
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
                        self._tasks.spawn(self._fetch(command))
                case Record(entry=entry):
                    self._store(entry, page)
                case Wait(until=until):
                    self._set_timer(until)
                case LearnRobots(origin=origin):
                    self._learn(origin)
                case GiveUp(host=host, reason=reason):
                    self.progress.given_up[host] = reason
                case Done(reason=reason):
                    self._done(reason)
        return next_fetch

    def _done(self, reason: str) -> None:
        if self._tasks.over or (self._exploring and reason == FINISHED):
            return
        if reason == FINISHED and self._resumed and not self._explored:
            # Nothing is left that leads to robots.txt, but a sitemap may have been under way.
            for origin in dict.fromkeys(map(origin_of, self._site.seeds)):
                self._learn(origin)
        elif reason == FINISHED and not self._recalled_all:
            self._recalled_all = True
            self._recall(self._tools.known.pages(), unlinked=True)
        else:
            self._tasks.end(reason)

    def _store(self, entry: JournalEntry, page: Page | None) -> None:
        self.progress.growth.note(entry)
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
            if fetch.sitemap:
                await self._read_sitemap(fetch)
                return
            earlier = self._tools.known.find(fetch.url)
            outcome = await self._asking.page(fetch.url, earlier)
            if self._tasks.over:  # its bytes are used up; the URL stays to do
                return
            stored = None
            if not_modified(outcome) and earlier is not None:
                stored = self._tools.known.stored(fetch.url, earlier)
                if stored is None:  # moved away or damaged
                    earlier = None
                    outcome = await self._asking.page(fetch.url, None)
            event, read = await self._understanding.page(outcome, stored)
            page = Page(outcome, fetch.depth, read.title, read.language, read.links, earlier)
            if self._tools.focus is not None and isinstance(event, PageFetched):
                judged = await self._tools.focus.judge(fetch.url, read, score_of(fetch.level))
                event = structs.replace(event, scores=judged.scores)
                page = structs.replace(page, relevance=judged.relevance)
            if isinstance(event, PageFetched) and len(event.links) > _LINKS_AT_ONCE:
                event = await self._tell_most(event, fetch.depth + 1)
            fetch = self._landed(event, page)

    async def _read_sitemap(self, fetch: Fetch) -> None:
        outcome = await self._asking.sitemap(fetch.url)
        if self._tasks.over:
            return
        await self._keep(outcome, Role.SITEMAP)
        event: Event | None = self._understanding.trouble(outcome)
        if event is None and isinstance(outcome, Fetched):
            sitemap = await self._understanding.sitemap(outcome)
            focus = self._tools.focus
            scores = None if focus is None else focus.of_urls(sitemap.pages)
            if self._kept is not None:
                self._note_dates(sitemap)
            await self._tell_of(sitemap.pages, 1, scores)
            if fetch.sitemap == NAMED_BY_SITE and sitemap.sitemaps:
                self._hear(SitemapsNamed(sitemap.sitemaps, by_index=True))
            event = SitemapRead(fetch.url, outcome.first_byte_seconds)
        if event is not None:
            self._hear(event)

    def _note_dates(self, sitemap: Sitemap) -> None:
        """When known pages changed, as a sitemap says."""
        known = self._tools.known
        dates = [(url, at.timestamp()) for url, at in sitemap.modified.items() if known.asked(url)]
        if dates:
            self._store(JournalEntry(Outcome.FOUND, modified=dates), None)

    async def _tell_most(self, event: PageFetched, depth: int) -> PageFetched:
        """Of a page with very many links, all but the last, which go with the page itself.

        Were it the other way round, a crash could leave a page
        settled whose links nobody knows; so it leaves a page to be asked for again."""
        if not self._tools.frontier.follows(event.digest):
            return event
        most = len(event.links) - _LINKS_AT_ONCE
        await self._tell_of(event.links[:most], depth, event.scores)
        return structs.replace(event, links=event.links[most:])

    async def _tell_of(self, urls: Sequence[str], depth: int, scores: Scores | None) -> None:
        """Of very many, in parts; others have as long in between."""
        clock = self._tools.clock
        for start in range(0, len(urls), _LINKS_AT_ONCE):
            began = clock.now()
            some = urls[start : start + _LINKS_AT_ONCE]
            theirs = None if scores is None else {url: scores[url] for url in some if url in scores}
            if self._tasks.over:
                return
            self._tell(Found(some, depth, theirs))
            await asyncio.sleep(_OTHERS_PART * (clock.now() - began))

    def _landed(self, event: Event, page: Page) -> Fetch | None:
        outcome = page.outcome
        if not isinstance(event, Redirected):
            self._take_up_rest()
        commands = self._handle(event)
        settled = any(isinstance(c, Record) and c.entry.url == outcome.url for c in commands)
        if settled:
            self._count_outcome(outcome, Role.PAGE)
            self.progress.growth.came(outcome.wire_bytes)
        if isinstance(outcome, Fetched):
            self._asking.response_size.add(outcome.wire_bytes)
            if self._held.came(outcome, page.links):
                self._fit_slots()
            self.progress.fetch_seconds += outcome.seconds
            self.progress.first_byte_seconds += outcome.first_byte_seconds
        next_fetch = self._perform(commands, page)
        self._asking.keep_to_bytes()
        self._keep_to_new_bytes(outcome)
        if self.progress.fetches < _FIT_SLOTS_EVERY or not self.progress.fetches % _FIT_SLOTS_EVERY:
            self._fit_slots()
        return next_fetch

    def _keep_to_new_bytes(self, outcome: Fetched | FetchFailure) -> None:
        """What a visit is for goes first; of what it finds, it takes no more than it may."""
        if self._kept is not None and outcome.url not in self._asked:
            self._new_bytes += outcome.wire_bytes
            if self._new_bytes > self._kept.new_bytes:
                self._tasks.end(ENOUGH_NEW)

    def _count_outcome(self, outcome: Fetched | FetchFailure, role: Role) -> None:
        if isinstance(outcome, Fetched):
            self._count(role, outcome.status, "", len(outcome.payload))
        else:
            self._count(role, 0, outcome.kind.value, 0)

    def _count(self, role: str, status: int, error: str, payload_bytes: int) -> None:
        """What is stored, or given to the store in the same moment."""
        self.progress.fetches += 1
        self._harvest.count(role, status, error, payload_bytes)

    def _take_up_rest(self) -> None:
        """What earlier runs left to do, once a page has come: a host that a seed may redirect to
        has joined the site by then."""
        if not self._took_up_rest:
            self._took_up_rest = True
            self._recall(self._tools.known.left_to_do(), unlinked=False)

    def _recall(self, known: Iterator[tuple[int, Sequence[str]]], *, unlinked: bool) -> None:
        """Tell of known pages, batch by batch; the site is not done before the last."""

        async def tell() -> None:
            for depth, urls in known:
                before = self._tools.frontier.accepted
                self._hear(Recalled(urls, depth, unlinked))
                self.progress.growth.found(depth, self._tools.frontier.accepted - before)
                await asyncio.sleep(0)
            self._exploring -= 1
            self._tick()

        self._exploring += 1
        self._tasks.spawn(tell())

    def _learn(self, origin: str) -> None:
        self._explored = True
        self._exploring += 1
        self._tasks.spawn(self._explore(origin))

    async def _explore(self, origin: str) -> None:
        trouble = await self._discovery.explore(origin)
        if trouble:
            self.progress.given_up[host_of(origin)] = trouble
        self._exploring -= 1
        self._tick()

    async def _keep(self, outcome: Fetched | FetchFailure, role: Role) -> None:
        """Store what is no page, such as robots.txt."""
        await self._commits.room()
        self._count_outcome(outcome, role)
        self._tools.store.put(Page(outcome, 0, role=role))
        self._commits.given()

    def _hear(self, event: Event) -> None:
        if self._tools.focus is not None and isinstance(event, Found | Recalled):
            event = structs.replace(event, scores=self._tools.focus.of_urls(event.urls))
        if not self._tasks.over:
            self._tell(event)

    def _set_timer(self, until: float) -> None:
        """A frontier that has much to do at once goes on when others had as long."""
        self._wakes = until
        wait = max(until - self._tools.clock.now(), _OTHERS_PART * self._took_seconds)
        self._tasks.wake_after(wait, self._tick)

    def _tick(self) -> None:
        self._hear(Tick())
