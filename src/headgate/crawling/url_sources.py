"""Sources of a site's URLs besides links: seeds, sitemaps, and what earlier runs knew.

While one of these is being followed, more may be to do than the frontier knows, so the site is not
done before all of them are. What the last run left unfetched goes first, unless there is a maximum
depth: then today's links must say at which depth it is. Known pages that no link leads to come
last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from headgate.crawling.background_tasks import RunTasks
from headgate.crawling.focused_crawl import FocusState
from headgate.crawling.frontier_driver import FrontierDriver, ResponseEvents
from headgate.crawling.page_requests import SiteRequests
from headgate.crawling.page_writer import PageWriter
from headgate.crawling.ports import Known
from headgate.crawling.progress import Progress
from headgate.crawling.robots import Discovery
from headgate.frontier.events import (
    NAMED_BY_SITE,
    Asked,
    Event,
    Fetch,
    JournalEntry,
    NotNow,
    Recalled,
    Seeds,
    SitemapRead,
    SitemapsNamed,
    UrlOutcome,
)
from headgate.frontier.scope import host_of, origin_of
from headgate.frontier.seen_urls import Hashes
from headgate.model.fetch import Fetched
from headgate.model.page import Role
from headgate.model.task import Task
from headgate.reading.sitemaps import Sitemap

__all__ = ["Handed", "SitemapVisits", "UrlSources"]


class Handed(msgspec.Struct, frozen=True):
    """What parts of a site before this one left to it."""

    asks: Sequence[tuple[int, Sequence[str]]]
    """URLs by depth."""
    met: Hashes
    """Hashes of all URLs met so far, including these; none is to be fetched again."""


class UrlSources:
    """Of one site run; what earlier runs knew is passed on once."""

    def __init__(
        self,
        task: Task,
        known: Known,
        discovery: Discovery,
        frontier_driver: FrontierDriver,
        tasks: RunTasks,
        progress: Progress,
        handed: Handed | None = None,
    ) -> None:
        self._task = task
        self._known = known
        self._discovery = discovery
        self._frontier_driver = frontier_driver
        self._tasks = tasks
        self._progress = progress
        self._handed = handed
        self._followed = 0
        """Number of sources being followed now."""
        self._unexplored: dict[str, None] = {}
        """Origins that were explored in an earlier leg and not yet in this one."""
        self._took_up_rest = task.site.depth is not None or task.kept is not None
        self._recalled_all = task.kept is not None

    @property
    def open(self) -> bool:
        """Whether more may be to do than the frontier knows."""
        return self._followed > 0

    @property
    def waits(self) -> bool:
        """Whether all sources being followed are origins that are paused at the moment."""
        return self._followed == len(self._discovery.waiting)

    def begin(self, *, resumed: bool, settled: Iterable[str] = ()) -> None:
        """Pass on the seeds, or the pages that a visit asks for; other known pages of a visit count
        as met. ``resumed``: an interrupted run is continued, with pages ``settled`` at these
        origins."""
        if resumed:
            seeds = map(origin_of, self._task.site.seeds if self._handed is None else ())
            self._unexplored |= dict.fromkeys([*seeds, *settled])
        if self._handed is not None:
            for depth, urls in self._handed.asks:
                self._frontier_driver.send(Asked(urls, depth))
            self._frontier_driver.send(NotNow(self._handed.met))
            return
        if self._task.asks is None:
            self._frontier_driver.send(Seeds(self._task.site.seeds))
        else:
            for depth, urls in self._known.by_depth(self._task.asks):
                needed = self._known.needed(urls)
                shown = frozenset(needed)
                linked = [url for url in urls if url not in shown]
                for some, are_needed in ((linked, False), (needed, True)):
                    if some:  # a frontier that was told of nothing would be done
                        self._frontier_driver.send(Asked(some, depth, are_needed))
        if self._task.kept is not None:
            self._frontier_driver.send(NotNow(self._known.hashes()))
        if self._task.asks is not None:  # the user may have named others since
            self._frontier_driver.send(Seeds(self._task.site.seeds))

    def take_up_rest(self) -> None:
        """Pass on what earlier runs left unfetched, after the first page: by then a host that a
        seed redirects to has joined the site."""
        if not self._took_up_rest:
            self._took_up_rest = True
            self._recall(self._known.left_to_do(), unlinked=False)

    def follow_last(self) -> None:
        """The frontier has nothing left: follow what else there is, if anything."""
        if self._unexplored:
            # Nothing is left that leads to robots.txt, but a sitemap may have been in progress.
            for origin in list(self._unexplored):
                self.explore(origin)
        elif not self._recalled_all:
            self._recalled_all = True
            # A task for somebody else has no links of unchanged pages, so one may lead to these.
            self._recall(self._known.pages(), unlinked=self._task.apart is None)

    def explore(self, origin: str) -> None:
        """Learn an origin's robots rules and sitemaps."""
        self._unexplored.pop(origin, None)
        self._followed += 1
        self._tasks.spawn(self._explore(origin))

    async def _explore(self, origin: str) -> None:
        trouble = await self._discovery.explore(origin)
        if trouble:
            self._progress.given_up[host_of(origin)] = trouble
        self._followed -= 1
        self._frontier_driver.tick()

    def _recall(self, known: Iterator[tuple[int, Sequence[str]]], *, unlinked: bool) -> None:
        """Pass on known pages, batch by batch."""

        async def tell() -> None:
            for depth, urls in known:
                before = self._frontier_driver.accepted
                self._frontier_driver.pass_on(Recalled(urls, depth, unlinked))
                self._progress.growth.found(depth, self._frontier_driver.accepted - before)
                await asyncio.sleep(0)
            self._followed -= 1
            self._frontier_driver.tick()

        self._followed += 1
        self._tasks.spawn(tell())


class SitemapVisits(msgspec.Struct, frozen=True):
    """Fetches and stores the sitemaps that the frontier asks for, and passes on their URLs in
    parts.

    Of one site run. The frontier gets a sitemap's end after all of its URLs.
    """

    requests: SiteRequests
    understanding: ResponseEvents
    page_writer: PageWriter
    frontier_driver: FrontierDriver
    focus: FocusState | None
    dated: Known | None
    """Known pages whose dates of change are recorded; None: dates are ignored."""

    async def visit(self, fetch: Fetch) -> None:
        outcome = await self.requests.sitemap(fetch.url)
        if self.frontier_driver.over:
            return
        await self.page_writer.put_other(outcome, Role.SITEMAP)
        event: Event | None = self.understanding.trouble(outcome)
        if event is None and isinstance(outcome, Fetched):
            sitemap = await self.understanding.sitemap(outcome)
            scores = None if self.focus is None else self.focus.score_urls(sitemap.pages)
            if self.dated is not None:
                self._note_dates(sitemap, self.dated)
            await self.frontier_driver.send_urls(sitemap.pages, 1, scores)
            if fetch.sitemap == NAMED_BY_SITE and sitemap.sitemaps:
                self.frontier_driver.pass_on(SitemapsNamed(sitemap.sitemaps, by_index=True))
            event = SitemapRead(fetch.url, outcome.first_byte_seconds)
        if event is not None:
            self.frontier_driver.pass_on(event)

    def _note_dates(self, sitemap: Sitemap, known: Known) -> None:
        """Record when known pages changed, according to the sitemap."""
        dates = [(url, at.timestamp()) for url, at in sitemap.modified.items() if known.asked(url)]
        if dates:
            self.page_writer.put(JournalEntry(UrlOutcome.FOUND, modified=dates))
