"""What a site says of itself before a page of it is asked for: robots.txt and sitemaps.

robots.txt that cannot be had forbids everything (RFC 9309), so a moment's failure would cost the
site: it is tried as often as a page is, and after that the host is given up with the reason.

Pages that a sitemap lists are found as if a seed had linked to them. An index is followed to the
sitemaps it names and no further, each is read once, and a Crawl-delay is kept between them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from headgate.crawling.page_reading import PageReader
from headgate.crawling.ports import Clock, Fetcher
from headgate.crawling.reading_aside import read_aside
from headgate.crawling.robots import RobotsFile, learn_robots
from headgate.frontier.events import Event, Found, RobotsLearned
from headgate.frontier.pacing import PaceRules
from headgate.frontier.retries import RetryRules
from headgate.model.fetch import Fetched, FetchFailure, FetchRequest
from headgate.model.page import Role
from headgate.reading.urls import join

__all__ = ["Discovery"]

_MOST_SITEMAPS = 50
_MOST_SITEMAP_BYTES = 16_000_000
_EXPECTED_BYTES = 20_000
_PAGES_AT_ONCE = 1_000
"""Told to the frontier in one go; others have their turn in between."""
_PACE = PaceRules()
_RETRIES = RetryRules()


@dataclass(slots=True)
class Discovery:
    """For one site run, which keeps what was fetched and is told what was found."""

    site: str
    fetcher: Fetcher
    reader: PageReader
    clock: Clock
    keep: Callable[[Fetched | FetchFailure, Role], Awaitable[None]]
    tell: Callable[[Event], object]
    _read: set[str] = field(default_factory=set)
    """Sitemaps."""

    async def explore(self, origin: str) -> str:
        """Learn an origin's rules and read its sitemaps; why that failed, or nothing."""
        found = await self._robots(origin)
        for outcome in found.outcomes:
            await self.keep(outcome, Role.ROBOTS)
        rules = found.rules
        self.tell(RobotsLearned(origin, rules.allows, rules.crawl_delay))
        pause = min(rules.crawl_delay or 0.0, _PACE.longest_crawl_delay)
        await self._sitemaps([join(f"{origin}/", line) for line in rules.sitemaps], pause)
        return found.trouble

    async def _robots(self, origin: str) -> RobotsFile:
        tries = 1
        while True:
            found = await learn_robots(origin, self.site, self.fetcher, self.reader.agent)
            last = found.outcomes[-1]
            wait = _RETRIES.wait(tries)
            if isinstance(last, Fetched):
                wait = max(wait, self.reader.retry_after(last, self.clock.wall()) or 0.0)
            if not found.momentary or tries == _RETRIES.tries or wait > _PACE.longest_pause:
                return found
            await asyncio.sleep(wait)
            tries += 1

    async def _sitemaps(
        self, urls: Sequence[str | None], pause: float, *, index: bool = True
    ) -> None:
        for url in urls[:_MOST_SITEMAPS]:
            if url is None or url in self._read:
                continue
            self._read.add(url)
            await asyncio.sleep(pause)
            further = await self._sitemap(url)
            if index:
                await self._sitemaps(further, pause, index=False)

    async def _sitemap(self, url: str) -> Sequence[str]:
        """Tell of its pages; the answer is the sitemaps it names."""
        request = FetchRequest(url, self.site, _EXPECTED_BYTES, _MOST_SITEMAP_BYTES)
        outcome = await self.fetcher.fetch(request)
        await self.keep(outcome, Role.SITEMAP)
        if not isinstance(outcome, Fetched) or outcome.status != 200:
            return ()
        sitemap = await read_aside(self.reader.read_sitemap, outcome)
        for start in range(0, len(sitemap.pages), _PAGES_AT_ONCE):
            self.tell(Found(sitemap.pages[start : start + _PAGES_AT_ONCE]))
            await asyncio.sleep(0)
        return sitemap.sitemaps
