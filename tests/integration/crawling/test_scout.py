"""A first look: bounded in bytes and in seconds, whatever it meets."""

from __future__ import annotations

import time

import pytest
import uvloop
from tests.acceptance.small_web import SmallWeb, serving

from headgate.control.forecast import Scouted
from headgate.control.size_estimate import LOOK_BYTES
from headgate.crawling.page_reader import PageReader
from headgate.engine.clock import AwakeClock
from headgate.features.plan import scout
from headgate.features.plan.scout import scout_all
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.model.site import Site

SETTINGS = FetcherSettings("https://example.org/", named=frozenset({"127.0.0.1"}))
AT_ONCE = 5
READ_AHEAD = 50_000
"""What may be on its way to a connection that is closed."""


def looked_at(*webs: SmallWeb) -> tuple[dict[str, Scouted], int]:
    """What was found, and the bytes it took."""

    async def session() -> tuple[dict[str, Scouted], int]:
        sites = [Site(str(web.port), seeds=(web.seed,)) for web in webs]
        async with HttpFetcher(SETTINGS, clock=AwakeClock()) as fetcher:
            found = await scout_all(sites, fetcher, PageReader(), AT_ONCE)
            return found, fetcher.carried()

    return uvloop.run(session())


def test_large_files_are_not_read_to_their_end() -> None:
    """Eight of them were, 2 MB each, and fetched again by the crawl."""
    with serving(SmallWeb(20, page_bytes=3_000_000)) as web:
        found, carried = looked_at(web)
    assert carried < LOOK_BYTES + READ_AHEAD
    (seen,) = found.values()
    assert seen.size.low < 60e6 < seen.size.high
    assert web.asked.total() <= 3


def test_a_site_of_small_pages_is_seen_within_the_bytes() -> None:
    with serving(SmallWeb(300, page_bytes=3_000)) as web:
        found, carried = looked_at(web)
    assert carried < LOOK_BYTES + 20_000
    (seen,) = found.values()
    assert seen.size.low < 300 * 3_200 < seen.size.high
    assert seen.bytes_per_second is None or seen.bytes_per_second > 0


def test_slow_servers_do_not_hold_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scout, "_LOOK_SECONDS", 2.0)
    monkeypatch.setattr(scout, "_SECONDS_IN_ALL", 4.0)
    stuck_web = SmallWeb(20, seconds_per_page=60.0)
    with serving(SmallWeb(20, seconds_per_page=0.2)) as slow, serving(stuck_web) as stuck:
        began = time.monotonic()
        found, _ = looked_at(slow, *[stuck] * 12)
        seconds = time.monotonic() - began
    assert list(found) == [str(slow.port)]
    assert seconds < 30.0
