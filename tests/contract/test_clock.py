"""What a crawl relies on in any clock: the machine's, and that of a virtual world."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from headgate.crawling.ports import Clock, MachineClock
from headgate.engine.clock import AwakeClock, SystemClock
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

YEAR_2020, YEAR_2100 = 1_577_836_800.0, 4_102_444_800.0
Play = Callable[[MachineClock], Awaitable[None]]


def of_the_machine(play: Play) -> None:
    async def run() -> None:
        await play(SystemClock())

    asyncio.run(run())


def virtual(play: Play) -> None:
    async def run(loop: VirtualLoop) -> None:
        await play(VirtualClock(loop, 1_794_786_900.0))

    run_virtually(run)


def without_sleep(play: Callable[[Clock], Awaitable[None]]) -> None:
    async def run() -> None:
        await play(AwakeClock())

    asyncio.run(run())


OfAnyClock = Callable[[Callable[[Clock], Awaitable[None]]], None]
EVERY_CLOCK = pytest.mark.parametrize("playing", [of_the_machine, virtual, without_sleep])
EVERY_MACHINE = pytest.mark.parametrize("playing", [of_the_machine, virtual])


@EVERY_CLOCK
def test_time_goes_on_as_timers_do_and_never_back(playing: OfAnyClock) -> None:
    async def play(clock: Clock) -> None:
        moments = [clock.now()]
        for _ in range(5):
            await asyncio.sleep(0.02)
            moments += [clock.now(), clock.now()]
        assert all(earlier <= later for earlier, later in pairwise(moments))
        assert moments[-1] - moments[0] > 0.09

    playing(play)


@EVERY_CLOCK
def test_the_clock_on_the_wall_counts_from_1970(playing: OfAnyClock) -> None:
    async def play(clock: Clock) -> None:
        before = clock.wall()
        assert YEAR_2020 < before < YEAR_2100
        await asyncio.sleep(0.05)
        assert YEAR_2020 < clock.wall() < YEAR_2100, "it may be set meanwhile"

    playing(play)


@EVERY_MACHINE
def test_sleep_and_work_are_sums(playing: Callable[[Play], None]) -> None:
    async def play(clock: MachineClock) -> None:
        asleep, cpu = clock.asleep(), clock.cpu()
        sum(range(10_000))
        await asyncio.sleep(0.02)
        assert clock.asleep() - asleep + 1e-3 >= 0, "two clocks are read one after the other"
        assert 0 <= cpu <= clock.cpu()

    playing(play)


def test_of_one_machine_two_clocks_differ_by_its_sleep() -> None:
    whole, awake = SystemClock(), AwakeClock()
    assert whole.now() - whole.asleep() == pytest.approx(awake.now(), abs=0.05)


def test_a_virtual_machine_that_slept_is_later_by_every_clock_but_its_timers() -> None:
    async def run(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, 1000.0)
        await asyncio.sleep(5.0)
        clock.sleep(60.0)
        assert (clock.now(), clock.asleep(), clock.wall()) == (65.0, 60.0, 1065.0)
        assert loop.time() == 5.0
        clock.set_wall(-100.0)
        assert (clock.now(), clock.wall()) == (65.0, 965.0)

    run_virtually(run)
