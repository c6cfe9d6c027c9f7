"""Crawls one site: performs its frontier's commands and passes the outcomes back to it.

    frontier ──Fetch──► fetcher ──response──► reading ──links──► frontier
        │                                                            │
        └──Record──► store ◄── page ─────────────────────────────────┘

The frontier decides everything. Pages are met by today's links, as in a first crawl, so that depths
and scope are today's; a page that did not change is read from the archive (`url_sources` has what
else is known of the site).

A page is stored together with the journal entry that settles its URL (`page_writer`), so both
become durable at once; a fetch that will be retried leaves nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from headgate.crawling.background_tasks import RunTasks
from headgate.crawling.focused_crawl import FocusState
from headgate.crawling.frontier_driver import LINKS_AT_ONCE, Choose, FrontierDriver, ResponseEvents
from headgate.crawling.page_reader import PageReader
from headgate.crawling.page_requests import SiteRequests, not_modified
from headgate.crawling.page_writer import PageWriter
from headgate.crawling.ports import Clock, Fetcher, Known, SiteStore
from headgate.crawling.progress import HANDED_OVER, SHARED_OUT, Progress, TaskState
from headgate.crawling.robots import Discovery, RobotsCache
from headgate.crawling.second_reader import SecondReader
from headgate.crawling.url_sources import Handed, SitemapVisits, UrlSources
from headgate.frontier.events import (
    FINISHED,
    Command,
    Done,
    Event,
    Fetch,
    GiveUp,
    LearnRobots,
    PageFetched,
    Ready,
    Record,
    Redirected,
    Slots,
    Stop,
    Turn,
    UrlOutcome,
    Wait,
)
from headgate.frontier.frontier import Frontier
from headgate.frontier.priority_queue import score_of
from headgate.frontier.scope import all_mine, origin_of, urls_of
from headgate.model.fetch import Fetched
from headgate.model.page import Links, Page
from headgate.model.run_report import MAX_TIME, merged
from headgate.model.store_rule import StoreRule
from headgate.model.task import SitePart, Task

if TYPE_CHECKING:
    from headgate.crawling.common_queue import CommonQueue

__all__ = ["SiteRun", "Tools"]

_FIT_SLOTS_EVERY = 16
"""Fetches between two adjustments of the concurrency; at first, it is adjusted after each."""


class Tools(msgspec.Struct, frozen=True):
    """What a site run works with."""

    frontier: Frontier
    fetcher: Fetcher
    store: SiteStore
    known: Known
    reader: PageReader
    clock: Clock
    remember: Callable[[], bool] = lambda: False
    """Called when everything is stored and nothing is left; may block. Returns whether the site's
    memory is up to date."""
    focus: FocusState | None = None
    """If the frontier goes by scores, or pages are judged by a topic."""
    second_reader: SecondReader | None = None
    """Shared with other sites."""
    commit: Callable[[], Awaitable[object]] | None = None
    """Commits the store together with others; None: it is committed by itself."""
    robots_cache: RobotsCache | None = None
    """If sites are visited often."""
    queue: CommonQueue | None = None
    """If all sites share one queue; the frontier then waits for its turns."""
    choose: Choose | None = None
    """If the user's program chooses the links to follow."""
    handed: Handed | None = None
    """If earlier parts of the site left URLs to this one."""


