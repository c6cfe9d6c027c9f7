"""A first look at an unknown site, for a plan: its size and its server's speed.

The paper's master and task configuration (Zhu 2020): robots.txt, a sitemap of the same server, and
pages breadth first, spread over what is known, one request at a time under the site's robots rules.
Sizes are estimated as in a crawl (`control.size_estimate`). A crawl itself takes no such look: it
learns from the pages it stores.

A look is bounded in bytes and seconds, per site and in total. A page that is cut off counts with
the length in its header.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headgate.control.catalog import Catalog
from headgate.control.forecast import Forecast, Scouted, forecast, pasts
from headgate.control.size_estimate import LOOK_BYTES, SizeWatch
from headgate.crawling.page_reader import PageReader
from headgate.crawling.ports import Fetcher
from headgate.crawling.progress import Growth, Progress
from headgate.crawling.reading_process import Unreadable, read_response
from headgate.crawling.robots import RobotsFile, learn_robots, sitemaps_of
from headgate.engine.parts import Parts
from headgate.fetching.client import FetcherSettings
from headgate.frontier.scope import Scope, origin_of
from headgate.frontier.traps import LONGEST_URL
from headgate.frontier.url_queue import MemorySpill, UrlQueue
from headgate.model.budget import Budget
from headgate.model.fetch import Fetched, FetchRequest
from headgate.model.site import Site
from headgate.model.timetable import Timetable

__all__ = ["scout_all", "scouted_sites"]

_LOOK_RATE = 4.0 * LOOK_BYTES
"""Bytes per second: an unlimited connection has a megabyte in flight before it can be closed."""
_LOOK_SECONDS = 5.0
_SECONDS_IN_ALL = 60.0
_PAGES = 24
_SITEMAPS = 3
_SITEMAP_BYTES = LOOK_BYTES // 2
_ASKED_AT_A_TIME = 50
"""URLs checked against robots rules before the event loop gets its turn."""
_EXPECTED_BYTES = 20_000
_TELLING_BYTES = 4_000
"""A shorter response says nothing about the server's speed."""


async def scout_all(
    sites: Sequence[Site], fetcher: Fetcher, reader: PageReader, at_once: int
) -> dict[str, Scouted]:
    """Look at several sites; those that do not answer in time are omitted."""
    turns = asyncio.Semaphore(at_once)
    found: dict[str, Scouted] = {}

    async def scout_one(site: Site) -> None:
        async with turns:
            fetcher.meter.set_site(site.name, _LOOK_RATE)
            result = await scout(site, fetcher, reader)
            fetcher.meter.forget_site(site.name)
            if result is not None:
                found[site.name] = result

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS_IN_ALL):
            await asyncio.gather(*(scout_one(site) for site in sites))
    return found


async def scout(site: Site, fetcher: Fetcher, reader: PageReader) -> Scouted | None:
    """The result of a few fetches; None: the site does not answer."""
    look = _Look(site, fetcher, reader, Scope.for_site(site))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LOOK_SECONDS):
            await look.run()
    return look.result()


