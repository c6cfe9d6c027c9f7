"""One leg of whatever runs: its time, its budget, what it learns and saves, and what conducts it.

    RunRecord    the run's time, log, stalls and report so far    a crawl, a grid's manager
    SavedTime    the run's time alone                             a survey, here or by nodes
    Accounting   bytes against the budget, speeds of servers      all of them, a keeper, a node
    Session      a fleet under a control loop                     a crawl, a keeper, a node

A feature keeps what is its own: which sites, what happens at a look, and what the end is.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec
from msgspec import structs

from headgate.bandwidth.make_way import MakingWay
from headgate.bandwidth.server_tally import ServerTally
from headgate.control.catalog import Catalog
from headgate.control.control_loop import ControlLoop, Observe
from headgate.control.learner import Learner
from headgate.control.manager import LOOK_SECONDS, Manager
from headgate.control.run_report import ReportBuilder, RunLog, standing
from headgate.control.snapshots import Moment
from headgate.crawling.background_tasks import Pieces, at_one_go, metered
from headgate.crawling.ports import Clock, Fleet, MachineClock
from headgate.crawling.progress import Progress
from headgate.engine.background_fleet import YieldingFleet
from headgate.engine.budget import BudgetKeeper
from headgate.engine.clock import RunTime
from headgate.engine.node import NodeJob
from headgate.engine.parts import Parts
from headgate.engine.stall_detection import beating
from headgate.model.budget import Budget, QuotaUse
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.plan import Plan
from headgate.model.run_report import RunReport, SiteReport
from headgate.model.score_order import ScoreOrder
from headgate.model.site import Site
from headgate.scheduling.capacity import Capacity
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.memory.remembering import mend_memories
from headgate.storage.run_state import (
    SAVE_SECONDS,
    RunState,
    encoded_report,
    load_budget,
    load_elapsed,
)

__all__ = [
    "Accounting",
    "ReportSaver",
    "RunRecord",
    "SavedTime",
    "Session",
    "conducting",
    "mend_crawl_memories",
    "open_session",
    "saved_time",
]

_NO_RATES: Mapping[str, float] = MappingProxyType({})


class Accounting:
    """What one leg did with its budget, and what it learned: bytes that arrived, and the speeds of
    the servers that they came from.

    Times are seconds since the leg began.
    """

    def __init__(
        self,
        run: RunFolder,
        catalog: Catalog,
        budget: Budget,
        time: RunTime | MachineClock,
        tell: Callable[[Sequence[str]], None],
        sites: Sequence[Site] = (),
    ) -> None:
        """``time`` is the run's; of what is no run, the clock. ``run``: where `headgate budget`
        leaves a rate. ``sites``: those whose visits are compared with their servers' speeds."""
        self.time = time if isinstance(time, RunTime) else RunTime(time, 0.0)
        self.budget_keeper = BudgetKeeper(budget, run, catalog, self.time.clock, tell)
        self._learner = Learner.start(catalog, budget.calendar, sites)

    def observe(
        self,
        now: float,
        servers: Mapping[str, ServerTally],
        reports: Sequence[Progress],
        granted: Mapping[str, float] = _NO_RATES,
    ) -> bool:
        """Count what arrived, and learn from it; whether the budget has changed."""
        changed = self.budget_keeper.observe(now, reports)
        self.budget_keeper.save(now)
        self._learner.observe(servers, reports, granted, self.time.awake(now), self._wall)
        return changed

    def finish(self, now: float, servers: Mapping[str, ServerTally]) -> None:
        """The leg is over: save what was counted and learned."""
        self.budget_keeper.save_use()
        self._learner.finish(servers, self.time.awake(now), self._wall)

    def least_rate(self, seconds: float) -> float | None:
        """The lowest rate of the budget in the next ``seconds``; None: unlimited."""
        return self.budget_keeper.least_rate(self.time.leg_now, seconds)

    def alpha(self, site: str) -> float | None:
        """How much longer this visit of a site took than its bytes; None: not known."""
        return self._learner.alphas.alpha(site)

    @property
    def _wall(self) -> float:
        return self.time.clock.wall()


