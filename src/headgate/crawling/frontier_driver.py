"""Drives a site run's frontier: outcomes of fetches become events, commands are passed on."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import structs
from msgspec.structs import replace

from headgate.crawling.background_tasks import RunTasks
from headgate.crawling.focused_crawl import FocusState
from headgate.crawling.page_reader import PageReader, ReadPage
from headgate.crawling.ports import Clock
from headgate.crawling.reading_process import Unreadable, read_aside, read_response, small_body
from headgate.crawling.second_reader import SecondReader
from headgate.frontier.events import (
    Command,
    ErrorStatus,
    Event,
    FetchFailed,
    Found,
    PageFetched,
    Recalled,
    Redirected,
    Tick,
)
from headgate.frontier.frontier import Frontier
from headgate.frontier.priority_queue import Scores
from headgate.frontier.retries import retry_after
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import Links
from headgate.reading.sitemaps import Sitemap

__all__ = ["LINKS_AT_ONCE", "Choose", "FrontierDriver", "ResponseEvents"]

LINKS_AT_ONCE = 2_000
"""Most links per event. A link takes the frontier some microseconds, one made to be expensive a
tenth of a millisecond."""
_OTHERS_PART = 1.0
"""Pause after each second that the frontier takes for very many links."""
_SHORTEST_PAUSE_SECONDS = 0.2
"""A shorter delay of the site is not worth lending its rate to others."""


class FrontierDriver:
    """Passes events to a site run's frontier, and wakes it when it has asked to be woken.

    Events from tasks are dropped once the run is over. A frontier that takes long is followed by
    pauses of the same length, in which the rest of the event loop runs.

    Of one site run with its frontier; ``perform`` executes the frontier's commands.
    """

    def __init__(
        self,
        frontier: Frontier,
        clock: Clock,
        focus: FocusState | None,
        tasks: RunTasks,
        perform: Callable[[list[Command]], object],
    ) -> None:
        self._news = True
        """The frontier got an event since `take_news` was last called."""
        self._frontier = frontier
        self._clock = clock
        self._focus = focus
        self._tasks = tasks
        self._perform = perform
        self._wakes = -math.inf
        """When the timer fires."""
        self._took_seconds = 0.0
        """Time that the frontier took for the last event."""

    @property
    def over(self) -> bool:
        """Whether the run is over."""
        return self._tasks.over

    @property
    def accepted(self) -> int:
        """Number of URLs that the frontier has accepted."""
        return self._frontier.accepted

    @property
    def waits(self) -> bool:
        """Whether the frontier only waits for a time that is not near."""
        return self._wakes > self._clock.now() + _SHORTEST_PAUSE_SECONDS

    def take_news(self) -> bool:
        """Whether the frontier got an event since the last call."""
        news, self._news = self._news, False
        return news

    def handle(self, event: Event) -> list[Command]:
        """The frontier's commands, for the caller to perform."""
        self._news = True
        clock = self._clock
        began = clock.now()
        commands = self._frontier.handle(event, began)
        self._took_seconds = clock.now() - began
        return commands

    def send(self, event: Event) -> None:
        self._perform(self.handle(event))

    def pass_on(self, event: Event) -> None:
        """An event from a task, which may outlive the run. With a focus, URLs that were not found
        on a page are scored by themselves."""
        if self._focus is not None and isinstance(event, Found | Recalled):
            event = structs.replace(event, scores=self._focus.score_urls(event.urls))
        if not self._tasks.over:
            self.send(event)

    async def send_urls(
        self, urls: Sequence[str], depth: int, scores: Scores | None = None, *, needed: bool = False
    ) -> None:
        """Pass on very many URLs in parts, with pauses as long as each part took. ``needed``: page
        requisites."""
        clock = self._clock
        for start in range(0, len(urls), LINKS_AT_ONCE):
            began = clock.now()
            some = urls[start : start + LINKS_AT_ONCE]
            theirs = None if scores is None else {url: scores[url] for url in some if url in scores}
            if self._tasks.over:
                return
            self.send(Found(some, depth, theirs, needed))
            await asyncio.sleep(_OTHERS_PART * (clock.now() - began))

    async def tell_most(self, event: PageFetched, depth: int) -> PageFetched:
        """Pass on most links of a page with very many; returns the event with the last ones.

        In this order, a crash leaves a page to be fetched again, never a settled page whose links
        are lost."""
        if not self._frontier.follows(event.digest):
            return event
        most = len(event.links) - LINKS_AT_ONCE
        await self.send_urls(event.links[:most], depth, event.scores)
        return structs.replace(event, links=event.links[most:])

    def wake_at(self, until: float) -> None:
        """Wake the frontier then, or once the event loop had as long as the frontier took."""
        self._wakes = until
        wait = max(until - self._clock.now(), _OTHERS_PART * self._took_seconds)
        self._tasks.wake_after(wait, self.tick)

    def tick(self) -> None:
        self.pass_on(Tick())


