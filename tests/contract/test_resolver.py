"""What every resolver does: the network's, a fixed table, and either behind a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from headgate.engine.clock import AwakeClock
from headgate.fetching.dns import CachedResolver, FixedResolver, NetworkResolver, Resolver
from headgate.fetching.errors import FetchFault
from headgate.model.fetch import FailureKind

NOWHERE = "name with blanks"
"""No name server need be asked to know that it leads nowhere."""


def of_the_network() -> Resolver:
    return NetworkResolver(timeout_seconds=0.2, tries=1)


def fixed() -> Resolver:
    return FixedResolver({"localhost": "127.0.0.1"})


def remembered() -> Resolver:
    return CachedResolver(fixed(), AwakeClock.now)


def of_the_network_remembered() -> Resolver:
    return CachedResolver(of_the_network(), AwakeClock.now)


EVERY_RESOLVER = pytest.mark.parametrize(
    "open_resolver", [of_the_network, fixed, remembered, of_the_network_remembered]
)


def playing(
    open_resolver: Callable[[], Resolver], play: Callable[[Resolver], Awaitable[None]]
) -> None:
    async def run() -> None:
        resolver = open_resolver()
        try:
            await play(resolver)
        finally:
            await resolver.close()

    asyncio.run(run())


@EVERY_RESOLVER
def test_a_name_leads_to_addresses_each_time_it_is_asked_for(
    open_resolver: Callable[[], Resolver],
) -> None:
    async def play(resolver: Resolver) -> None:
        first, again = [await resolver.resolve("localhost") for _ in range(2)]
        assert "127.0.0.1" in first.addresses
        assert first.addresses == again.addresses
        assert first.lifetime_seconds >= 0

    playing(open_resolver, play)


@EVERY_RESOLVER
def test_many_may_ask_at_once(open_resolver: Callable[[], Resolver]) -> None:
    async def play(resolver: Resolver) -> None:
        answers = await asyncio.gather(*(resolver.resolve("localhost") for _ in range(20)))
        assert len({answer.addresses for answer in answers}) == 1

    playing(open_resolver, play)


@EVERY_RESOLVER
def test_a_name_that_leads_nowhere_is_a_fault_of_dns(
    open_resolver: Callable[[], Resolver],
) -> None:
    async def play(resolver: Resolver) -> None:
        for _ in range(2):
            with pytest.raises(FetchFault, match=NOWHERE) as caught:
                await resolver.resolve(NOWHERE)
            assert caught.value.kind is FailureKind.DNS

    playing(open_resolver, play)


@EVERY_RESOLVER
def test_one_that_was_never_asked_can_be_closed(open_resolver: Callable[[], Resolver]) -> None:
    async def play(_: Resolver) -> None:
        pass

    playing(open_resolver, play)
