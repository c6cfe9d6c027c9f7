"""A crawl from end to end on one machine: look, plan, crawl, archive, report.

    lock the collection ─► new run, or the unfinished one ─► forecasts (history, a first look)
      ─► plan ─► node or processes under the manager ─► catalog, index, tables, report

Everything that outlives the process is in the collection; `crawl` may be called again after a crash
with ``resume`` and goes on where the journals stand.

The planner and the sealing are imported where they are called: with them come SciPy and pyarrow,
90 MB together, and most of the time that a start takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from headgate.control.allowance import Allowance
from headgate.control.conducting import Conducting
from headgate.control.forecast import Forecast, Source, forecast
from headgate.control.foresight import plan_ahead
from headgate.control.line_use import LineUse, first_slot
from headgate.control.manager import Manager
from headgate.control.run_report import RunLog, make_report
from headgate.control.scouting import scout_all
from headgate.crawling.clock import SystemClock
from headgate.crawling.page_reading import PageReader
from headgate.crawling.ports import Fleet
from headgate.crawling.progress import Progress, SiteState
from headgate.fetching.http import FetcherSettings, HttpFetcher
from headgate.grid.making_way import MakingWay, MeasuredFleet
from headgate.grid.parts import NodeJob, open_node
from headgate.grid.processes import ProcessFleet
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.plan import Plan
from headgate.model.quota import QuotaUse
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.timetable import Timetable
from headgate.model.units import Seconds
from headgate.planning.capacity import Capacity
from headgate.storage.catalog import Catalog, Outcome, Visit
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.learning import Learning
from headgate.storage.replacing import write_whole
from headgate.storage.site_past import pasts

__all__ = ["CrawlJob", "Watcher", "crawl", "forecast_sites"]

_SAVE_EVERY_SECONDS = 5.0
_CRAWL_WEEKS = 104
"""How far a timetable is unrolled."""


@dataclass(frozen=True, slots=True)
class CrawlJob:
    """What is to be crawled, and how."""

    sites: tuple[Site, ...]
    budget: Budget
    out: Path
    fetcher: FetcherSettings
    processes: int = 1
    resume: bool = False
    request: bytes = b""
    """Whatever the caller needs to ask the same again; kept with the run for ``resume``."""


class Watcher(Protocol):
    """Who looks on. Called from the event loop, so it must not take long."""

    def planned(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None: ...

    def look(
        self,
        now: float,
        reports: Sequence[Progress],
        granted: Mapping[str, float],
        measured: Mapping[str, float],
        budget: float | None,
        *,
        making_way: bool,
    ) -> None: ...

    def paused(self, use: QuotaUse, too_late: Sequence[str]) -> None:
        """The quota is used up; so many deadlines come before the next period."""
        ...

    def attach(self, conducting: Conducting) -> None:
        """The crawl begins; it can be interrupted from now on."""
        ...


async def crawl(job: CrawlJob, watcher: Watcher) -> RunReport:
    """Crawl; the report is also in the run's folder."""
    collection = Collection(job.out)
    clock = SystemClock()
    with collection.lock():
        run = _open_run(collection, job, _moment(clock))
        with Catalog(collection.catalog) as catalog:
            catalog.begin_run(run.stamp, clock.wall(), job.request.decode() or "{}")
            return await _Crawl(job, run, catalog, watcher, clock).run()


