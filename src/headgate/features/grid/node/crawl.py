"""Crawls a node's tasks while their leases are valid."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import msgspec
from msgspec import structs

from headgate.bandwidth.server_tally import ServerTally
from headgate.control.catalog import Catalog
from headgate.control.forecast import Forecast, Source
from headgate.control.manager import Manager
from headgate.crawling.ports import Fetcher, MeasuredFleet, Rates
from headgate.crawling.progress import Progress, TaskState
from headgate.engine.budget import BudgetKeeper
from headgate.engine.node import NodeJob, TaskKinds, open_node
from headgate.engine.parts import Parts
from headgate.engine.session import Accounting, Session, open_session
from headgate.features.grid.node.leased_tasks import LeasedTask, LeasedTasks, Stage
from headgate.features.grid.protocol import Inability
from headgate.features.keep.visit_memory import remember_kept
from headgate.features.survey.task import open_survey_task
from headgate.fetching.client import FetcherSettings
from headgate.frontier.scope import host_of
from headgate.model.budget import Budget
from headgate.model.fetch import Announced, FailureKind, Fetched, FetchFailure, FetchRequest
from headgate.model.run_report import MAX_BYTES, OUTGROWN
from headgate.model.timetable import Timetable
from headgate.scheduling.capacity import Capacity
from headgate.storage.collection import RunFolder

__all__ = ["WorkerLeg", "leased", "line_rate"]

_STANDING_STILL = "its lease is not known to be valid"
_LOST = "another node has it now"
_UNKNOWN_BYTES, _UNKNOWN_RANGE = 8e6, (1e4, 1e9)
_LITTLE = 1.0
"""Bytes per second: the planner needs a budget above 0."""


@dataclass(slots=True)
class WorkerLeg:
    """A leg of a node: crawls its tasks while their leases are valid, with the manager and the
    fleet of a crawl on one machine.

    Twice a second, and when a task was granted: sites whose lease is not known to be valid are
    stopped, those that may be crawled are started, and the budget is set to the smaller of the
    owner's and the leased part.
    """

    budget: Budget
    leased_tasks: LeasedTasks
    catalog: Catalog
    parts: Parts
    notify: Callable[[Sequence[str]], None]
    ended: Callable[[], None]
    """Called when a task has ended: there is a result to deliver, and a slot is free."""
    look_seconds: float
    forbidden: Callable[[str], str] = lambda _: ""
    """Why the owner lets no request go to a URL; empty: it may be sent."""
    cannot: Callable[[LeasedTask, Inability, str], None] = lambda *_: None
    """Called when a task has ended that this node cannot do: nothing of it could be asked for."""
    interrupted: str = ""
    pages_share: float = 1.0
    """The part of the owner's rate that is for pages; the rest is for the manager."""
    _forbidden: dict[str, tuple[Inability, str]] = field(default_factory=dict)
    """By task, why a request of it was not sent from here."""
    _session: Session | None = None
    _total: float | None = None
    _shared: float = 1.0
    """`pages_share` as it was when the budget was last set."""

    async def run(self, settings: FetcherSettings) -> None:
        """Until it is interrupted; raises faults of this machine."""
        home = self.leased_tasks.home
        accounting = Accounting(
            RunFolder(home, ""), self.catalog, self.budget, self.parts.clock, self.notify
        )
        self._total, self.interrupted = self.leased_tasks.book.total, ""
        self._shared = self.pages_share
        capacity = partial(self._capacity, accounting.budget_keeper)
        manager = Manager.from_sites((), {}, capacity(), self.budget.crawlers)
        kinds = TaskKinds(survey=open_survey_task, keep=remember_kept)
        async with open_session(
            accounting,
            manager,
            NodeJob(home, "", settings, kinds=kinds),
            structs.replace(self.parts, open_fleet=self._open_fleet),
            self._observe,
            capacity=capacity,
            endless=True,
            look_seconds=self.look_seconds,
        ) as session:
            self._session = session
            session.control_loop.interrupt(self.interrupted)
            try:
                await session.conduct()
            finally:
                _stand_still(self.leased_tasks)
                self._session = None

    def own_rate(self) -> float | None:
        """Bytes per second that the owner allows now; None: no bound."""
        if self._session is not None:
            return self._session.budget_keeper.rate_at(self._session.control_loop.now)
        return line_rate(self.budget, self.parts.clock.wall())

    @contextlib.asynccontextmanager
    async def _open_fleet(
        self,
        job: NodeJob,
        left: Callable[[str], float],  # noqa: ARG002 - there is one node for all of them
        processes: int,  # noqa: ARG002 - the gate below is this process's
    ) -> AsyncIterator[MeasuredFleet]:
        """A fleet whose fetcher sends no request without a valid lease."""
        leased_tasks, clock = self.leased_tasks, self.parts.clock
        open_fetcher = leased(
            self.parts.open_fetcher,
            lambda site: leased_tasks.may_fetch(site, clock.now()),
            self.forbidden,
            self._forbidden.__setitem__,
        )
        node = structs.replace(self.parts, open_fetcher=open_fetcher)
        async with open_node(job, node) as fleet:
            yield fleet

    def interrupt(self, why: str) -> None:
        self.interrupted = why
        if self._session is not None:
            self._session.control_loop.interrupt(why)
            self.observe_now()

    def set_pages_share(self, share: float) -> None:
        """It holds at once."""
        self.pages_share = share
        self.observe_now()

    def observe_now(self) -> None:
        """Look at once: a task may be started, or the leased budget has changed."""
        if self._session is not None:
            self._session.control_loop.observe_now()

    def note_progress(self) -> None:
        """Update the progress of tasks, before a heartbeat reports it."""
        if self._session is not None:
            control_loop = self._session.control_loop
            _note(self.leased_tasks, control_loop.fleet.progress(), control_loop.manager.rates)

    def stop(self, work: LeasedTask) -> None:
        """Stop a task that is lost or given back."""
        if self._session is not None and work.stage is Stage.CRAWLING:
            self._session.control_loop.fleet.stop(work.site, _LOST)

    def servers(self) -> Mapping[str, ServerTally]:
        return {} if self._session is None else self._session.control_loop.fleet.servers()

    def _observe(
        self,
        session: Session,
        now: float,
        reports: Sequence[Progress],
        granted: Mapping[str, float],
    ) -> None:
        _note(self.leased_tasks, reports, granted)
        for report in reports:
            if report.ended is not None and (work := self.leased_tasks.crawled(report.site)):
                self._end(session, work, report)
        session.observe(now, reports, granted)
        bounds = self.leased_tasks.book.total, self.pages_share
        if bounds != (self._total, self._shared):
            self._total, self._shared = bounds
            session.renew_budget()
        if not session.over:
            self._stop_and_begin(session)

    def _end(self, session: Session, work: LeasedTask, report: Progress) -> None:
        """A task has ended by itself, or because we stopped it."""
        if report.reason == MAX_BYTES and not work.has_own_bound:
            report = structs.replace(report, reason=OUTGROWN)
        ours = (_STANDING_STILL, _LOST, session.control_loop.interrupted)
        forbidden = self._forbidden.pop(work.site, None)
        if report.state is not TaskState.DONE and report.reason in ours:
            self.leased_tasks.set_back(work, report)
        elif forbidden is not None and _found_nothing(report):
            self.cannot(work, *forbidden)
            self.leased_tasks.set_back(work, report)
        else:
            self.leased_tasks.end(work, report)
        self.ended()

    def _stop_and_begin(self, session: Session) -> None:
        now, wall = self.parts.clock.now(), self.parts.clock.wall()
        leased_tasks = self.leased_tasks
        for work in leased_tasks.in_stage(Stage.CRAWLING):
            if work.lost or not leased_tasks.book.is_good(work.lease, now):
                session.control_loop.fleet.stop(work.site, _LOST if work.lost else _STANDING_STILL)
            elif work.ending:
                session.control_loop.fleet.stop(work.site, work.ending)
            elif work.is_enough():
                session.control_loop.fleet.stop(work.site, OUTGROWN)
        for work in leased_tasks.startable(now):
            work.stage = Stage.CRAWLING
            session.control_loop.arrive(work.task(wall), _forecast(work))

    def _capacity(self, keeping: BudgetKeeper) -> Capacity | None:
        own, total = keeping.capacity, self._total
        if own is not None:
            own = own.scaled(self._shared)
        if total is None:
            return own
        leased_part = max(total, _LITTLE)
        return Capacity.constant(leased_part) if own is None else own.at_most(leased_part)


