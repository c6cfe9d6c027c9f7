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
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from headgate.control.active_sites import PolicyPort
from headgate.control.catalog import Catalog
from headgate.control.control_loop import ControlLoop
from headgate.control.forecast import Forecast
from headgate.control.manager import LOOK_SECONDS, Manager
from headgate.control.snapshots import Moment
from headgate.crawling.background_tasks import at_one_go
from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.engine.budget import is_unlimited
from headgate.engine.chosen_policy import followed_policy
from headgate.engine.clock import time_left
from headgate.engine.forecasts import forecast_sites
from headgate.engine.node import NodeJob
from headgate.engine.parts import Parts
from headgate.engine.runs import JobKind, open_run, report_so_far
from headgate.engine.session import (
    Accounting,
    RunRecord,
    Session,
    mend_crawl_memories,
    open_session,
)
from headgate.engine.watcher import Watcher
from headgate.engine.wrapping_up import Finished, wrap_up
from headgate.fetching.client import FetcherSettings
from headgate.frontier.scope import host_of
from headgate.model.budget import Budget, QuotaUse
from headgate.model.errors import HeadgateError
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.ignore_rules import save_ignore_rules
from headgate.storage.journals.run_journals import recover_files
from headgate.storage.run_state import drop_budget

if TYPE_CHECKING:  # few crawls have one queue
    from headgate.crawling.common_queue import KnownSpeed

__all__ = ["CrawlJob", "CrawlWatcher", "crawl"]

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


CrawlWatcher: TypeAlias = Watcher[ControlLoop, Moment]


