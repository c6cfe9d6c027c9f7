"""Simulated servers whose speed depends on the hour, with a virtual clock.

The crawl's own control runs here unchanged (forecasts, planner, manager, conducting, catalog); only
the nodes are simulated. A site gets the lesser of its rate and its server's current speed, less its
pauses. So a week of crawling takes seconds, and the truth about every server is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from msgspec.structs import replace

from headgate.bandwidth.server_tally import ServerTally
from headgate.control.catalog import Catalog, Outcome, Visit
from headgate.control.completion_forecast import plan_ahead
from headgate.control.control_loop import ControlLoop
from headgate.control.forecast import Forecast, Remembered, Scouted, forecast, pasts
from headgate.control.learner import Learner
from headgate.control.manager import Manager
from headgate.crawling.progress import Progress, TaskState
from headgate.model.budget import Budget
from headgate.model.plan import Foreseen, Plan
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.timetable import Calendar, DayKind
from headgate.model.units import SizeRange
from headgate.scheduling.capacity import budget_capacity

__all__ = ["HourlyWorld", "SimulatedRun", "SimulatedSite", "crawl_once"]

_PAGE_BYTES = 20e3


@dataclass(frozen=True, slots=True)
class SimulatedSite:
    """A site and the truth about its server."""

    name: str
    address: str
    bytes: float
    """Mean of a visit."""
    speed: float
    """Bytes per second on a working day, mean over its hours."""
    swing: float
    """Relative: 0.5 means from half to one and a half times the mean."""
    slowest_hour: float
    free_days: float
    """Speed on holidays, in working days."""
    pauses: float
    """The part of the time without transfer: crawl delays, round trips."""

    def rate(self, calendar: Calendar, instant: float) -> float:
        moment = calendar.moment(instant)
        turn = 2 * math.pi * (moment.minute / 60.0 - self.slowest_hour) / 24.0
        kind = self.free_days if moment.kind is DayKind.HOLIDAY else 1.0
        return kind * self.speed * (1.0 - self.swing * math.cos(turn))


@dataclass(frozen=True, slots=True)
class HourlyWorld:
    """Sites on servers, and how much one day differs from another."""

    sites: tuple[SimulatedSite, ...]
    calendar: Calendar = field(default=Calendar())
    noise: float = 0.1
    """Standard deviation of the logarithm of a server's speed, drawn anew every ten minutes."""
    daily: float = 0.02
    """The same of a whole run, and of a site's size in it."""

    @classmethod
    def random(cls, rng: np.random.Generator, sites: int) -> HourlyWorld:
        """Speeds from 40 to 600 KB/s, swings of 20 to 60 %, a tenth to a third of pauses."""
        return cls(
            tuple(
                SimulatedSite(
                    f"site{number:02d}",
                    f"192.0.2.{number}",
                    bytes=float(np.exp(rng.uniform(np.log(1e9), np.log(5e9)))),
                    speed=float(np.exp(rng.uniform(np.log(40e3), np.log(600e3)))),
                    swing=float(rng.uniform(0.2, 0.6)),
                    slowest_hour=float(rng.uniform(10, 21)),
                    free_days=float(rng.uniform(0.8, 1.4)),
                    pauses=float(rng.uniform(0.05, 0.3)),
                )
                for number in range(sites)
            )
        )


@dataclass(slots=True)
class _Clock:
    began_wall: float
    elapsed: float = 0.0

    def now(self) -> float:
        return self.elapsed

    def wall(self) -> float:
        return self.began_wall + self.elapsed


@dataclass(slots=True)
class _Visit:
    """One site's visit: what is left, and how far its server is from its usual self."""

    site: SimulatedSite
    began: float
    left: float
    today: float
    progress: Progress

    @property
    def ended(self) -> float:
        return self.began + (self.progress.ended or 0.0)


