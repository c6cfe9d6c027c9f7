"""The loop between manager and fleet: what is told, and to whom, however the crawl ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate.bandwidth.server_tally import ServerTally
from headgate.control.control_loop import ControlLoop
from headgate.control.forecast import Forecast, Source
from headgate.control.manager import Manager
from headgate.crawling.progress import Progress, TaskState
from headgate.model.site import OnDeadline, Site
from headgate.model.task import Task
from headgate.model.units import Seconds
from headgate.scheduling.capacity import Capacity
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually


@dataclass
class StepClock:
    time: float = 100.0

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time


@dataclass
class MadeUpFleet:
    """Runs each task for some seconds of a clock that goes on while it waits."""

    clock: StepClock
    seconds: Mapping[str, float]
    tasks: list[Task] = field(default_factory=list)
    """All that were started."""
    begun: dict[str, float] = field(default_factory=dict)
    """Of those that run."""
    rates: dict[str, float] = field(default_factory=dict)
    totals: list[float] = field(default_factory=list)
    closed: str = ""
    _told_at_close: list[Progress] = field(default_factory=list)

    def start(self, task: Task) -> None:
        assert task.name not in self.begun
        self.tasks.append(task)
        self.begun[task.name] = self.clock.time

    def set_rates(self, rates: Mapping[str, float]) -> None:
        self.rates.update(rates)

    def set_total(self, rate: float) -> None:
        self.totals.append(rate)

    def stop(self, site: str, reason: str) -> None: ...

    def progress(self) -> Sequence[Progress]:
        return [Progress(site, TaskState.CRAWLING) for site in self.begun]

    def servers(self) -> Mapping[str, ServerTally]:
        return {}

    async def wait(self, seconds: float) -> Sequence[Progress]:
        if self._told_at_close:
            told, self._told_at_close = self._told_at_close, []
            return told
        self.clock.time += max(seconds, 0.01)
        return self._over(TaskState.DONE)

    async def close(self, reason: str) -> None:
        self.closed = reason
        self._told_at_close = [Progress(site, TaskState.STOPPED) for site in self.begun]
        self.begun.clear()

    def _over(self, state: TaskState) -> list[Progress]:
        over = {
            site: self.clock.time - at
            for site, at in self.begun.items()
            if self.clock.time >= at + self.seconds[site]
        }
        for site in over:
            del self.begun[site]
        return [Progress(site, state, ended=seconds) for site, seconds in over.items()]


Seen = dict[str, list[TaskState]]


def conducted(
    sites: Sequence[Site],
    seconds: Mapping[str, float],
    *,
    slots: int = 5,
    interrupt_at: float = 1e9,
) -> tuple[MadeUpFleet, Seen]:
    clock = StepClock()
    fleet = MadeUpFleet(clock, seconds)
    seen: Seen = {}

    def observe(now: float, reports: Sequence[Progress], _: Mapping[str, float]) -> None:
        for report in reports:
            seen.setdefault(report.site, []).append(report.state)
        if now >= interrupt_at:
            control_loop.interrupt("interrupted")

    forecasts = {site.name: Forecast(1e6, Source.USER) for site in sites}
    manager = Manager.from_sites(sites, forecasts, Capacity.constant(1e6), slots)
    control_loop = ControlLoop(manager, fleet, clock, observe)
    asyncio.run(asyncio.wait_for(control_loop.run(), 30))
    return fleet, seen


def test_every_site_is_seen_to_end_once() -> None:
    fleet, seen = conducted([Site("a"), Site("b")], {"a": 3.0, "b": 5.0})
    assert fleet.totals[0] == 1e6
    assert {site: states.count(TaskState.DONE) for site, states in seen.items()} == {"a": 1, "b": 1}
    assert fleet.closed == "finished"


def test_an_interrupt_after_the_last_end_closes_the_fleet() -> None:
    """Else what it has not told yet, of servers above all, would be lost."""
    fleet, seen = conducted([Site("a")], {"a": 3.0}, interrupt_at=3.0)
    assert fleet.closed
    assert seen["a"].count(TaskState.DONE) == 1


def test_an_interrupt_closes_the_fleet_and_what_ended_by_it_is_seen() -> None:
    fleet, seen = conducted([Site("a"), Site("b")], {"a": 3.0, "b": 500.0}, interrupt_at=10.0)
    assert fleet.closed == "interrupted"
    assert seen["a"][-1] is TaskState.DONE
    assert seen["b"][-1] is TaskState.STOPPED


def test_a_site_whose_deadline_passes_before_it_began_is_seen_to_end_with_its_reason() -> None:
    soon = Site("soon", deadline=Seconds(5.0), on_deadline=OnDeadline.STOP)
    first = Site("first", deadline=Seconds(2.0))
    fleet, seen = conducted([first, soon], {"first": 20.0, "soon": 1.0}, slots=1)
    assert (
        "soon" not in [task.name for task in fleet.tasks]
        or seen["soon"][-1] is not TaskState.CRAWLING
    )
    assert seen["soon"].count(TaskState.STOPPED) + seen["soon"].count(TaskState.DONE) == 1


def test_tasks_arrive_while_it_runs_and_a_site_comes_again() -> None:
    """As with a daemon: ends that are observed lead to what arrives."""
    clock = StepClock()
    fleet = MadeUpFleet(clock, {"a": 3.0, "b": 5.0})
    ends: list[tuple[str, float]] = []
    known = Forecast(1e6, Source.USER)

    def observe(_: float, reports: Sequence[Progress], rates: Mapping[str, float]) -> None:
        for report in reports:
            if report.ended is not None:
                ends.append((report.site, report.ended))
                assert report.site in control_loop.begun
                assert report.site not in rates
                control_loop.arrive(Task(Site(report.site), visit=len(ends) + 1), known)
        if not fleet.tasks:
            control_loop.arrive(Task(Site("a")), known)
            control_loop.arrive(Task(Site("b")), known)
        if len(ends) >= 200:
            control_loop.interrupt("enough")

    manager = Manager.from_sites([], {}, Capacity.constant(1e6), 1)
    control_loop = ControlLoop(manager, fleet, clock, observe, endless=True)
    asyncio.run(asyncio.wait_for(control_loop.run(), 30))
    assert fleet.closed == "enough"
    assert {site for site, _ in ends[:200]} == {"a", "b"}
    visits = [(task.name, task.visit) for task in fleet.tasks]
    assert len(set(visits)) == len(visits) >= 200
    assert all(seconds >= fleet.seconds[site] for site, seconds in ends[:200])
    assert len(control_loop.begun) <= 2, "those broken off"


def test_a_daemon_without_tasks_waits_for_some() -> None:
    clock = StepClock()

    def observe(now: float, _: Sequence[Progress], __: Mapping[str, float]) -> None:
        if now > 3600.0:
            control_loop.interrupt("enough")

    manager = Manager.from_sites([], {}, Capacity.constant(1e6), 1)
    control_loop = ControlLoop(manager, MadeUpFleet(clock, {}), clock, observe, endless=True)
    asyncio.run(asyncio.wait_for(control_loop.run(), 30))
    assert control_loop.now > 3600.0


class RealWait(MadeUpFleet):
    """Whose waiting takes time."""

    async def wait(self, seconds: float) -> Sequence[Progress]:
        await asyncio.sleep(seconds)
        return []


def test_a_look_that_is_wanted_does_not_wait_for_the_next() -> None:
    async def play(loop: VirtualLoop) -> list[float]:
        clock, looks = VirtualClock(loop, 0.0), list[float]()
        manager = Manager.from_sites((), {}, None, 1)

        def note(now: float, _reports: object, _rates: object) -> None:
            looks.append(now)

        control_loop = ControlLoop(
            manager, RealWait(StepClock(), {}), clock, note, look_seconds=300.0, endless=True
        )
        running = asyncio.create_task(control_loop.run())
        await asyncio.sleep(10.0)
        control_loop.observe_now()
        control_loop.observe_now()
        await asyncio.sleep(10.0)
        control_loop.interrupt("over")
        control_loop.observe_now()
        await running
        assert loop.time() == 20.0, "and an interrupt is heeded with it"
        return looks

    assert run_virtually(play) == [0.0, 10.0, 20.0]