async def crawl(job: CrawlJob, parts: Parts, watcher: CrawlWatcher) -> RunReport:
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
        watcher.on_open()
        with parts.open_catalog(collection.catalog) as catalog:
            watcher.on_messages(mend_crawl_memories(collection, run, catalog, job.sites))
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
        watcher: CrawlWatcher,
        following: PolicyPort | None,
    ) -> None:
        self._job = job
        self._run = run
        self._catalog = catalog
        self._parts = parts
        self._watcher = watcher
        self._following = following
        self._record = RunRecord(
            run,
            parts.clock,
            job.sites,
            job.budget,
            report_so_far(run, under_way=False),
            policy="" if following is None else following.name,
            order=job.budget.order,
        )
        self._tables = parts.tables_beside(run)

    async def run(self) -> RunReport:
        with contextlib.closing(self._tables):
            async with self._record.under_way():
                session = await self._crawl()
            tables_written = self._tables.begin()
            await self._record.end(interrupted=bool(session.control_loop.interrupted))
            return await asyncio.to_thread(self._wrap_up, session, tables_written)

    async def _crawl(self) -> Session:
        job, record, parts = self._job, self._record, self._parts
        record.save_time()
        sites = self._with_time_left(record.time.earlier)
        forecasts = forecast_sites(
            sites, job.budget, self._catalog, Collection(job.out), _moment(parts.clock)
        )
        accounting = Accounting(
            self._run,
            self._catalog,
            job.budget,
            record.time,
            self._watcher.on_messages,
            sites=sites,
        )
        manager = Manager.from_sites(
            _by_deadline(self._with_time_left(record.time.now)),
            forecasts,
            accounting.budget_keeper.capacity,
            job.budget.crawlers,
            self._following,
        )
        record.begin(accounting.budget_keeper.rate_at(0.0))
        async with open_session(
            accounting, manager, self._node_job(), parts, self._observe, processes=job.processes
        ) as session:
            self._watcher.on_start(session.control_loop)
            planning = asyncio.create_task(self._plan_beside(session, forecasts))
            await session.control_loop.run()
            if session.control_loop.interrupted or self._following is None:
                planning.cancel()  # too late to lead; a user's policy is still held against it
            with contextlib.suppress(asyncio.CancelledError):
                await planning
        return session

    def _open_sites(self) -> list[Site]:
        """Sites that an earlier leg did not settle; a later deadline reopens a stopped one."""
        earlier = self._record.log.earlier_sites.values()
        settled = {site.name: site.state for site in earlier if site.settled}
        elapsed = self._record.time.earlier
        return [
            site
            for site in self._job.sites
            if settled.get(site.name) != "done"
            and (site.name not in settled or site.deadline is None or site.deadline > elapsed)
        ]

    def _with_time_left(self, elapsed: float) -> list[Site]:
        started = self._record.log.started
        return [time_left(site, elapsed, started.get(site.name)) for site in self._open_sites()]

    def _node_job(self) -> NodeJob:
        job = self._job
        return NodeJob(
            job.out,
            self._run.stamp,
            job.fetcher,
            many_sites=len(job.sites) > _FEW_SITES,
            borrowing=self._following is None,
            order=job.budget.order,
            servers=_known_speeds(job, self._catalog),
            remembering=len(job.sites) > 1,  # else while its tables are written
        )

    async def _plan_beside(self, session: Session, forecasts: Mapping[str, Forecast]) -> None:
        """Plan while the crawl runs. It starts with the sites in order of deadline, since planning
        takes a second and waits for first looks at unknown sites."""
        control_loop, manager = session.control_loop, session.control_loop.manager
        while not (manager.sites.looks.over or control_loop.interrupted):
            await asyncio.sleep(LOOK_SECONDS)
        if is_unlimited(self._job.budget) or manager.done or control_loop.interrupted:
            self._watcher.on_plan(None, forecasts)
            return
        left, caps, use = manager.sites.left, manager.sites.caps, session.budget_keeper.quota_use()
        start, now = _moment(self._parts.clock), self._record.time.now
        await asyncio.sleep(max(_OPENING_SECONDS - control_loop.now, 0.0))
        from headgate.control.completion_forecast import with_what_is_left  # here: few starts plan

        known = with_what_is_left(forecasts, left, caps)
        used = 0.0 if use is None else use.used
        try:
            plan = await self._parts.make_plan(
                self._job.sites, self._job.budget, known, start, now, used
            )
        except (HeadgateError, OSError) as fault:  # no reason to lose what is being crawled
            self._watcher.on_messages([f"There is no plan to compare with: {fault}."])
            return
        self._record.promise(plan)
        if not manager.done:
            self._watcher.on_plan(plan, known)
        if not control_loop.interrupted and self._following is None:
            control_loop.follow(plan.order)

    def _observe(
        self,
        session: Session,
        now: float,
        reports: Sequence[Progress],
        granted: Mapping[str, float],
    ) -> None:
        record, control_loop, following = self._record, session.control_loop, self._following
        if following is not None and following.by_page:
            granted = {}
        session.observe(now, reports, granted)
        if session.way is not None:
            record.log.made_way(session.way.given_seconds, session.way.given_bytes)
        if following is not None:
            record.log.policy_failed(following.fault)
        keeping, start = session.budget_keeper, record.time.start
        begun = {site: at - start for site, at in control_loop.begun.items()}
        measured = record.observe(reports, begun, keeping.rate_at(now), keeping.use)
        run_now = record.log.seconds
        if len(record.log.started) == len(self._job.sites):
            self._tables.start_if_near(record.log.progress.values(), run_now)
        at_one_go(record.saving())
        if not session.over and (use := keeping.pause_began()) is not None:
            self._watcher.on_pause(use, self._too_late_for(use))
        ends = control_loop.manager.sites.ends
        self._watcher.on_progress(
            record.moment(
                reports,
                measured,
                granted=granted,
                making_way=session.making_way,
                ends={site: run_now + end - now for site, end in ends.items()},
            )
        )

    def _too_late_for(self, pause: QuotaUse) -> list[str]:
        """Unfinished sites whose deadlines come before the end of a pause."""
        ends = self._record.time.now + (pause.resets - pause.moment).total_seconds()
        finished = self._record.log.finished
        return [
            site.name for site in self._job.sites
            if site.deadline is not None and site.deadline < ends and site.name not in finished
        ]  # fmt: skip

    def _wrap_up(self, session: Session, tables_written: Callable[[], bool] | None) -> RunReport:
        report = self._record.report().whole()
        finished = Finished(report, self._record.log.progress, session.accounting.alpha)
        # What a kill left of sites that were not opened again; it reads all journals.
        remarks = recover_files(self._run) if self._job.resume else []
        remarks += wrap_up(
            self._run, self._catalog, finished, self._parts.clock.wall(), session.budget_keeper,
            tables_written=tables_written,
        )  # fmt: skip
        self._watcher.on_messages(remarks)
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