async def forecast_sites(
    sites: Sequence[Site],
    budget: Budget,
    settings: FetcherSettings | None,
    catalog: Catalog | None,
    line: LineUse | None = None,
    start: datetime | None = None,
) -> dict[str, Forecast]:
    """What each site will take from ``start`` (now) on: from its history, or a first look where
    there is none, which ``line`` is told the bytes of. A quota that is used up allows no look, nor
    do missing settings."""
    past = pasts(catalog, sites, budget.crawlers)
    unknown = [site for site in sites if site.expect is None and not past[site.name].visits]
    scouted = {}
    clock = SystemClock()
    quota = budget.quota
    spent = line and quota and line.of_quota(quota, clock.wall()).spent
    if unknown and settings is not None and not spent:
        async with HttpFetcher(settings) as fetcher:
            fetcher.meter.set_total(_rate_at(budget, _moment(clock)))
            scouted = await scout_all(unknown, fetcher, PageReader(), budget.crawlers)
            if line is not None:
                line.add(sum(tally.bytes for tally in fetcher.servers.values()), clock.wall())
    return {
        site.name: forecast(
            site,
            past[site.name],
            scouted.get(site.name),
            calendar=budget.calendar,
            instant=start.timestamp() if start else clock.wall(),
        )
        for site in sites
    }


def _rate_at(budget: Budget, now: datetime) -> float:
    if isinstance(budget.bandwidth, Timetable):
        return float(budget.bandwidth.rate_at(now))
    return float(budget.bandwidth)


def _open_run(collection: Collection, job: CrawlJob, started: datetime) -> RunFolder:
    unfinished = collection.unfinished_run()
    if job.resume:
        if unfinished is None:
            raise UserMistake(f"{collection.path} has no unfinished run; leave out --resume")
        return unfinished
    if unfinished is not None and unfinished.load("request") is not None:
        raise UserMistake(
            f"{collection.path} has an unfinished run ({unfinished.stamp});"
            " go on with --resume, or name another folder with --out"
        )
    run = unfinished or collection.new_run(started)  # one killed at birth has nothing to go on with
    run.save("request", job.request)
    return run


