"""What a site says of itself before a page of it is asked for: robots.txt, and where sitemaps are.

robots.txt that cannot be had forbids everything (RFC 9309), so a moment's failure would cost the
site: it is tried as often as a page is, and after that the host is given up with the reason. One
that does not come, or comes in drops, is not waited for longer than a page of its size deserves.

Where robots.txt names no sitemap, the usual place is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from headgate.crawling.page_reading import PageReader
from headgate.crawling.ports import Clock
from headgate.crawling.robots import Request, RobotsFile, learn_robots, sitemaps_of
from headgate.crawling.robots_cache import RobotsCache
from headgate.frontier.events import Event, RobotsLearned, SitemapsNamed
from headgate.frontier.pacing import PaceRules
from headgate.frontier.retries import RetryRules
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import Role
from headgate.reading.robots import EVERYTHING

__all__ = ["Discovery"]

_PATIENCE_SECONDS = 1.0
_PACE = PaceRules()
_RETRIES = RetryRules()


@dataclass(slots=True)
class Discovery:
    """For one site run, which keeps what was fetched and is told what was found."""

    site: str
    fetch: Request
    reader: PageReader
    clock: Clock
    keep: Callable[[Fetched | FetchFailure, Role], Awaitable[None]]
    tell: Callable[[Event], object]
    waiting: set[str] = field(default_factory=set)
    """Origins that are left alone for a while, or keep us waiting, just now."""
    cache: RobotsCache | None = None
    """Of a site that is visited often: what a visit before learned. Its sitemaps are then not
    looked into either."""
    ignored: frozenset[str] = frozenset()
    """Hosts whose robots.txt is not obeyed, as the user says; it may still name sitemaps."""

    async def explore(self, origin: str) -> str:
        """Learn an origin's rules and tell of its sitemaps; why that failed, or nothing."""
        wall = self.clock.wall()
        cached = None if self.cache is None else self.cache.find(origin, wall)
        if cached is not None:
            rules = cached.rules
            self.tell(RobotsLearned(origin, rules.allows, rules.crawl_delay, cached.public))
            return ""
        with self._patience(origin):
            found = await self._robots(origin)
        for outcome in found.outcomes:
            await self.keep(outcome, Role.ROBOTS)
        rules = found.rules
        if urlsplit(origin).hostname in self.ignored:
            rules = replace(EVERYTHING, sitemaps=rules.sitemaps)
        first = found.outcomes[0]
        public = isinstance(first, Fetched) and first.public
        if self.cache is not None:
            self.cache.keep(origin, rules, public=public, wall=wall)
        self.tell(RobotsLearned(origin, rules.allows, rules.crawl_delay, public, rules.unreachable))
        self.tell(SitemapsNamed(sitemaps_of(rules, origin)))
        return found.trouble if rules.unreachable else ""

    async def _robots(self, origin: str) -> RobotsFile:
        tries = 1
        while True:
            found = await learn_robots(origin, self.site, self.fetch, self.reader.agent)
            last = found.outcomes[-1]
            wait = _RETRIES.wait(tries)
            if isinstance(last, Fetched):
                wait = max(wait, self.reader.retry_after(last, self.clock.wall()) or 0.0)
            if not found.momentary or tries == _RETRIES.tries or wait > _PACE.longest_pause:
                return found
            await self._pause(origin, wait)
            tries += 1

    async def _pause(self, origin: str, seconds: float) -> None:
        self.waiting.add(origin)
        await asyncio.sleep(seconds)

    @contextmanager
    def _patience(self, origin: str) -> Iterator[None]:
        """An origin that takes long to tell its rules keeps no crawler from others."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(_PATIENCE_SECONDS, self.waiting.add, origin)
        try:
            yield
        finally:
            timer.cancel()
            self.waiting.discard(origin)