class Session(msgspec.Struct, frozen=True):
    """A fleet under a control loop, from its first fetch to its last, within its budget."""

    control_loop: ControlLoop
    accounting: Accounting
    _capacity: Callable[[], Capacity | None]

    async def conduct(self) -> None:
        """Run to the end of the leg; after a fault the fleet is closed first."""
        try:
            await self.control_loop.run()
        except BaseException:
            with contextlib.suppress(Exception):  # the first fault is the one to tell
                await self.control_loop.fleet.close("a fault")
            raise

    def observe(
        self, now: float, reports: Sequence[Progress], granted: Mapping[str, float]
    ) -> None:
        """Account for what arrived, and pass on the budget if it has changed."""
        servers = self.control_loop.fleet.servers()
        if self.accounting.observe(now, servers, reports, granted):
            self.renew_budget()

    def renew_budget(self) -> None:
        """What may pass has changed."""
        if not self.over:
            self.control_loop.set_budget(self._capacity())

    @property
    def budget_keeper(self) -> BudgetKeeper:
        return self.accounting.budget_keeper

    @property
    def way(self) -> MakingWay | None:
        fleet = self.control_loop.fleet
        return fleet.way if isinstance(fleet, YieldingFleet) else None

    @property
    def making_way(self) -> bool:
        return self.way is not None and self.way.making_way

    @property
    def over(self) -> bool:
        """Whether the leg has ended, so that nothing can be passed on."""
        done = self.control_loop.manager.done and not self.control_loop.endless
        return done or bool(self.control_loop.interrupted)

    def tell_line(self, rate: float, held_back: bool) -> None:
        """What the line has for us, and whether we are held below it at the moment."""
        if not self.over:
            self.control_loop.set_line(rate, held_back=held_back)


SessionObserve = Callable[[Session, float, Sequence[Progress], Mapping[str, float]], None]
"""As `headgate.control.control_loop.Observe`, of a session."""


