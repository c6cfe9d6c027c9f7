"""No request leaves without a lease, and none waits for ever for one that was prolonged."""

from __future__ import annotations

import asyncio

from headgate.features.grid.node.crawl import leased
from headgate.fetching.client import FetcherSettings
from headgate.model.fetch import Fetched, FetchRequest
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

REQUEST = FetchRequest("http://a.test/", "a", expected_bytes=100, max_bytes=1000)


def test_a_request_leaves_as_soon_as_the_lease_is_known_to_be_good_again() -> None:
    """A beat was answered late: the lease lapsed, and was prolonged before anybody looked."""
    asked: list[float] = []
    good = False

    async def scene(loop: VirtualLoop) -> None:
        nonlocal good
        clock = VirtualClock(loop, 0.0)

        def answer(_: FetchRequest, now: float) -> Answer:
            asked.append(now)
            return Answer(200)

        parts = virtual_parts(clock, answer, Line())
        async with leased(parts.open_fetcher, lambda _: good)(FetcherSettings("")) as fetcher:
            fetching = asyncio.create_task(fetcher.fetch(REQUEST))
            await asyncio.sleep(5.0)
            assert not asked, "without a lease"
            good = True
            async with asyncio.timeout(60.0):
                assert isinstance(await fetching, Fetched)

    run_virtually(scene)
    assert len(asked) == 1