def _found_nothing(report: Progress) -> bool:
    """Whether a crawl met nothing but what it may not ask for."""
    return not report.pages and set(report.errors) <= {FailureKind.FORBIDDEN_ADDRESS.value}


def line_rate(budget: Budget, wall: float) -> float | None:
    """Bytes per second by the bandwidth alone, without the quota, which is for what is fetched;
    None: no bound."""
    bandwidth = budget.bandwidth
    if isinstance(bandwidth, Timetable):
        return bandwidth.rate_at(datetime.fromtimestamp(wall, UTC))
    return None if math.isinf(bandwidth) else bandwidth


def _note(
    leased_tasks: LeasedTasks, reports: Sequence[Progress], granted: Mapping[str, float]
) -> None:
    """Note the progress of running tasks."""
    for report in reports:
        if report.ended is None and (work := leased_tasks.crawled(report.site)):
            work.progress = _as_told(report, granted)


def _stand_still(leased_tasks: LeasedTasks) -> None:
    """At the end of a leg: tasks that have not ended continue in the next."""
    for work in leased_tasks.in_stage(Stage.CRAWLING):
        leased_tasks.set_back(work, work.progress)


def _as_told(report: Progress, granted: Mapping[str, float]) -> Progress:
    """A site without a rate, while others have one, is pausing by our own plan."""
    if not granted.get(report.site) and any(granted.values()):
        return msgspec.structs.replace(report, pausing=True)
    return report


