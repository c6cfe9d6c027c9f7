"""A crawl from end to end on one machine: crawl, plan, archive, report.

    lock the collection ─► new run, or the unfinished one ─► forecasts (history, or a guess)
      ─► node or processes under the manager; beside it, the plan ─► catalog, index, tables, report

Everything that outlives the process is in the collection; after a crash, `crawl` with ``resume``
continues from the journals.

The planner and the sealing are imported where they are called: they bring NumPy and pyarrow, most
of the memory and of the time that a start takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from headgate.control.active_sites import PolicyPort
from headgate.control.catalog import Catalog
from headgate.control.control_loop import ControlLoop
from headgate.control.forecast import Forecast
from headgate.control.learning import Learning
from headgate.control.manager import LOOK_SECONDS, Manager
from headgate.control.run_report import ReportMaking, RunLog, standing
from headgate.control.snapshots import Moment
from headgate.crawling.ports import Clock, Fleet
from headgate.crawling.progress import Progress
from headgate.engine.budget import BudgetKeeping, is_unlimited
from headgate.engine.chosen_policy import followed_policy
from headgate.engine.clock import RunTime, time_left
from headgate.engine.forecasting import forecast_sites
from headgate.engine.parts import Parts
from headgate.engine.runs import JobKind, open_run, report_so_far
from headgate.engine.session import (
    FleetTerms,
    ReportSaving,
    Session,
    mend_crawl_memories,
    open_working_fleet,
)
from headgate.engine.stall_detection import beating
from headgate.engine.wrapping_up import Finished, wrap_up
from headgate.fetching.client import FetcherSettings
from headgate.frontier.scope import host_of
from headgate.model.budget import Budget, QuotaUse
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.plan import Plan
from headgate.model.run_report import RunReport, SiteReport
from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.ignore_rules import save_ignore_rules
from headgate.storage.journals.run_journals import recover_files
from headgate.storage.run_state import RunState, drop_budget, load_budget, load_elapsed

if TYPE_CHECKING:  # few crawls have one queue
    from headgate.crawling.common_queue import KnownSpeed

__all__ = ["CrawlJob", "Watcher", "crawl"]

_FEW_SITES = 100
"""Up to so many sites have journal and WARC files of their own; among more, small ones share."""
_OPENING_SECONDS = 0.25
"""The first connections open in this time; the planning process is started after it."""


class CrawlJob(msgspec.Struct, frozen=True):
    """What is to be crawled, and how."""

    sites: tuple[Site, ...]
    budget: Budget
    out: Path
    fetcher: FetcherSettings
    processes: int = 1
    resume: bool = False
    request: bytes = b""
    """The caller's own description of the job, kept with the run for ``resume``."""
    new_bandwidth: bool = False
    """With ``resume``: the bandwidth was given anew, and replaces what `headgate budget` set."""


