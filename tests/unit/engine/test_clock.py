"""The time of a run over its legs, what is saved of it, and what deadlines make of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from headgate.engine.clock import RunTime, time_left
from headgate.model.site import Site
from headgate.model.units import Seconds
from headgate.storage.collection import RunFolder
from headgate.storage.run_state import SAVE_SECONDS, RunState, load_elapsed


@dataclass
class SleepyClock:
    time: float = 1000.0
    slept: float = 7.0

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return 0.0

    def asleep(self) -> float:
        return self.slept

    def cpu(self) -> float:
        return 0.0


def test_a_leg_goes_on_where_the_ones_before_ended() -> None:
    clock = SleepyClock()
    time = RunTime(clock, earlier=60.0)
    clock.time, clock.slept = 1005.0, 9.0
    assert time.now == 65.0
    assert time.start == 940.0
    assert time.awake(5.0) == 3.0, "no server is slow for what the machine slept"
    assert time.clocks().asleep == 2.0


def run_of(folder: Path) -> RunFolder:
    run = RunFolder(folder, "run")
    run.spool.mkdir(parents=True)
    return run


def test_an_orderly_end_saves_its_very_time(tmp_path: Path) -> None:
    run = run_of(tmp_path)

    async def leg() -> None:
        state = RunState(run)
        state.save(3.0)
        await state.end(4.25)

    assert load_elapsed(run) == 0.0
    asyncio.run(leg())
    assert load_elapsed(run) == 4.25


def test_a_leg_that_was_killed_is_given_the_second_it_may_have_taken(tmp_path: Path) -> None:
    run = run_of(tmp_path)

    async def leg() -> None:
        RunState(run).save(3.0)
        for _ in range(500):
            await asyncio.sleep(0.01)
            if load_elapsed(run):
                return

    asyncio.run(leg())
    assert load_elapsed(run) == 3.0 + SAVE_SECONDS


def test_a_resumed_deadline_is_nearer_by_the_time_that_passed() -> None:
    site = Site("a", deadline=Seconds(100.0), max_time=Seconds(50.0))
    assert time_left(site, 0.0, None) == site
    later = time_left(site, 30.0, None)
    assert (later.deadline, later.max_time) == (70.0, 50.0)
    begun = time_left(site, 30.0, 20.0)
    assert (begun.deadline, begun.max_time) == (70.0, 40.0)
    late = time_left(site, 500.0, 20.0)
    assert late.deadline is not None
    assert late.max_time is not None
    assert 0.0 < late.deadline < 0.01, "a deadline that has passed passes now"
    assert 0.0 < late.max_time < 0.01
