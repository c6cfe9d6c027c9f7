"""A first look at a site nobody knows: how large it is, and how fast its server.

The paper's master and task configuration (Zhu 2020): robots.txt, the sitemap if it names one, the
seeds and a few pages they link to. Under the site's robots rules, one request at a time.

How many pages a site without a sitemap has is estimated as one counts species: pages looked at are
samples, links in them sightings. With S URLs seen, f1 of them on one page only and f2 on two, there
are about S + f1^2 / (2 f2) (Chao 1984): many URLs seen only once mean that many were not seen yet.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.control.forecast import Scouted
from headgate.crawling.page_reading import PageReader
from headgate.crawling.ports import Fetcher
from headgate.crawling.reading_aside import read_aside
from headgate.crawling.robots import learn_robots
from headgate.frontier.scope import Scope, origin_of
from headgate.model.fetch import Fetched, FetchRequest
from headgate.model.site import Site
from headgate.reading.urls import join

__all__ = ["scout", "scout_all"]

_PAGES = 8
_MOST_UNSEEN = 50
"""Times what was seen: a few pages can't tell more."""
_SITEMAPS = 3
_EXPECTED_BYTES = 20_000
_MOST_BYTES = 2_000_000
_TELLING_BYTES = 4_000
"""A shorter response says nothing about the rate."""


async def scout_all(
    sites: Sequence[Site], fetcher: Fetcher, reader: PageReader, at_once: int
) -> dict[str, Scouted]:
    """Look at several sites; those that do not answer are left out."""
    turns = asyncio.Semaphore(at_once)

    async def look(site: Site) -> Scouted | None:
        async with turns:
            return await scout(site, fetcher, reader)

    found = await asyncio.gather(*(look(site) for site in sites))
    return {
        site.name: result for site, result in zip(sites, found, strict=True) if result is not None
    }


async def scout(site: Site, fetcher: Fetcher, reader: PageReader) -> Scouted | None:
    """What a few fetches tell; None when the site does not answer."""
    look = _Look(site, fetcher, reader, Scope.of(site))
    seed = site.seeds[0]
    robots = await learn_robots(origin_of(seed), site.name, fetcher, reader.agent)
    for line in robots.rules.sitemaps[:_SITEMAPS]:
        sitemap = join(seed, line)
        if sitemap is not None:
            look.in_sitemap |= set(look.scope.candidates(await look.sitemap(sitemap)))
    waiting = [url for url in site.seeds if robots.rules.allows(url)]
    while waiting and look.pages < _PAGES:
        # The middle of the list: its start is the navigation, which is much the same everywhere.
        links = await look.page(waiting.pop(len(waiting) // 2))
        waiting += [url for url in links if url not in look.sightings and robots.rules.allows(url)]
        look.sightings.update(set(links))
    return look.result()


def _estimated_pages(sightings: Counter[str]) -> int:
    """Chao's estimator; in its bias-corrected form where nothing was seen twice."""
    counts = Counter(sightings.values())
    once, twice = counts[1], counts[2]
    unseen = once * once / (2 * twice) if twice else once * (once - 1) / 2
    return len(sightings) + round(min(unseen, _MOST_UNSEEN * len(sightings)))


@dataclass(slots=True)
class _Look:
    site: Site
    fetcher: Fetcher
    reader: PageReader
    scope: Scope
    sightings: Counter[str] = field(default_factory=Counter)
    """On how many of the pages looked at a URL of the site was seen."""
    in_sitemap: set[str] = field(default_factory=set)
    pages: int = 0
    wire_bytes: int = 0
    telling_bytes: int = 0
    telling_seconds: float = 0.0

    async def page(self, url: str) -> Sequence[str]:
        """Fetch a page; the links of the site on it."""
        self.pages += 1
        fetched = await self._fetch(url)
        if fetched is None:
            return ()
        self.wire_bytes += fetched.wire_bytes
        if fetched.wire_bytes >= _TELLING_BYTES and fetched.seconds > 0:
            self.telling_bytes += fetched.wire_bytes
            self.telling_seconds += fetched.seconds
        target = self.reader.redirect_target(fetched)
        if target:
            return self.scope.candidates([target])
        read = await read_aside(self.reader.read, fetched, self.reader.body(fetched))
        return self.scope.inside(self.scope.candidates(read.to_follow))

    async def sitemap(self, url: str) -> Sequence[str]:
        fetched = await self._fetch(url)
        if fetched is None:
            return ()
        return (await read_aside(self.reader.read_sitemap, fetched)).pages

    def result(self) -> Scouted | None:
        if not self.wire_bytes:
            return None
        rate = self.telling_bytes / self.telling_seconds if self.telling_seconds else None
        return Scouted(
            len(self.in_sitemap),
            max(_estimated_pages(self.sightings), len(self.site.seeds)),
            self.wire_bytes / self.pages,
            rate,
        )

    async def _fetch(self, url: str) -> Fetched | None:
        request = FetchRequest(url, self.site.name, _EXPECTED_BYTES, _MOST_BYTES)
        outcome = await self.fetcher.fetch(request)
        return outcome if isinstance(outcome, Fetched) else None