@contextlib.asynccontextmanager
async def open_session(
    accounting: Accounting,
    manager: Manager,
    job: NodeJob,
    parts: Parts,
    observe: SessionObserve,
    *,
    capacity: Callable[[], Capacity | None] | None = None,
    processes: int = 1,
    endless: bool = False,
    look_seconds: float = LOOK_SECONDS,
) -> AsyncIterator[Session]:
    """A fleet and its control loop, which the caller runs. If the budget says so, the fleet yields
    to others on the line. ``capacity``: what may pass from now on, if it is not the budget alone.

    However it ends, what was counted and learned is saved."""
    budget = accounting.budget_keeper.budget
    fetcher = structs.replace(job.fetcher, smooth=budget.make_way)
    job = structs.replace(job, fetcher=fetcher, calendar=budget.calendar)
    async with contextlib.AsyncExitStack() as stack:
        opened = parts.open_fleet(job, manager.sites.bytes_left, processes)
        measured = await stack.enter_async_context(opened)
        floor, yielding = budget.make_way_floor, None
        if budget.make_way:
            yielding = YieldingFleet(measured, parts.open_prober, floor=floor)

        def pass_on(now: float, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
            observe(session, now, reports, granted)

        control_loop = conducting(
            manager,
            yielding or measured,
            parts.clock,
            pass_on,
            endless=endless,
            look_seconds=look_seconds,
        )
        capacity = capacity or (lambda: accounting.budget_keeper.capacity)
        session = Session(control_loop, accounting, capacity)
        if yielding is not None:
            await stack.enter_async_context(yielding.at_work(session.tell_line))
        try:
            yield session
        except BaseException:
            with contextlib.suppress(HeadgateError):  # the first fault is the one to tell
                accounting.finish(control_loop.now, control_loop.fleet.servers())
            raise
        accounting.finish(control_loop.now, control_loop.fleet.servers())


def conducting(
    manager: Manager,
    fleet: Fleet,
    clock: Clock,
    observe: Observe,
    *,
    endless: bool = False,
    look_seconds: float = LOOK_SECONDS,
) -> ControlLoop:
    """A control loop that decides in a thread, beside the event loop."""
    return ControlLoop(
        manager,
        fleet,
        clock=clock,
        observe=observe,
        look_seconds=look_seconds,
        beside=asyncio.to_thread,
        endless=endless,
    )


@dataclass(frozen=True, slots=True)
class SavedTime:
    """The time of a run without a report so far."""

    time: RunTime
    state: RunState

    def save(self) -> None:
        self.state.save(self.time.now)


@contextlib.asynccontextmanager
async def saved_time(run: RunFolder, clock: MachineClock) -> AsyncIterator[SavedTime]:
    """Refuses a damaged budget before anything is fetched."""
    load_budget(run)
    saved = SavedTime(RunTime(clock, load_elapsed(run)), RunState(run))
    saved.save()
    try:
        yield saved
    finally:
        with contextlib.suppress(WorldFault):  # the first fault is the one to tell
            await saved.state.end(saved.time.now)


class RunRecord:
    """The course of one leg of a run: its time, its log with the stalls of the machine, and the
    report so far, which is saved while it runs.

    Times are those of the run, earlier legs included.
    """

    def __init__(
        self,
        run: RunFolder,
        clock: MachineClock,
        sites: Sequence[Site],
        budget: Budget,
        earlier: RunReport | None,
        *,
        policy: str = "",
        order: ScoreOrder | None = None,
    ) -> None:
        """``earlier``: the report of the legs before. ``order``: that of a queue over all sites.

        Refuses a damaged budget before anything is fetched."""
        self.time = RunTime(clock, load_elapsed(run))
        load_budget(run)
        self.log = RunLog.start_leg(
            run.stamp,
            clock.wall(),
            earlier,
            self.time.earlier,
            policy=policy,
            order=order,
            zone=budget.timetable_zone,
        )
        self._sites = sites
        self._named: dict[str, Site] = {}
        """All sites by name; filled on first use."""
        self._crawlers = budget.crawlers
        self._plan: Plan | None = None
        self._state = RunState(run)
        self._saving = ReportSaver(self._state, self.report, clock.cpu)
        self._ended = False

    @contextlib.asynccontextmanager
    async def under_way(self) -> AsyncIterator[None]:
        """Within the context stalls are detected. The caller says `end`; after a fault, the leg
        ends as interrupted."""
        try:
            async with beating(self.time.clocks, self.log.stalls):
                yield
        except BaseException:
            with contextlib.suppress(WorldFault):  # the first fault is the one to tell
                await self.end(interrupted=True)
            raise

    def save_time(self) -> None:
        self._state.save(self.time.now)

    def begin(self, rate: float | None) -> None:
        """Before the first byte. ``rate``: of the budget; None: unlimited."""
        self.log.budget_is(self.time.now, rate)
        self._saving.begin(self.time.now)

    def promise(self, plan: Plan) -> None:
        """The plan that the report compares with."""
        self._plan = plan

    def observe(
        self,
        reports: Sequence[Progress],
        begun: Mapping[str, float],
        rate: float | None,
        quota: QuotaUse | None,
    ) -> dict[str, float]:
        """Record a look; returns the rates of sites since the last one. ``begun``: when their tasks
        were started. ``rate``, ``quota``: the budget now."""
        now = self.time.now
        self.log.budget_is(now, rate, quota)
        return self.log.observe(now, reports, begun)

    def saving(self) -> Pieces[None]:
        """Save what is due, in pieces, between which nothing may change that is recorded."""
        log = self.log
        return self._saving.save_in_pieces(
            log.seconds, len(log.started) + len(log.finished), log.samples.came
        )

    def moment(
        self,
        reports: Sequence[Progress],
        measured: Mapping[str, float],
        granted: Mapping[str, float] = _NO_RATES,
        ends: Mapping[str, float] = _NO_RATES,
        *,
        making_way: bool = False,
    ) -> Moment:
        """As of the last look."""
        return Moment(
            self.log.seconds,
            reports,
            granted=granted,
            measured=measured,
            budget=self.log.budget_changes[-1][1],
            making_way=making_way,
            quota=self.log.quota,
            standing=self._standing,
            ends=ends,
        )

    async def end(self, *, interrupted: bool) -> None:
        """The leg is over; saved when this returns. Only the first end counts."""
        if not self._ended:
            self._ended = True
            self.log.end(self.time.now, interrupted=interrupted)
            await self._saving.end(self.time.now)

    def report(self) -> ReportBuilder:
        return ReportBuilder(self._sites, self._crawlers, self._plan, self.log)

    def _standing(self, names: Sequence[str] | None) -> Sequence[SiteReport]:
        if names is None:
            return standing(self._sites, self.log)
        self._named = self._named or {site.name: site for site in self._sites}
        return standing([self._named[name] for name in names], self.log)


_SAVE_REPORT_SECONDS = 10.0
_MOST_SAVING = 0.01
"""Share of the time that may go into making reports to save."""


class ReportSaver(msgspec.Struct):
    """Decides when a running crawl saves its elapsed time and its report so far.

    The time is saved every two seconds. The report is saved when a site begins or ends, and from
    time to time while bytes arrive, but so rarely that making it takes at most 1 % of the time: for
    ten thousand sites it takes a tenth of a second, for a hundred thousand one second. Nodes wait
    for a manager meanwhile, so it makes its report in pieces.

    The saving of one leg.
    """

    state: RunState
    make_report: Callable[[], ReportBuilder]
    cpu: Callable[[], float]
    """CPU seconds that this process has used."""
    _saved: float = -math.inf
    _report_saved: float = -math.inf
    _report_cost: float = 0.0
    _told: tuple[int, int] = (0, 0)
    """Starts and ends of sites in the report saved last, and bytes that had arrived."""

    def save_if_due(self, now: float, events: int, came: int) -> None:
        """Save what is due. ``events`` counts starts and ends of sites, ``came`` bytes."""
        at_one_go(self.save_in_pieces(now, events, came))

    def save_in_pieces(self, now: float, events: int, came: int) -> Pieces[None]:
        """The same in pieces, between which nothing may change that the report is made of."""
        if now - self._saved < SAVE_SECONDS:
            return
        self._saved = now
        self.state.save(now)
        wait = _SAVE_REPORT_SECONDS if events == self._told[0] else 0.0
        rested = now - self._report_saved >= max(wait, self._report_cost / _MOST_SAVING)
        if rested and self._told != (events, came):
            self._told = events, came
            report = yield from self._report(now)
            self.state.save(now, report)

    def begin(self, now: float) -> None:
        """Before the first byte. This report is the first that costs time."""
        self.state.save(now, at_one_go(self._report(now)))

    async def end(self, now: float) -> None:
        """The leg is over; saved when this returns. Made in one go: this report is the one that
        counts, and nothing may come between."""
        await self.state.end(now, at_one_go(self._encoded(under_way=False)))

    def _report(self, now: float) -> Pieces[bytearray]:
        self._report_saved, self._report_cost = now, 0.0
        return (yield from metered(self._encoded(under_way=True), self.cpu, self._spend))

    def _encoded(self, *, under_way: bool) -> Pieces[bytearray]:
        making = self.make_report()

        def rest() -> RunReport:
            return msgspec.structs.replace(making.rest(), under_way=under_way)

        return encoded_report(making.some_sites(), rest)

    def _spend(self, seconds: float) -> None:
        self._report_cost += seconds


def mend_crawl_memories(
    collection: Collection, run: RunFolder, catalog: Catalog, sites: Sequence[Site]
) -> list[str]:
    """Repairs the memories of sites before a crawl relies on them.

    What was repaired, a sentence each. Without a catalog, any site may have been visited.
    """
    known = any(known.stamp != run.stamp for known in catalog.runs())
    others = len(collection.runs()) > 1

    def visited(site: str) -> bool:
        visits = catalog.history(site, limit=2)
        return any(visit.run != run.stamp for visit in visits) if known else others

    return mend_memories(collection, [site.name for site in sites], visited)