Choose = Callable[[str, Sequence[str]], Awaitable[Sequence[str]]]
"""The user's choice of the links of a page or sitemap to follow."""

Trouble = FetchFailed | Redirected | ErrorStatus
"""Events of a fetch that did not bring what was requested."""


class ResponseEvents(msgspec.Struct, frozen=True):
    """Turns the outcome of a fetch into an event for the frontier, and reads its contents.

    Of one site. Large pages are read in another process, others here or by the second reader.
    """

    site: str
    reader: PageReader
    second_reader: SecondReader | None
    clock: Clock
    choose: Choose | None = None

    async def page(
        self, fetched: Fetched | FetchFailure, stored: Fetched | None
    ) -> tuple[PageFetched | Trouble, ReadPage]:
        """For a page that did not change, the archived response ``stored`` is read."""
        trouble = self.trouble(fetched)
        if trouble is not None or isinstance(fetched, FetchFailure):
            assert trouble is not None
            return trouble, ReadPage()
        read = await self._read(stored or fetched)
        followed = read.to_follow
        if self.choose is not None and followed:
            followed = await self.choose(fetched.url, followed)
        page = PageFetched(
            fetched.url,
            followed,
            digest=read.digest,
            scores=None,
            answer_seconds=fetched.first_byte_seconds,
            unfollowed=_unfollowed(read),
            unreadable=read.unreadable,
        )
        return page, read

    async def sitemap(self, fetched: Fetched) -> Sitemap:
        """Empty if it cannot be read."""
        try:
            sitemap = await read_response(self.site, self.reader.read_sitemap, fetched)
        except Unreadable:
            return Sitemap(whole=False)
        if self.choose is None or not sitemap.pages:
            return sitemap
        return replace(sitemap, pages=tuple(await self.choose(fetched.url, sitemap.pages)))

    def trouble(self, outcome: Fetched | FetchFailure) -> Trouble | None:
        """None: the fetch brought what was requested."""
        if isinstance(outcome, FetchFailure):
            return FetchFailed(outcome.url, outcome.kind)
        reader, seconds = self.reader, outcome.first_byte_seconds
        if reader.moved(outcome):
            return Redirected(outcome.url, reader.redirect_target(outcome), seconds)
        if outcome.status >= 400:
            patience = retry_after(outcome.header("retry-after"), self.clock.wall())
            return ErrorStatus(outcome.url, outcome.status, patience, seconds)
        return None

    async def _read(self, fetched: Fetched) -> ReadPage:
        body = small_body(fetched)
        if body is None:
            try:
                return await read_aside(self.site, self.reader.read, fetched, None)
            except Unreadable:
                return ReadPage(links=Links(()), unreadable=True)
        if self.second_reader is None:
            return self.reader.read(fetched, body)
        return await self.second_reader.read(self.reader, fetched, body)


def _unfollowed(read: ReadPage) -> Sequence[str]:
    if read.links is None or len(read.links.targets) == len(read.to_follow):
        return ()
    followed = frozenset(read.to_follow)
    return [url for url in read.links.targets if url not in followed]