class Watcher(Protocol):
    """An observer of a crawl. Called from the event loop, so it must return quickly."""

    def opened(self) -> None:
        """The collection is locked; next come forecasts and the crawl."""
        ...

    def planned(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
        """``plan`` is None for a crawl without a limit, or one that ended before it was made."""
        ...

    def look(self, look: Moment) -> None: ...

    def mended(self, remarks: Sequence[str]) -> None:
        """Something in the collection was lost or damaged and was repaired; a sentence each."""
        ...

    def paused(self, use: QuotaUse, too_late: Sequence[str]) -> None:
        """The quota is used up; ``too_late`` are sites with deadlines before the next period."""
        ...

    def attach(self, control_loop: ControlLoop) -> None:
        """The crawl starts; it can be interrupted from now on."""
        ...


async def crawl(job: CrawlJob, parts: Parts, watcher: Watcher) -> RunReport:
    """Crawl; the report is also in the run's folder."""
    collection = Collection(job.out)
    clock = parts.clock
    with collection.lock():
        _load_weighing(job)
        following = followed_policy(job.budget, job.sites, job.processes)
        started = _moment(clock)
        run = open_run(collection, JobKind.CRAWL, job.request, started, resume=job.resume)
        if job.new_bandwidth:
            drop_budget(run)
        save_ignore_rules(collection.path, job.sites)
        watcher.opened()
        with parts.open_catalog(collection.catalog) as catalog:
            watcher.mended(mend_crawl_memories(collection, run, catalog, job.sites))
            catalog.begin_run(run.stamp, clock.wall(), job.request.decode() or "{}")
            return await _Crawl(
                job, run, catalog=catalog, parts=parts, watcher=watcher, following=following
            ).run()


class _Crawl:
    """One call of `crawl`: holds what its steps share."""

    def __init__(
        self,
        job: CrawlJob,
        run: RunFolder,
        catalog: Catalog,
        parts: Parts,
        watcher: Watcher,
        following: PolicyPort | None,
    ) -> None:
        self._job = job
        self._run = run
        self._catalog = catalog
        self._parts = parts
        self._watcher = watcher
        self._following = following
        self._named = {site.name: site for site in job.sites}
        earlier = report_so_far(run, under_way=False)
        self._time = RunTime(parts.clock, load_elapsed(run))
        load_budget(run)  # refuses a damaged file before anything is fetched
        self._log = RunLog.of(run.stamp, parts.clock.wall(), earlier, self._time.earlier)
        self._log.policy = "" if following is None else following.name
        self._log.order, self._log.zone = job.budget.order, job.budget.timetable_zone
        self._saving = ReportSaving(RunState(run), self._make_report, parts.clock.cpu)
        self._tables = parts.tables_beside(run)
        self._plan: Plan | None = None
        self._leg: Session | None = None

    async def run(self) -> RunReport:
        with contextlib.closing(self._tables):
            try:
                async with beating(self._time.clocks) as watch:
                    self._log.stalls = watch.stalls
                    await self._crawl()
            except BaseException:
                with contextlib.suppress(WorldFault):  # the first fault is the one to tell
                    await self._end_leg(interrupted=True)
                    if self._leg is not None:
                        self._leg.keeping.save_use()
                raise
            assert self._leg is not None
            tables_written = self._tables.begin()
            await self._end_leg(interrupted=bool(self._leg.control_loop.interrupted))
            return await asyncio.to_thread(self._wrap_up, self._leg, tables_written)

    async def _end_leg(self, *, interrupted: bool) -> None:
        self._log.seconds, self._log.interrupted = self._time.now, interrupted
        await self._saving.end(self._time.now)

    async def _crawl(self) -> None:
        job, clock = self._job, self._parts.clock
        sites = self._with_time_left(self._time.earlier)
        learning = Learning.of(self._catalog, job.budget.calendar, sites)
        self._saving.state.save(self._time.now)
        forecasts = forecast_sites(
            sites, job.budget, self._catalog, Collection(job.out), _moment(clock)
        )
        keeping = BudgetKeeping(job.budget, self._run, self._catalog, clock, self._watcher.mended)
        sites = self._with_time_left(self._time.now)
        manager = Manager.of(
            _by_deadline(sites), forecasts, keeping.capacity, job.budget.crawlers, self._following
        )
        self._log.budget_is(self._time.now, keeping.rate_at(0.0))
        self._saving.begin(self._time.now)
        async with self._fleet(manager) as fleet:
            control_loop = ControlLoop(manager, fleet, clock, self._look, beside=asyncio.to_thread)
            self._leg = leg = Session(control_loop, keeping, learning)
            self._watcher.attach(control_loop)
            planning = asyncio.create_task(self._plan_beside(leg, forecasts))
            await control_loop.run()
            if control_loop.interrupted or self._following is None:
                planning.cancel()  # too late to lead; a user's policy is still held against it
            with contextlib.suppress(asyncio.CancelledError):
                await planning
            learning.finish(fleet.servers(), self._time.awake(control_loop.now), clock.wall())

    def _open_sites(self) -> list[Site]:
        """Sites that an earlier leg did not settle; a later deadline reopens a stopped one."""
        settled = {
            site.name: site.state for site in self._log.earlier_sites.values() if site.settled
        }
        elapsed = self._time.earlier
        return [
            site
            for site in self._job.sites
            if settled.get(site.name) != "done"
            and (site.name not in settled or site.deadline is None or site.deadline > elapsed)
        ]

    def _with_time_left(self, elapsed: float) -> list[Site]:
        started = self._log.started
        return [time_left(site, elapsed, started.get(site.name)) for site in self._open_sites()]

    def _make_report(self) -> ReportMaking:
        return ReportMaking(self._job.sites, self._job.budget.crawlers, self._plan, self._log)

    async def _plan_beside(self, leg: Session, forecasts: Mapping[str, Forecast]) -> None:
        """Plan while the crawl runs. It starts with the sites in order of deadline, since planning
        takes a second and waits for first looks at unknown sites."""
        control_loop, manager = leg.control_loop, leg.control_loop.manager
        while not (manager.sites.looks.over or control_loop.interrupted):
            await asyncio.sleep(LOOK_SECONDS)
        if is_unlimited(self._job.budget) or manager.done or control_loop.interrupted:
            self._watcher.planned(None, forecasts)
            return
        left, caps, use = manager.sites.left, manager.sites.caps, leg.keeping.quota_use()
        start, now = _moment(self._parts.clock), self._time.now
        await asyncio.sleep(max(_OPENING_SECONDS - control_loop.now, 0.0))
        from headgate.control.completion_forecast import with_what_is_left  # here: few starts plan

        known = with_what_is_left(forecasts, left, caps)
        used = 0.0 if use is None else use.used
        try:
            self._plan = await self._parts.make_plan(
                self._job.sites, self._job.budget, known, start, now, used
            )
        except (HeadgateError, OSError) as fault:  # no reason to lose what is being crawled
            self._watcher.mended([f"There is no plan to compare with: {fault}."])
            return
        if not manager.done:
            self._watcher.planned(self._plan, known)
        if not control_loop.interrupted and self._following is None:
            control_loop.follow(self._plan.order)

    def _fleet(self, manager: Manager) -> AbstractAsyncContextManager[Fleet]:
        job = self._job
        many = len(job.sites) > _FEW_SITES
        terms = FleetTerms(
            job.out, self._run.stamp, job.fetcher, many, job.processes,
            borrowing=self._following is None, one_queue=True,
            servers=_known_speeds(job, self._catalog),
            remembering=len(job.sites) > 1,  # else while its tables are written
        )  # fmt: skip
        return open_working_fleet(
            self._parts, terms, job.budget, manager.sites.bytes_left, self._tell_line
        )

    def _tell_line(self, rate: float, held_back: bool) -> None:
        if self._leg is not None:
            self._leg.tell_line(rate, held_back)

    def _look(self, now: float, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
        assert self._leg is not None
        log, leg, run_now = self._log, self._leg, self._time.now
        if leg.way is not None:
            log.made_way_seconds, log.left_to_others = leg.way.given_seconds, leg.way.given_bytes
        if self._following is not None:
            log.policy_fault = self._following.fault
        start = self._time.start
        begun = {site: at - start for site, at in leg.control_loop.begun.items()}
        measured = log.look(run_now, reports, begun)
        if len(log.started) == len(self._named):
            self._tables.look(log.progress.values(), run_now)
        self._keep_budget(now, reports)
        events = len(log.started) + len(log.finished)
        self._saving.look(run_now, events, log.samples.came)
        leg.keeping.save(run_now)
        by_page = self._following is not None and self._following.by_page
        granted = {} if by_page else granted
        leg.learn(reports, granted, self._time.awake(now), self._parts.clock.wall())
        rate = leg.keeping.rate_at(now)
        log.budget_is(run_now, rate)
        use, ends = leg.keeping.use, leg.control_loop.manager.sites.ends
        self._watcher.look(
            Moment(
                run_now,
                reports,
                granted=granted,
                measured=measured,
                budget=rate,
                making_way=leg.making_way,
                quota=use,
                standing=self._standing,
                ends={site: run_now + end - now for site, end in ends.items()},
            )
        )

    def _keep_budget(self, now: float, reports: Sequence[Progress]) -> None:
        assert self._leg is not None
        leg = self._leg
        leg.keep_budget(now, reports)
        self._log.quota = leg.keeping.use
        use = None if leg.over else leg.keeping.pause_began()
        if use is not None:
            ends = self._time.now + (use.resets - use.moment).total_seconds()
            self._watcher.paused(use, [site.name for site in self._too_late_by(ends)])

    def _standing(self, names: Sequence[str] | None) -> Sequence[SiteReport]:
        sites = self._job.sites if names is None else [self._named[name] for name in names]
        return standing(sites, self._log)

    def _too_late_by(self, end: float) -> list[Site]:
        """Unfinished sites whose deadlines come before ``end``."""
        return [
            site for site in self._job.sites
            if site.deadline is not None and site.deadline < end
            and site.name not in self._log.finished
        ]  # fmt: skip

    def _wrap_up(self, leg: Session, tables_written: Callable[[], bool] | None) -> RunReport:
        report = self._make_report().whole()
        finished = Finished(report, self._log.progress, leg.learning.alphas.alpha)
        # What a kill left of sites that were not opened again; it reads all journals.
        remarks = recover_files(self._run) if self._job.resume else []
        remarks += wrap_up(
            self._run, self._catalog, finished, self._parts.clock.wall(), leg.keeping,
            tables_written=tables_written,
        )  # fmt: skip
        self._watcher.mended(remarks)
        return report


def _known_speeds(job: CrawlJob, catalog: Catalog) -> tuple[KnownSpeed, ...]:
    """Speeds of the seeds' hosts, for one queue over all sites."""
    if job.budget.order is None:
        return ()
    hosts = dict.fromkeys(host_of(seed) for site in job.sites for seed in site.seeds)
    found = [(host, catalog.address(host)) for host in hosts]
    speeds = [(host, at, catalog.server(at)) for host, at in found if at is not None]
    return tuple((host, at, speed) for host, at, speed in speeds if speed is not None)


def _load_weighing(job: CrawlJob) -> None:
    """Load NumPy before the event loop starts, if rates of several sites are to be weighed: it
    takes a quarter of a second, in which the loop would stand still."""
    several = len(job.sites) > 1 or any(site.deadline is not None for site in job.sites)
    if several and not is_unlimited(job.budget):
        import headgate.scheduling.completion_times
        import headgate.scheduling.deadline_guard
        import headgate.scheduling.order_repair  # noqa: F401


def _moment(clock: Clock) -> datetime:
    return datetime.fromtimestamp(clock.wall(), UTC)


def _by_deadline(sites: Sequence[Site]) -> list[Site]:
    return sorted(sites, key=lambda site: math.inf if site.deadline is None else site.deadline)
