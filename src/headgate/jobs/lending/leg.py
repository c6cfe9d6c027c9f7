"""A leg of a node: crawls its tasks while their leases are valid, with the manager and the fleet of
a crawl on one machine.

Twice a second, and when a task was granted: sites whose lease is not known to be valid are stopped,
those that may be crawled are started, and the budget is set to the smaller of the owner's and the
leased part.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
from msgspec import structs

from headgate.control.catalog import Catalog
from headgate.control.conducting import Conducting
from headgate.control.forecast import Forecast, Source
from headgate.control.learning import Learning
from headgate.control.manager import Manager
from headgate.crawling.ports import MeasuredFleet
from headgate.crawling.progress import Progress, TaskState
from headgate.fetching.http import FetcherSettings
from headgate.grid.leased_fetcher import leased
from headgate.jobs.budget_keeping import BudgetKeeping
from headgate.jobs.lending.holdings import Holdings, Stage, Work
from headgate.jobs.node import NodeJob, open_node
from headgate.jobs.parts import Parts
from headgate.jobs.run_time import RunTime
from headgate.jobs.upkeep import FleetTerms, Upkeep, open_working_fleet
from headgate.model.budget import Budget
from headgate.model.run_report import MAX_BYTES, OUTGROWN
from headgate.model.timetable import Timetable
from headgate.planning.capacity import Capacity
from headgate.storage.collection import RunFolder
from headgate.traffic.server_tally import ServerTally

__all__ = ["WorkerLeg", "line_rate"]

_STANDING_STILL = "its lease is not known to be valid"
_LOST = "another node has it now"
_UNKNOWN_BYTES, _UNKNOWN_RANGE = 8e6, (1e4, 1e9)
_LITTLE = 1.0
"""Bytes per second: the planner needs a budget above 0."""


@dataclass(slots=True)
class WorkerLeg:
    budget: Budget
    holdings: Holdings
    catalog: Catalog
    parts: Parts
    tell: Callable[[Sequence[str]], None]
    ended: Callable[[], None]
    """Called when a task has ended: there is a result to deliver, and a slot is free."""
    look_seconds: float
    interrupted: str = ""
    pages_share: float = 1.0
    """The part of the owner's rate that is for pages; the rest is for the manager."""
    _upkeep: Upkeep | None = None
    _total: float | None = None
    _shared: float = 1.0
    """`pages_share` as it was when the budget was last set."""
    _time: RunTime = field(init=False)

    def __post_init__(self) -> None:
        self._time = RunTime(self.parts.clock, 0.0)

    async def run(self, settings: FetcherSettings) -> None:
        """Until it is interrupted; raises faults of this machine."""
        clock, home = self.parts.clock, self.holdings.home
        keeping = BudgetKeeping(
            self.budget, RunFolder(home, ""), self.catalog, clock, self.tell
        )  # fmt: skip
        learning = Learning.of(self.catalog, self.budget.calendar, ())
        self._total, self.interrupted = self.holdings.book.total, ""
        self._shared = self.pages_share
        manager = Manager.of((), {}, self._capacity(keeping), self.budget.crawlers)
        parts = structs.replace(self.parts, open_fleet=self._open_fleet)
        terms = FleetTerms(home, "", settings)
        async with open_working_fleet(
            parts, terms, self.budget, manager.sites.bytes_left, self._tell_line
        ) as fleet:
            conducting = Conducting(
                manager, fleet, clock, self._look, self.look_seconds, asyncio.to_thread,
                endless=True,
            )  # fmt: skip
            self._upkeep = Upkeep(conducting, keeping, learning)
            conducting.interrupted = self.interrupted
            try:
                await self._upkeep.conduct()
            finally:
                _stand_still(self.holdings)
                self._upkeep = None
                keeping.save_use()
                learning.finish(fleet.servers(), self._time.awake(conducting.now), clock.wall())

    def own_rate(self) -> float | None:
        """Bytes per second that the owner allows now; None: no bound."""
        if self._upkeep is not None:
            return self._upkeep.keeping.rate_at(self._upkeep.conducting.now)
        return line_rate(self.budget, self.parts.clock.wall())

    @contextlib.asynccontextmanager
    async def _open_fleet(
        self,
        job: NodeJob,
        left: Callable[[str], float],  # noqa: ARG002 - there is one node for all of them
        processes: int,  # noqa: ARG002 - the gate below is this process's
    ) -> AsyncIterator[MeasuredFleet]:
        """A fleet whose fetcher sends no request without a valid lease."""
        holdings, clock = self.holdings, self.parts.clock
        open_fetcher = leased(
            self.parts.open_fetcher, lambda site: holdings.may_fetch(site, clock.now())
        )
        node = structs.replace(self.parts.node, open_fetcher=open_fetcher)
        async with open_node(job, node) as fleet:
            yield fleet

    def interrupt(self, why: str) -> None:
        self.interrupted = why
        if self._upkeep is not None:
            self._upkeep.conducting.interrupt(why)
            self.look_now()

    def look_now(self) -> None:
        """Look at once: a task may be started, or the leased budget has changed."""
        if self._upkeep is not None:
            self._upkeep.conducting.look_now()

    def note_progress(self) -> None:
        """Update the progress of tasks, before a heartbeat reports it."""
        if self._upkeep is not None:
            conducting = self._upkeep.conducting
            _note(self.holdings, conducting.fleet.progress(), conducting.manager.rates)

    def stop(self, work: Work) -> None:
        """Stop a task that is lost or given back."""
        if self._upkeep is not None and work.stage is Stage.CRAWLING:
            self._upkeep.conducting.fleet.stop(work.site, _LOST)

    def servers(self) -> Mapping[str, ServerTally]:
        return {} if self._upkeep is None else self._upkeep.conducting.fleet.servers()

    def _look(self, now: float, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
        leg = self._upkeep
        assert leg is not None
        _note(self.holdings, reports, granted)
        for report in reports:
            if report.ended is not None and (work := self.holdings.crawled(report.site)):
                self._end(work, report)
        leg.learn(reports, granted, self._time.awake(now), self.parts.clock.wall())
        self._keep_budget(leg, now, reports)
        if not leg.conducting.interrupted:
            self._stop_and_begin(leg)

    def _end(self, work: Work, report: Progress) -> None:
        """A task has ended by itself, or because we stopped it."""
        assert self._upkeep is not None
        if report.reason == MAX_BYTES and not work.has_own_bound:
            report = structs.replace(report, reason=OUTGROWN)
        ours = (_STANDING_STILL, _LOST, self._upkeep.conducting.interrupted)
        if report.state is not TaskState.DONE and report.reason in ours:
            self.holdings.set_back(work, report)
        else:
            self.holdings.end(work, report)
        self.ended()

    def _stop_and_begin(self, leg: Upkeep) -> None:
        now, wall = self.parts.clock.now(), self.parts.clock.wall()
        holdings = self.holdings
        for work in holdings.of(Stage.CRAWLING):
            if work.lost or not holdings.book.is_good(work.lease, now):
                leg.conducting.fleet.stop(work.site, _LOST if work.lost else _STANDING_STILL)
            elif work.ending:
                leg.conducting.fleet.stop(work.site, work.ending)
            elif work.is_enough():
                leg.conducting.fleet.stop(work.site, OUTGROWN)
        for work in holdings.startable(now):
            work.stage = Stage.CRAWLING
            leg.conducting.arrive(work.task(wall), _forecast(work))

    def _keep_budget(self, leg: Upkeep, now: float, reports: Sequence[Progress]) -> None:
        changed = leg.keeping.look(now, reports)
        leg.keeping.save(now)
        terms = self.holdings.book.total, self.pages_share
        if (changed or terms != (self._total, self._shared)) and not leg.over:
            self._total, self._shared = terms
            leg.conducting.set_budget(self._capacity(leg.keeping))

    def _capacity(self, keeping: BudgetKeeping) -> Capacity | None:
        own, total = keeping.capacity, self._total
        if own is not None:
            own = own.scaled(self._shared)
        if total is None:
            return own
        leased_part = max(total, _LITTLE)
        return Capacity.constant(leased_part) if own is None else own.at_most(leased_part)

    def _tell_line(self, rate: float, held_back: bool) -> None:
        if self._upkeep is not None:
            self._upkeep.tell_line(rate, held_back)


def line_rate(budget: Budget, wall: float) -> float | None:
    """Bytes per second by the bandwidth alone, without the quota, which is for what is fetched;
    None: no bound."""
    bandwidth = budget.bandwidth
    if isinstance(bandwidth, Timetable):
        return bandwidth.rate_at(datetime.fromtimestamp(wall, UTC))
    return None if math.isinf(bandwidth) else bandwidth


def _note(holdings: Holdings, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
    """Note the progress of running tasks."""
    for report in reports:
        if report.ended is None and (work := holdings.crawled(report.site)):
            work.progress = _as_told(report, granted)


def _stand_still(holdings: Holdings) -> None:
    """At the end of a leg: tasks that have not ended continue in the next."""
    for work in holdings.of(Stage.CRAWLING):
        holdings.set_back(work, work.progress)


def _as_told(report: Progress, granted: Mapping[str, float]) -> Progress:
    """A site without a rate, while others have one, is pausing by our own plan."""
    if not granted.get(report.site) and any(granted.values()):
        return msgspec.structs.replace(report, pausing=True)
    return report


def _forecast(work: Work) -> Forecast:
    expected = work.grant.expected_bytes
    if not expected:
        return Forecast(_UNKNOWN_BYTES, Source.HISTORY, bytes_range=_UNKNOWN_RANGE)
    return Forecast(expected, Source.HISTORY, bytes_range=(expected / 3, expected * 3))