def _forecast(work: LeasedTask) -> Forecast:
    expected = work.grant.expected_bytes
    if not expected:
        return Forecast(_UNKNOWN_BYTES, Source.HISTORY, bytes_range=_UNKNOWN_RANGE)
    return Forecast(expected, Source.HISTORY, bytes_range=(expected / 3, expected * 3))


_AGAIN_SECONDS = 0.2

OpenFetcher = Callable[[FetcherSettings], AbstractAsyncContextManager[Fetcher]]


@dataclass(frozen=True, slots=True)
class LeasedFetcher:
    """A fetcher that sends no request for a site whose lease this node has lost.

    Timers cannot ensure that: after a sleep of the machine they are all due at once, in any order.
    So the lease is checked at the moment of each request. A request that may not be sent waits
    until its site is stopped, or a heartbeat renews the lease.
    """

    inner: Fetcher
    may_fetch: Callable[[str], bool]
    """Whether a site may fetch now."""
    forbidden: Callable[[str], str]
    """Why a URL is not asked for from this machine: seeds are not all that a task leads to."""
    noted: Callable[[str, tuple[Inability, str]], None]
    """Called with a site of which a request is not sent from here."""

    @property
    def meter(self) -> Rates:
        return self.inner.meter

    @property
    def servers(self) -> Mapping[str, ServerTally]:
        return self.inner.servers

    async def fetch(self, request: FetchRequest) -> Fetched | FetchFailure:
        while not self.may_fetch(request.site):
            await asyncio.sleep(_AGAIN_SECONDS)
        why = self.forbidden(request.url)
        if why:
            self.noted(request.site, (Inability.HOST, why))
            return FetchFailure(request.url, FailureKind.FORBIDDEN_ADDRESS, why)
        outcome = await self.inner.fetch(request)
        if isinstance(outcome, FetchFailure) and outcome.kind is FailureKind.FORBIDDEN_ADDRESS:
            why = f"{host_of(request.url)}: {outcome.detail}, and --allow-private was not given"
            self.noted(request.site, (Inability.PRIVATE_ADDRESS, why))
        return outcome

    def under_way(self, site: str) -> int:
        return self.inner.under_way(site)

    def take_cut_off(self, site: str) -> int:
        return self.inner.take_cut_off(site)

    def announced(self, site: str) -> Announced:
        return self.inner.announced(site)

    def carried(self) -> int:
        return self.inner.carried()

    def connections(self, site: str, url: str, expected_bytes: float) -> int:
        return self.inner.connections(site, url, expected_bytes)


def leased(
    open_fetcher: OpenFetcher,
    may_fetch: Callable[[str], bool],
    forbidden: Callable[[str], str] = lambda _: "",
    noted: Callable[[str, tuple[Inability, str]], None] = lambda *_: None,
) -> OpenFetcher:
    @asynccontextmanager
    async def open_leased(settings: FetcherSettings) -> AsyncIterator[Fetcher]:
        async with open_fetcher(settings) as inner:
            yield LeasedFetcher(inner, may_fetch, forbidden, noted)

    return open_leased
