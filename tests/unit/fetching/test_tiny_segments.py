"""Turns of servers that send in crumbs: few at a time, none forgotten, none kept waiting."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

from headgate.engine.clock import AwakeClock
from headgate.fetching.exchange import Exchange
from headgate.fetching.meter import Meter, ResponseMeter
from headgate.fetching.tiny_segments import TinySegmentLimiter

SLOW = 10_000.0
PLACES = 3
"""On so slow a line."""


def exchange(*, crumbs: bool = True, arrived: int = 0) -> Exchange:
    made = SimpleNamespace(
        response_meter=cast(ResponseMeter, SimpleNamespace(crumbs=crumbs, arrived=arrived)),
        first_byte=1.0, sent=1.0, waiting_since=0.0,
    )  # fmt: skip
    return cast(Exchange, _Hashed(made))


class _Hashed:
    def __init__(self, like: SimpleNamespace) -> None:
        self.__dict__.update(like.__dict__)


def known(meter: Meter, *hosts: str) -> TinySegmentLimiter:
    turns = TinySegmentLimiter(meter)
    for host in hosts:
        turns.leave(host, exchange())
    return turns


async def asking(turns: TinySegmentLimiter, host: str) -> tuple[Exchange, asyncio.Task[None]]:
    one = exchange()
    task = asyncio.create_task(turns.turn(host, one))
    await asyncio.sleep(0)
    return one, task


def test_who_sends_whole_segments_waits_for_nobody() -> None:
    async def session() -> None:
        turns = known(Meter(SLOW, clock=AwakeClock.now), "a")
        for _ in range(9):
            await turns.turn("honest", exchange())
        turns.leave("a", exchange(crumbs=False))
        assert not turns.from_host("a"), "the latest response counts"

    asyncio.run(session())


def test_each_host_has_its_place_before_one_has_two() -> None:
    async def session() -> None:
        turns = known(Meter(SLOW, clock=AwakeClock.now), "a", "b")
        ours = [await asking(turns, "a") for _ in range(PLACES + 1)]
        theirs = [await asking(turns, "b") for _ in range(2)]
        assert [task.done() for _, task in ours] == [True] * PLACES + [False]
        assert not any(task.done() for _, task in theirs)
        turns.leave("a", ours[0][0])
        await asyncio.sleep(0)
        assert [task.done() for _, task in theirs] == [True, False]
        assert turns.has_turn(theirs[0][0])
        assert not turns.has_turn(ours[-1][0])
        for host, group in (("a", ours), ("b", theirs)):
            for one, task in group:
                turns.leave(host, one)
                await asyncio.sleep(0)
                await task

    asyncio.run(session())


def test_a_wait_that_is_cancelled_takes_no_place() -> None:
    async def session() -> None:
        turns = known(Meter(SLOW, clock=AwakeClock.now), "a")
        ours = [await asking(turns, "a") for _ in range(PLACES)]
        _, cancelled = await asking(turns, "a")
        last, waiting = await asking(turns, "a")
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        turns.leave("a", ours[0][0])
        await asyncio.wait_for(waiting, 30)
        assert turns.has_turn(last)

    asyncio.run(session())


def test_one_that_brings_next_to_nothing_keeps_nobody_waiting() -> None:
    async def session() -> None:
        turns = known(Meter(SLOW, clock=AwakeClock.now), "a", "b")
        drips = [await asking(turns, "a") for _ in range(PLACES)]
        late, waiting = await asking(turns, "b")
        turns.observe(now=1.5)
        assert not waiting.done(), "it has hardly begun"
        for one, _ in drips[1:]:
            one.waiting_since = 1.1
        turns.observe(now=60.0)
        await asyncio.wait_for(waiting, 30)
        assert turns.has_turn(late)
        assert turns.has_turn(drips[0][0]), "and is not broken off"

    asyncio.run(session())