class _Fleet:
    """The adapter of `headgate.crawling.ports.Fleet` over simulated servers."""

    def __init__(self, world: HourlyWorld, clock: _Clock, rng: np.random.Generator) -> None:
        self._world = world
        self._clock = clock
        self._rng = rng
        self._sites = {site.name: site for site in world.sites}
        self._rates: dict[str, float] = {}
        self.visits: dict[str, _Visit] = {}
        """One of each site, also when it has ended."""
        self._tallies: dict[str, ServerTally] = {}
        self._luck: dict[tuple[str, int], float] = {}

    def start(self, task: Task) -> None:
        self.visits[task.name] = self._begin(self._sites[task.name])

    def set_rates(self, rates: Mapping[str, float]) -> None:
        self._rates.update(rates)

    def set_total(self, rate: float) -> None:
        """The rates keep to it already."""

    def stop(self, site: str, reason: str) -> None:
        self._end(self.visits[site], TaskState.STOPPED, reason)

    def progress(self) -> Sequence[Progress]:
        return [visit.progress for visit in self._running()]

    def servers(self) -> Mapping[str, ServerTally]:
        return self._tallies

    async def wait(self, seconds: float) -> Sequence[Progress]:
        """Moves time forward, to the first end at the furthest."""
        running = self._running()
        flows = {visit.site.name: self._flow(visit) for visit in running}
        step = max(seconds, 0.0)
        for visit in running:
            flow, _ = flows[visit.site.name]
            if flow > 0:
                step = min(step, visit.left / flow)
        began = self._clock.elapsed
        self._clock.elapsed += step
        for visit in running:
            self._deliver(visit, *flows[visit.site.name], began, step)
        return [v.progress for v in running if v.progress.state is TaskState.DONE]

    async def close(self, reason: str) -> None:
        """Nothing is left running."""

    def _running(self) -> list[_Visit]:
        return [v for v in self.visits.values() if v.progress.state is TaskState.CRAWLING]

    def _begin(self, site: SimulatedSite) -> _Visit:
        size, today = np.exp(self._rng.normal(0.0, self._world.daily, 2)).tolist()
        progress = Progress(site.name, TaskState.CRAWLING, 0.0)
        visit = _Visit(site, self._clock.elapsed, site.bytes * size, today, progress)
        progress.to_do = math.ceil(visit.left / _PAGE_BYTES)
        host = f"{site.name}.example"
        self._tallies.setdefault(site.address, ServerTally({host}))
        return visit

    def _flow(self, visit: _Visit) -> tuple[float, float]:
        """Bytes per second now, and the server's own speed while it serves."""
        site, instant = visit.site, self._clock.wall()
        key = (site.address, int(instant // 600))
        if key not in self._luck:
            self._luck[key] = float(np.exp(self._rng.normal(0.0, self._world.noise)))
        speed = site.rate(self._world.calendar, instant) * visit.today * self._luck[key]
        return min(self._rates[site.name], speed * (1 - site.pauses)), speed

    def _deliver(self, visit: _Visit, flow: float, speed: float, began: float, step: float) -> None:
        progress = visit.progress
        came = min(flow * step, visit.left)
        visit.left -= came
        progress.wire_bytes += round(came)
        progress.fetches = round(progress.wire_bytes / _PAGE_BYTES)
        progress.to_do = math.ceil(visit.left / _PAGE_BYTES)
        if came > 0:
            busy = min(came / speed, step)
            held = step * (1 - visit.site.pauses) - busy
            held = held if held > 0.01 * step else 0.0
            self._tallies[visit.site.address].count(
                began + step - busy, began + step, round(came), 0.1, held
            )
        if visit.left <= 1.0:
            self._end(visit, TaskState.DONE, "")

    def _end(self, visit: _Visit, state: TaskState, reason: str) -> None:
        visit.progress.state, visit.progress.reason = state, reason
        visit.progress.ended = self._clock.elapsed - visit.began
        self._rates[visit.site.name] = 0.0


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """Predicted and actual ends by site, in seconds from the start of the run."""

    foreseen: Mapping[str, Foreseen]
    ended: Mapping[str, float]
    plan: Plan

    def errors(self) -> dict[str, float]:
        """Relative, of the likely end."""
        return {name: self.foreseen[name].likely / end - 1 for name, end in self.ended.items()}

    def within(self) -> float:
        """The share of sites that ended between their earliest and latest time."""
        inside = [
            self.foreseen[name].earliest <= end <= self.foreseen[name].latest
            for name, end in self.ended.items()
        ]
        return sum(inside) / len(inside)


async def crawl_once(
    world: HourlyWorld,
    budget: Budget,
    catalog: Catalog,
    start: datetime,
    rng: np.random.Generator,
    look_seconds: float = 20.0,
) -> SimulatedRun:
    """A crawl of all sites as `headgate crawl` does it, with what the catalog knows by then."""
    sites = [Site(site.name, seeds=(f"https://{site.name}.example/",)) for site in world.sites]
    clock = _Clock(start.timestamp())
    forecasts = _forecasts(
        world, sites, budget=budget, catalog=catalog, instant=clock.wall(), rng=rng
    )
    plan = plan_ahead(sites, budget, forecasts, start)
    order = {planned.name: (planned.start, planned.end) for planned in plan.sites}
    manager = Manager.from_sites(
        sorted(sites, key=lambda site: order[site.name]),
        forecasts,
        budget_capacity(budget, start, weeks=8),
        budget.crawlers,
    )
    learner = Learner.start(catalog, budget.calendar, sites)
    fleet = _Fleet(world, clock, rng)

    def observe(now: float, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
        learner.observe(fleet.servers(), reports, granted, now, clock.wall())

    stamp = start.isoformat()
    catalog.begin_run(stamp, clock.wall(), "{}")
    await ControlLoop(manager, fleet, clock, observe, look_seconds=look_seconds).run()
    learner.finish(fleet.servers(), clock.now(), clock.wall())
    catalog.record_visits(
        _visit(visit, stamp, start.timestamp(), learner) for visit in fleet.visits.values()
    )
    catalog.end_run(stamp, clock.wall(), Outcome.FINISHED)
    return SimulatedRun(
        {site.name: site.foreseen for site in plan.sites if site.foreseen},
        {name: visit.ended for name, visit in fleet.visits.items()},
        plan,
    )


def _forecasts(
    world: HourlyWorld,
    sites: Sequence[Site],
    budget: Budget,
    catalog: Catalog,
    instant: float,
    rng: np.random.Generator,
) -> dict[str, Forecast]:
    """A first look counts a third too many or too few pages, and sees one connection's speed. Its
    servers send every page anew at every visit."""
    past = pasts(catalog, sites, budget.crawlers)
    forecasts = {}
    for site, truth in zip(sites, world.sites, strict=True):
        seen = truth.bytes * float(np.exp(rng.normal(0.0, 0.3)))
        one_connection = truth.rate(world.calendar, instant) * float(rng.uniform(0.3, 1.0))
        known, scouted = past[site.name], None
        if known.visits:
            last = known.visits[0]
            memory = Remembered(last.pages, sized=last.pages, sized_bytes=last.wire_bytes)
            known = replace(known, memory=memory)
        else:
            scouted = Scouted(SizeRange(seen / 1.6, seen, seen * 1.6), True, one_connection)
        forecasts[site.name] = forecast(
            site, known, scouted, calendar=budget.calendar, instant=instant
        )
    return forecasts


def _visit(visit: _Visit, stamp: str, began: float, learner: Learner) -> Visit:
    report = visit.progress
    return Visit(
        report.site,
        stamp,
        started=began + visit.began,
        finished=began + visit.ended,
        seconds=visit.ended - visit.began,
        pages=report.fetches,
        payload_bytes=report.wire_bytes,
        wire_bytes=report.wire_bytes,
        alpha=learner.alphas.alpha(report.site),
    )