class SiteRun:
    """One task, within one event loop."""

    def __init__(self, task: Task, tools: Tools, started: float | None = None) -> None:
        """``started``: when the task was started, by the clock; None: now."""
        self._site = site = task.site
        self.progress = progress = Progress(site.name, visit=task.visit)
        self._tools = tools
        self._started = tools.clock.now() if started is None else started
        self._tasks = tasks = RunTasks()
        self._kept = task.kept is not None
        part = task.part
        mine = all_mine if part is None else urls_of(part)
        rule = StoreRule.parse(site.store) if site.store else None
        self._page_writer = page_writer = PageWriter(
            tools.store, tools.commit, progress, rule, mine
        )
        self._commits = page_writer.commits
        rules, queue = tools.frontier.rules, tools.queue
        self._place = (
            None if queue is None else queue.place(site.name, self._begin_one, self.max_rate)
        )
        self._requests = requests = SiteRequests(
            task,
            tools.fetcher,
            progress,
            self.stop,
            *(() if self._place is None else (self._place.over,)),
            retries=rules.retries,
        )
        self._understanding = understanding = ResponseEvents(
            site.name, tools.reader, tools.second_reader, tools.clock, tools.choose
        )
        self._frontier_driver = frontier_driver = FrontierDriver(
            tools.frontier, tools.clock, tools.focus, tasks, self._perform
        )
        self._sitemaps = SitemapVisits(
            requests,
            understanding,
            page_writer=page_writer,
            frontier_driver=frontier_driver,
            focus=tools.focus,
            dated=tools.known if self._kept else None,
        )
        discovery = Discovery(
            site.name,
            requests.request,
            reader=tools.reader,
            clock=tools.clock,
            keep=page_writer.put_other,
            send=frontier_driver.pass_on,
            retries=rules.retries,
            longest_pause=rules.dispatch.pace.longest_pause,
            cache=tools.robots_cache,
            ignored=frozenset(site.robots_ignored),
            reads_sitemaps=partial(_reads_sitemaps, part),
        )
        self._url_sources = UrlSources(
            task,
            tools.known,
            discovery=discovery,
            frontier_driver=frontier_driver,
            tasks=tasks,
            progress=progress,
            handed=tools.handed,
        )
        enough = None if part is None else part.enough
        self._handing = Handover(tools.frontier, self._url_sources, frontier_driver, tasks, enough)
        self._held = PageMemoryLimit()
        self._slots = self._in_flight = 0

    async def run(self) -> Progress:
        """Crawl until nothing is left or the run is stopped; raises faults of this machine."""
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
            if self._place is not None:
                self._place.leave()
        self.progress.received(self._tools.fetcher.take_cut_off(self._site.name))
        await self._commits.commit()
        self.report_progress()
        self.progress.end(ended, reason, done=reason == FINISHED)
        if reason == FINISHED or self._kept:
            self.progress.remembered = await asyncio.to_thread(self._tools.remember)
        return self.progress

    def stop(self, reason: str) -> None:
        """End at once: fetches in progress are cancelled, and their URLs stay to do. If another
        process or other nodes are to continue the site, they may end first."""
        if reason == HANDED_OVER:
            self._handing.end(reason)
        elif reason == SHARED_OUT:
            self._handing.share_out()
        else:
            self._tasks.end(reason)

    def report_progress(self) -> Progress:
        """The counters, brought up to date."""
        progress, fetcher, name = self.progress, self._tools.fetcher, self._site.name
        if self._frontier_driver.take_news():
            tally = self._tools.frontier.tally
            progress.to_do = tally.to_do + tally.in_flight
            progress.seen = tally.seen
            progress.left_out = merged(tally.left_out, self._page_writer.left_out)
            progress.seconds_per_request = self._tools.frontier.seconds_per_request
            self._in_flight = tally.in_flight
        progress.pausing = not self._in_flight and (
            self._url_sources.waits if self._url_sources.open else self._frontier_driver.waits
        )
        progress.under_way_bytes = fetcher.under_way(name)
        announced = fetcher.announced(name)
        progress.announced_bytes = announced.wire_bytes
        progress.announced_fetches = announced.responses
        if self._tools.focus is not None:
            progress.focus = self._tools.focus.report()
        if self._place is not None:
            progress.queue = self._place.tally
        self._requests.keep_to_bytes()
        return progress

    @property
    def max_rate(self) -> float:
        """The site's ``max_rate``, bytes per second."""
        return self._site.max_rate or math.inf

    def rate_changed(self) -> None:
        """The site's rate has changed, so it may need another number of connections.

        Does nothing before the start: a frontier without its seeds would take itself for done."""
        if self.progress.state is not TaskState.WAITING:
            self._fit_slots()

    @property
    def _seconds(self) -> float:
        return self._tools.clock.now() - self._started

    def _fit_slots(self) -> None:
        """Set the number of concurrent fetches to what uses up the site's rate."""
        if self._place is not None:
            return
        expected = self._requests.response_size.expected
        name, url = self._site.name, self._site.seeds[0]
        slots = min(self._tools.fetcher.connections(name, url, expected), self._held.most)
        if slots != self._slots and not self._tasks.over:
            self._slots = slots
            self._frontier_driver.send(Slots(slots))

    def _take_up(self) -> None:
        """Start, or continue from the store."""
        self.progress.begin(self._seconds)
        self._page_writer.recount(self._tools.focus)
        self._tools.frontier.replay(self._tools.store.entries)
        resumed = landed = False
        origins: dict[str, None] = {}
        for entry in self._tools.store.entries():
            self._page_writer.note_growth(entry)
            resumed = True
            landed = landed or entry.outcome not in (UrlOutcome.FOUND, UrlOutcome.REDIRECT)
            if entry.url and self._tools.frontier.may_read_sitemaps(entry.url):
                origins[origin_of(entry.url)] = None
        if landed:  # before the interruption; perhaps nothing is left that will
            self._url_sources.take_up_rest()
        self._url_sources.begin(resumed=resumed, settled=origins)
        self.rate_changed()

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
                    self._page_writer.put(entry, page)
                case Wait(until=until):
                    self._frontier_driver.wake_at(until)
                case LearnRobots(origin=origin):
                    self._url_sources.explore(origin)
                case GiveUp(host=host, reason=reason):
                    self.progress.given_up[host] = reason
                case Done(reason=reason):
                    self._done(reason)
        self._line_up(commands)
        return next_fetch

    def _line_up(self, commands: list[Command]) -> None:
        """Set the site's best page in the common queue, if there is one."""
        if self._place is not None and not self._tasks.over:
            ready = [command for command in commands if isinstance(command, Ready)]
            room = len(self._place.under_way) < self._held.most
            self._place.ready(ready[0] if ready and room else None)

    def _begin_one(self) -> str | None:
        """The site's turn has come: start its best fetch, and return its URL."""
        if self._tasks.over:
            return None
        commands = self._frontier_driver.handle(Turn())
        self._perform(commands)
        return next((command.url for command in commands if isinstance(command, Fetch)), None)

    def _done(self, reason: str) -> None:
        """The frontier is done; the site is done when no other source of URLs is left."""
        if self._tasks.over:
            return
        if reason == FINISHED and not self._url_sources.open:
            self._url_sources.follow_last()
        if reason != FINISHED or not self._url_sources.open:
            self._tasks.end(reason)

    async def _fetch(self, first: Fetch) -> None:
        """A fetch, and then the next one that its end lets start: one task serves many."""
        fetch: Fetch | None = first
        while fetch is not None:
            await self._commits.room()
            if fetch.sitemap:
                await self._sitemaps.visit(fetch)
                return
            earlier = self._tools.known.find(fetch.url)
            outcome = await self._requests.page(fetch.url, earlier)
            if self._tasks.over:  # stopped by max_bytes; the URL stays to do
                return
            stored = None
            if not_modified(outcome) and earlier is not None:
                stored = self._tools.known.stored(fetch.url, earlier)
                if stored is None:  # moved away or damaged
                    earlier = None
                    outcome = await self._requests.page(fetch.url, None)
            event, read = await self._understanding.page(outcome, stored)
            page = Page(
                outcome,
                fetch.depth,
                title=read.title,
                language=read.language,
                links=read.links,
                earlier=earlier,
            )
            if self._tools.focus is not None and isinstance(event, PageFetched):
                judged = await self._tools.focus.judge(fetch.url, read, score_of(fetch.level))
                event = structs.replace(event, scores=judged.scores)
                page = structs.replace(page, relevance=judged.relevance)
            if read.requisites:
                await self._frontier_driver.send_urls(read.requisites, fetch.depth, needed=True)
            if isinstance(event, PageFetched) and len(event.links) > LINKS_AT_ONCE:
                event = await self._frontier_driver.tell_most(event, fetch.depth + 1)
            if self._tasks.over:  # its links may not have been passed on; the URL stays to do
                return
            fetch = self._landed(event, page)

    def _landed(self, event: Event, page: Page) -> Fetch | None:
        outcome, progress, stored = page.outcome, self.progress, self._page_writer.kept(page)
        if not isinstance(event, Redirected):
            self._url_sources.take_up_rest()
        commands = self._frontier_driver.handle(event)
        if any(isinstance(c, Record) and c.entry.url == outcome.url for c in commands):
            self._page_writer.settled(stored)
        if isinstance(outcome, Fetched):
            self._requests.response_size.add(outcome.wire_bytes)
            if self._held.came(outcome, page.links):
                self._fit_slots()
            progress.fetch_seconds += outcome.seconds
            progress.first_byte_seconds += outcome.first_byte_seconds
        next_fetch = self._perform(commands, stored)
        self._requests.keep_to_bytes()
        self._requests.keep_to_new_bytes(outcome)
        self._handing.end_if_enough()
        if progress.fetches < _FIT_SLOTS_EVERY or not progress.fetches % _FIT_SLOTS_EVERY:
            self._fit_slots()
        return next_fetch


