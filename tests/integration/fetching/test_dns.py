"""Names: asked for once, remembered within bounds, failures too."""

from __future__ import annotations

import asyncio

import pytest

from headgate.engine.clock import AwakeClock
from headgate.fetching.dns import CachedResolver, DnsAnswer, FixedResolver, NetworkResolver
from headgate.fetching.errors import FetchFault
from headgate.model.fetch import FailureKind


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class _Slow:
    """Takes its time and counts."""

    def __init__(self, lifetime: float) -> None:
        self.asked = 0
        self._lifetime = lifetime

    async def resolve(self, host: str) -> DnsAnswer:
        self.asked += 1
        await asyncio.sleep(0.01)
        return DnsAnswer((f"192.0.2.{len(host)}",), self._lifetime)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("lifetime", "held"), [(0.0, 60.0), (300.0, 300.0), (1e6, 3600.0)])
def test_lifetimes_are_held_within_bounds(lifetime: float, held: float) -> None:
    async def session() -> None:
        clock, slow = _Clock(), _Slow(lifetime)
        resolver = CachedResolver(slow, clock)
        for clock.now, asked in ((0.0, 1), (held - 1, 1), (held + 1, 2)):
            assert (await resolver.resolve("a")).addresses == ("192.0.2.1",)
            assert slow.asked == asked

    asyncio.run(session())


def test_all_who_ask_at_once_get_one_answer() -> None:
    async def session() -> None:
        slow = _Slow(60.0)
        resolver = CachedResolver(slow, AwakeClock.now)
        first = asyncio.ensure_future(resolver.resolve("a"))
        rest = [asyncio.ensure_future(resolver.resolve("a")) for _ in range(20)]
        await asyncio.sleep(0)
        first.cancel()
        assert len({answer.addresses for answer in await asyncio.gather(*rest)}) == 1
        assert slow.asked == 1

    asyncio.run(session())


def test_failures_are_remembered_for_a_while() -> None:
    async def session() -> None:
        clock, table = _Clock(), FixedResolver({})
        resolver = CachedResolver(table, clock)
        for clock.now, asked in ((0.0, 1), (59.0, 1), (61.0, 2)):
            with pytest.raises(FetchFault) as caught:
                await resolver.resolve("nowhere.test")
            assert caught.value.kind is FailureKind.DNS
            assert len(table.asked) == asked

    asyncio.run(session())


def test_the_network_resolver_reads_the_hosts_file() -> None:
    async def session() -> None:
        resolver = NetworkResolver(timeout_seconds=1.0, tries=1)
        assert "127.0.0.1" in (await resolver.resolve("localhost")).addresses
        with pytest.raises(FetchFault) as caught:
            await resolver.resolve("does-not-exist.invalid")
        assert caught.value.kind is FailureKind.DNS
        await resolver.close()

    asyncio.run(session())
