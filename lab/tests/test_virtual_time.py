"""Virtual time: timers in their order, work beside the loop, clocks that part, and an end."""

from __future__ import annotations

import asyncio
import time

import pytest

from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually


def test_hours_pass_in_no_time_and_timers_go_off_in_order() -> None:
    went_off: list[tuple[float, str]] = []

    async def main(loop: VirtualLoop) -> None:
        async def timer(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            went_off.append((loop.time(), name))

        await asyncio.gather(timer("late", 36_000.0), timer("soon", 0.5), timer("later", 7.25))

    began = time.process_time()
    run_virtually(main)
    assert went_off == [(0.5, "soon"), (7.25, "later"), (36_000.0, "late")]
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize("years", [0.6, 5.0, 50.0])
def test_timers_go_off_after_years(years: float) -> None:
    """Where floats are coarser than a nanosecond."""

    async def main(loop: VirtualLoop) -> float:
        await asyncio.sleep(years * 365 * 86_400.0)
        for _ in range(100):
            await asyncio.sleep(0.1)
        return loop.time() - years * 365 * 86_400.0

    assert run_virtually(main) == pytest.approx(10.0, abs=0.01)


def test_however_short_a_wait_takes_time() -> None:
    """Who waits until a moment, and finds it a rounding away, comes there."""

    async def main(loop: VirtualLoop) -> int:
        await asyncio.sleep(70_000.3)
        before, waits = loop.time(), 0
        while loop.time() <= before and waits < 10:
            await asyncio.sleep(1e-13)
            waits += 1
        return waits

    assert run_virtually(main) == 1


def test_work_beside_the_loop_takes_its_time_while_others_go_on() -> None:
    async def main(loop: VirtualLoop) -> list[str]:
        order: list[str] = []
        work = asyncio.ensure_future(asyncio.to_thread(order.append, "beside"))
        await asyncio.sleep(0.2)
        order.append("meanwhile")
        await work
        assert loop.time() == 0.3
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)
        return order

    assert run_virtually(main, beside_seconds=lambda: 0.3) == ["meanwhile", "beside"]


def test_a_program_that_waits_for_nothing_is_told_so() -> None:
    async def main(_: VirtualLoop) -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="come to an end"):
        run_virtually(main)


def test_a_machine_that_sleeps_and_a_clock_that_is_set() -> None:
    async def main(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, 1000.0)
        await asyncio.sleep(2.0)
        clock.sleep(60.0)
        assert (clock.now(), clock.asleep(), clock.wall(), loop.time()) == (62, 60, 1062, 2)
        clock.set_wall(-3600.0)
        assert (clock.now(), clock.asleep(), clock.wall()) == (62, 60, 1062 - 3600)

    run_virtually(main)