def _reads_sitemaps(part: SitePart | None, origin: str) -> bool:
    """A sitemap is read in one round, by each part that comes to its origin then: the others may
    never do."""
    return part is None or origin not in part.explored


_LANDING_SECONDS = 1.0
"""Fetches in flight may take so long to complete; then they are given up."""


class Handover(msgspec.Struct):
    """Ends a site run so that others continue it: another process, or several nodes."""

    frontier: Frontier
    url_sources: UrlSources
    frontier_driver: FrontierDriver
    tasks: RunTasks
    enough: int | None
    """Waiting URLs at which the run ends so that others can help; None: it runs to its end."""

    def end(self, reason: str) -> None:
        """Once fetches in flight are complete."""
        asyncio.get_running_loop().call_later(_LANDING_SECONDS, self.tasks.end, reason)
        self.frontier_driver.pass_on(Stop(reason))

    def share_out(self) -> None:
        """As soon as possible."""
        self.enough = 0
        self.end_if_enough()

    def end_if_enough(self) -> None:
        """End if enough URLs wait, but not before all other sources of URLs (sitemaps, known pages)
        were followed: nobody else would follow them."""
        waiting = self.frontier.waiting
        if self.enough is None or waiting is None or self.url_sources.open or waiting < self.enough:
            return
        self.enough = None
        self.end(SHARED_OUT)


_MOST_HELD_BYTES = 12_000_000
"""Rough limit for the pages being fetched and read at once."""
_FORGETTING = 0.95


class PageMemoryLimit:
    """How many pages a site may have in memory at once: fewer if they are large.

    By the largest of the latest pages.
    """

    __slots__ = ("_large_bytes",)

    def __init__(self) -> None:
        self._large_bytes = 1.0

    def came(self, fetched: Fetched, links: Links | None) -> bool:
        """Count a page; whether it is so large that the limit has changed much."""
        held = len(fetched.payload)
        if links is not None:
            held += links.held_bytes
        larger = held > 2 * self._large_bytes
        self._large_bytes = max(held, _FORGETTING * self._large_bytes, 1.0)
        return larger

    @property
    def most(self) -> int:
        """Most pages at once; at least 1."""
        return max(int(_MOST_HELD_BYTES / self._large_bytes), 1)