@dataclass(slots=True)
class _Look:
    site: Site
    fetcher: Fetcher
    reader: PageReader
    scope: Scope
    growth: Growth = field(default_factory=Growth)
    """As if the site were being crawled, like what follows."""
    to_do: int = 0
    fetches: int = 0
    wire_bytes: int = 0
    seen: set[str] = field(default_factory=set)
    todo: UrlQueue = field(default_factory=lambda: UrlQueue(MemorySpill()))
    by_sitemap: bool = False
    telling_bytes: int = 0
    telling_seconds: float = 0.0

    async def run(self) -> None:
        seed = self.site.seeds[0]
        robots = await learn_robots(
            origin_of(seed), self.site.name, self.fetcher.fetch, self.reader.agent
        )
        await self._meet(robots, self.site.seeds, 0)
        origin = origin_of(seed)
        sitemaps = sitemaps_of(robots.rules, origin)[:_SITEMAPS]
        for url in self.scope.own(sitemaps):
            if origin_of(url) == origin and robots.rules.allows(url):
                await self._read_sitemap(url, robots)
        for _ in range(_PAGES):
            depth, urls = self.todo.lane, self.todo.pop_spread(1)
            if depth is None or self._left <= 0:
                return
            brought = await self._meet(robots, await self._page(urls[0], depth), depth + 1)
            self.growth.settle(depth, brought)
            self.to_do -= 1

    def result(self) -> Scouted | None:
        if not self.growth.responses:
            return None
        watch = SizeWatch(_unknown())
        watch.observe(
            Progress(
                self.site.name,
                fetches=self.fetches,
                wire_bytes=self.wire_bytes,
                to_do=self.to_do,
                growth=self.growth,
            )
        )
        rate = self.telling_bytes / self.telling_seconds if self.telling_seconds else None
        return Scouted(watch.whole, self.by_sitemap, rate)

    @property
    def _left(self) -> int:
        return LOOK_BYTES - self.wire_bytes

    async def _meet(self, robots: RobotsFile, urls: Sequence[str], depth: int) -> int:
        """Queue new URLs; returns their number."""
        new = [url for url in dict.fromkeys(urls) if url not in self.seen]
        self.seen.update(new)
        allowed: list[str] = []
        for start in range(0, len(new), _ASKED_AT_A_TIME):
            asked = new[start : start + _ASKED_AT_A_TIME]
            allowed += [url for url in asked if robots.rules.allows(url)]
            await asyncio.sleep(0)
        self.todo.put(depth, allowed)
        self.growth.found(depth, len(allowed))
        self.to_do += len(allowed)
        return len(allowed)

    async def _page(self, url: str, depth: int) -> Sequence[str]:
        """Fetch a page; returns its links within the site."""
        fetched = await self._fetch(url, self._left)
        if fetched is None:
            return ()
        self.growth.came(depth, _whole_bytes(fetched))
        target = self.reader.redirect_target(fetched)
        if target:
            return self.scope.candidates([target])
        try:
            read = await read_response(self.site.name, self.reader.read, fetched)
        except Unreadable:
            return ()
        return self._inside(read.to_follow)

    async def _read_sitemap(self, url: str, robots: RobotsFile) -> None:
        fetched = await self._fetch(url, min(_SITEMAP_BYTES, self._left))
        if fetched is None or fetched.status != 200:
            return
        try:
            pages = (await read_response(self.site.name, self.reader.read_sitemap, fetched)).pages
        except Unreadable:
            return
        found = await self._meet(robots, self._inside(pages), 1)
        self.by_sitemap = self.by_sitemap or found > 0
        if fetched.truncated:
            unread = round(found * (_whole_bytes(fetched) / max(fetched.wire_bytes, 1) - 1))
            self.growth.found(1, unread)
            self.to_do += unread

    def _inside(self, urls: Sequence[str]) -> list[str]:
        short = [url for url in urls if len(url) <= LONGEST_URL]
        return self.scope.inside(self.scope.candidates(short))

    async def _fetch(self, url: str, most: int) -> Fetched | None:
        request = FetchRequest(url, self.site.name, min(_EXPECTED_BYTES, most), most)
        outcome = await self.fetcher.fetch(request)
        self.fetches += 1
        self.wire_bytes += outcome.wire_bytes
        if not isinstance(outcome, Fetched):
            return None
        if outcome.wire_bytes >= _TELLING_BYTES and outcome.seconds > 0:
            self.telling_bytes += outcome.wire_bytes
            self.telling_seconds += outcome.seconds
        return outcome


def _whole_bytes(fetched: Fetched) -> int:
    """The size of the response had it been read to its end."""
    length = fetched.header("content-length") if fetched.truncated else None
    return max(fetched.wire_bytes, int(length) if length and length.isdecimal() else 0)


def _unknown() -> Forecast:
    return forecast(Site("unknown"))


async def scouted_sites(
    sites: Sequence[Site],
    budget: Budget,
    settings: FetcherSettings,
    catalog: Catalog | None,
    parts: Parts,
) -> dict[str, Scouted]:
    """A first look at sites, for ``plan --scout``.

    A first look, within the budget, at sites whose size neither the user nor a run knows.
    """
    past = pasts(catalog, sites, budget.crawlers)
    unknown = [site for site in sites if site.expect is None and not past[site.name].visits]
    if not unknown:
        return {}
    async with parts.open_fetcher(settings) as fetcher:
        fetcher.meter.set_total(_rate_at(budget, parts.clock.wall()))
        return await scout_all(unknown, fetcher, PageReader(), budget.crawlers)


def _rate_at(budget: Budget, wall: float) -> float:
    if isinstance(budget.bandwidth, Timetable):
        return float(budget.bandwidth.rate_at(datetime.fromtimestamp(wall, UTC)))
    return float(budget.bandwidth)
