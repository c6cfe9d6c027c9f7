"""Fetches robots.txt of an origin before its first page, and finds its sitemaps.

An unreachable robots.txt forbids everything (RFC 9309), so a temporary failure would cost the whole
site: it is retried as often as a page, and then the host is given up with the reason. One that does
not arrive, or arrives very slowly, is not waited for longer than a page of its size.

If robots.txt names no sitemap, the usual place is tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

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


class Discovery(msgspec.Struct):
    """For one site run: ``keep`` stores what was fetched, ``tell`` passes on what was found."""

    site: str
    fetch: Request
    reader: PageReader
    clock: Clock
    keep: Callable[[Fetched | FetchFailure, Role], Awaitable[None]]
    tell: Callable[[Event], object]
    waiting: set[str] = msgspec.field(default_factory=set)
    """Origins that are paused, or slow to answer, at the moment."""
    cache: RobotsCache | None = None
    """What earlier visits learned, for sites that are visited often; an origin found here has its
    sitemaps skipped as well."""
    ignored: frozenset[str] = frozenset()
    """Hosts whose robots.txt is not obeyed; it may still name sitemaps."""
    reads_sitemaps: Callable[[str], bool] = lambda _: True
    """Whether the sitemaps of an origin are read here and not by another part of the site."""

    async def explore(self, origin: str) -> str:
        """Learn an origin's rules and sitemaps; returns why that failed, or nothing."""
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
        if self.reads_sitemaps(origin):
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
        """An origin that is slow to give its rules does not occupy a crawler."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(_PATIENCE_SECONDS, self.waiting.add, origin)
        try:
            yield
        finally:
            timer.cancel()
            self.waiting.discard(origin)
