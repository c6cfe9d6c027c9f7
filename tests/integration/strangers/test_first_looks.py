"""A first look at a stranger's site, before anybody knows what it is."""

from __future__ import annotations

import uvloop
from tests.acceptance.small_web import SmallWeb, serving

from headgate.crawling.page_reader import PageReader
from headgate.engine.clock import AwakeClock
from headgate.features.plan.scout import scout_all
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.frontier.traps import LONGEST_URL
from headgate.model.site import Site

SETTINGS = FetcherSettings("https://example.org/", named=frozenset({"127.0.0.1"}))


class LongNames(SmallWeb):
    """Some of its links are a little longer than a crawl takes."""

    def body(self, path: str) -> bytes | None:
        if path == "/robots.txt":
            return b"User-agent: *\nDisallow: /*" + b"a*" * 20 + b"z$\n"
        links = [f"/{k}" + "ab" * 1000 for k in range(4)] + [f"/{k}" for k in range(4)]
        return "".join(f"<a href='{link}'>x</a>" for link in links).encode()


def test_urls_too_long_for_a_crawl_are_neither_asked_for_nor_counted() -> None:
    """Each of them held against rules of wildcards takes long, and a crawl would not take them."""

    async def looked_at(web: SmallWeb) -> float:
        async with HttpFetcher(SETTINGS, clock=AwakeClock()) as fetcher:
            found = await scout_all([Site("a", seeds=(web.seed,))], fetcher, PageReader(), 2)
            return found["a"].size.high

    with serving(LongNames(1)) as web:
        assert uvloop.run(looked_at(web)) > 0
    assert len(web.asked) > 3
    assert max(map(len, web.asked)) < LONGEST_URL