@dataclass(slots=True)
class _Crawl:
    """One call of `crawl`: holds what its steps share."""

    job: CrawlJob
    run_folder: RunFolder
    catalog: Catalog
    watcher: Watcher
    clock: SystemClock
    log: RunLog = field(init=False)
    _learning: Learning = field(init=False)
    _plan: Plan | None = None
    _conducting: Conducting | None = None
    _making_way: MakingWay | None = None
    _elapsed: float = 0.0
    _saved: float = -math.inf
    _budget_text: bytes | None = None
    _line: LineUse = field(init=False)
    _allowance: Allowance = field(init=False)
    _paused: bool = False

    async def run(self) -> RunReport:
        self.log = RunLog(self.run_folder.stamp, self.clock.wall())
        self._elapsed = json.loads(self.run_folder.load("elapsed") or b"0")
        sites = [_less_time(site, self._elapsed) for site in self.job.sites]
        self._learning = Learning.of(self.catalog, self.job.budget.calendar, sites)
        self._line = LineUse.of(self._saved_line_use())
        forecasts = await self._forecasts(sites)
        self._plan = self._make_plan(sites, forecasts)
        self.watcher.planned(self._plan, forecasts)
        self._allowance = Allowance(self._unroll, self.clock.wall(), self._quota_use())
        manager = Manager.of(
            _in_order(sites, self._plan), forecasts, self._allowance.capacity,
            self.job.budget.crawlers,
        )  # fmt: skip
        self._note_budget(0.0, manager.capacity)
        async with self._yielding_fleet(sites) as fleet:
            self._conducting = Conducting(manager, fleet, self.clock, self._look)
            self.watcher.attach(self._conducting)
            await self._conducting.run()
            if not self._conducting.interrupted:
                await fleet.close("finished")
            self._learning.finish(fleet.servers(), self.log.seconds, self.clock.wall())
        return await asyncio.to_thread(self._wrap_up)

    async def _forecasts(self, sites: Sequence[Site]) -> dict[str, Forecast]:
        unplanned = self._unlimited and all(site.deadline is None for site in sites)
        if unplanned:
            return {site.name: Forecast(1.0, Source.GUESS) for site in sites}
        return await forecast_sites(
            sites, self.job.budget, self.job.fetcher, self.catalog, self._line
        )

    def _make_plan(self, sites: Sequence[Site], forecasts: Mapping[str, Forecast]) -> Plan | None:
        if self._unlimited:
            return None
        use = self._quota_use()
        used = 0.0 if use is None else use.used
        return plan_ahead(sites, self.job.budget, forecasts, _moment(self.clock), used)

    @property
    def _unlimited(self) -> bool:
        """Whether no rate is ever set; there may be a quota."""
        bandwidth = self.job.budget.bandwidth
        return not isinstance(bandwidth, Timetable) and math.isinf(bandwidth)

    def _unroll(self, start: datetime) -> Capacity | None:
        """The budget's rates from a moment on; None: unlimited for ever."""
        if self._unlimited:
            return None
        from headgate.planning.planner import budget_capacity

        return budget_capacity(self.job.budget, start, _CRAWL_WEEKS)

    def _saved_line_use(self) -> dict[int, int]:
        quota = self.job.budget.quota
        return {} if quota is None else self.catalog.line_use(first_slot(quota, self.clock.wall()))

    def _quota_use(self) -> QuotaUse | None:
        quota = self.job.budget.quota
        return None if quota is None else self._line.of_quota(quota, self.clock.wall())

    @contextlib.asynccontextmanager
    async def _fleet(self, sites: Sequence[Site]) -> AsyncIterator[MeasuredFleet]:
        job = NodeJob(
            self.job.out, self.run_folder.stamp, tuple(sites),
            dataclasses.replace(self.job.fetcher, smooth=self.job.budget.make_way),
            (("software", self.job.fetcher.user_agent),),
        )  # fmt: skip
        if self.job.processes > 1:
            yield ProcessFleet(job, self.job.processes)
        else:
            async with open_node(job) as node:
                yield node

    @contextlib.asynccontextmanager
    async def _yielding_fleet(self, sites: Sequence[Site]) -> AsyncIterator[Fleet]:
        """The fleet, made to step back for others where that is wanted."""
        async with self._fleet(sites) as fleet:
            if not self.job.budget.make_way:
                yield fleet
                return
            seeds = {site.name: site.seeds[0] for site in sites}
            self._making_way = MakingWay(fleet, seeds, floor=self.job.budget.make_way_floor)
            async with self._making_way.at_work(self._tell_line):
                yield self._making_way

    def _tell_line(self, rate: float, held_back: bool) -> None:
        if self._conducting is not None and not self._conducting.manager.done:
            self._conducting.set_line(rate, held_back=held_back)

    def _look(self, now: float, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
        assert self._conducting is not None
        if self._making_way is not None:
            self.log.made_way_seconds = self._making_way.given_seconds
            self.log.left_to_others = self._making_way.given_bytes
        measured = self.log.look(now, reports, began=self.clock.now() - now)
        self._line.look(reports, self.clock.wall())
        self._keep_budget(now)
        if now - self._saved >= _SAVE_EVERY_SECONDS:
            self._saved = now
            self.run_folder.save("elapsed", json.dumps(self._elapsed + now).encode())
            self.catalog.add_line_use(self._line.unsaved())
        tallies = self._conducting.fleet.servers()
        self._learning.look(tallies, reports, granted, now, self.clock.wall())
        capacity = self._conducting.manager.capacity
        budget = None if capacity is None else capacity.rate_at(now)
        if not self.log.budget_changes or self.log.budget_changes[-1][1] != budget:
            self.log.budget_changes.append((now, budget))
        making_way = self._making_way is not None and self._making_way.making_way
        self.watcher.look(now, reports, granted, measured, budget, making_way=making_way)

    def _keep_budget(self, now: float) -> None:
        """The budget by the hour, the user's last word and the quota."""
        assert self._conducting is not None
        self._obey_new_budget()
        changed = self._allowance.look(now, self.clock.wall(), self._quota_use())
        self.log.quota = self._allowance.use
        if self._conducting.manager.done or self._conducting.interrupted:
            return
        if changed:
            self._conducting.set_budget(self._allowance.capacity)
        self._tell_of_pause(now)

    def _obey_new_budget(self) -> None:
        """`headgate budget` leaves a rate in the run's folder."""
        text = self.run_folder.load("budget")
        if text is None or text == self._budget_text:
            return
        self._budget_text = text
        rate = float(text)
        self._allowance.fix(None if math.isinf(rate) else Capacity.constant(max(rate, 1.0)))

    def _tell_of_pause(self, now: float) -> None:
        use = self._allowance.use
        paused = use is not None and use.spent
        if use is not None and paused and not self._paused:
            self.catalog.add_line_use(self._line.unsaved())
            ends = now + (use.resets - use.moment).total_seconds()
            self.watcher.paused(use, [site.name for site in self._too_late_by(ends)])
        self._paused = paused

    def _too_late_by(self, end: float) -> list[Site]:
        """Unfinished sites whose deadlines come before ``end``."""
        return [
            site for site in self.job.sites
            if site.deadline is not None and site.deadline - self._elapsed < end
            and self._state(site.name) not in (SiteState.DONE, SiteState.STOPPED)
        ]  # fmt: skip

    def _note_budget(self, now: float, capacity: Capacity | None) -> None:
        rate = None if capacity is None else capacity.rate_at(now)
        self.log.budget_changes.append((now, rate))

    def _wrap_up(self) -> RunReport:
        """Everything that is made of what was stored; done again after a crash, it is the same."""
        from headgate.storage.sealing import seal

        unfinished = [
            site.name for site in self.job.sites
            if self._state(site.name) not in (SiteState.DONE, SiteState.STOPPED)
        ]  # fmt: skip
        self.log.interrupted = bool(self._conducting and self._conducting.interrupted)
        report = make_report(self.job.sites, self.job.budget.crawlers, self._plan, self.log)
        wall = self.clock.wall()
        for progress in self.log.progress.values():
            self.catalog.record_visit(self._visit(progress, wall))
        seal(self.run_folder)
        self.catalog.add_line_use(self._line.unsaved())
        write_whole(self.run_folder.path / "report.json", msgspec.json.encode(report))
        if self.log.interrupted or unfinished:
            self.catalog.end_run(self.run_folder.stamp, wall, Outcome.INTERRUPTED)
        else:
            self.run_folder.finish()
            self.catalog.end_run(self.run_folder.stamp, wall, Outcome.FINISHED)
        return report

    def _state(self, site: str) -> SiteState:
        progress = self.log.progress.get(site)
        return progress.state if progress else SiteState.WAITING

    def _visit(self, progress: Progress, wall: float) -> Visit:
        began = self.log.started.get(progress.site, 0.0)
        ended = self.log.finished.get(progress.site, self.log.seconds)
        return Visit(
            site=progress.site,
            run=self.run_folder.stamp,
            started=self.log.started_at + began,
            finished=min(self.log.started_at + ended, wall),
            seconds=max(ended - began, 0.0),
            pages=progress.pages,
            payload_bytes=progress.payload_bytes,
            wire_bytes=progress.wire_bytes,
            alpha=self._learning.alphas.alpha(progress.site),
            complete=progress.state is SiteState.DONE and not progress.given_up,
            errors=dict(progress.errors),
        )


def _moment(clock: SystemClock) -> datetime:
    return datetime.fromtimestamp(clock.wall(), UTC)


def _less_time(site: Site, elapsed: float) -> Site:
    """Deadlines of a resumed run count from its first start, pauses left out."""
    if site.deadline is None or not elapsed:
        return site
    return dataclasses.replace(site, deadline=Seconds(max(site.deadline - elapsed, 0.001)))


def _in_order(sites: Sequence[Site], made: Plan | None) -> list[Site]:
    if made is None:
        return list(sites)
    places = {name: place for place, name in enumerate(made.order)}
    return sorted(sites, key=lambda site: places[site.name])
