"""A survey from end to end on one machine: probe, walk, log, tables, report.

    lock the collection ─► new run, or the unfinished one ─► walk, within the budget's allowance
      ─► tables, catalog, report

Everything is in a run of a collection, as for a crawl: the log while it runs, the tables at the
end. The newest finished survey of the collection tells which pages have not changed. What it may
use of the line is a crawl's allowance (`headgate.features.survey.job`).
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from headgate.bandwidth.make_way import MakingWay
from headgate.crawling.ports import Fetcher
from headgate.crawling.progress import Progress, TaskState
from headgate.engine.background_fleet import STEP_SECONDS, Heard, Prober
from headgate.engine.parts import Parts
from headgate.engine.runs import JobKind, open_run
from headgate.engine.session import Accounting, SavedTime, saved_time
from headgate.engine.watcher import Watcher
from headgate.features.survey.log import SurveyFile, SurveyIndex, read_survey
from headgate.features.survey.report import SurveyReport
from headgate.features.survey.run import SurveyRun, SurveyTools
from headgate.features.survey.strategy.entries import NO_MEMORY
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.features.survey.wrapping_up import registrable_domain, wrap_up_survey
from headgate.fetching.client import FetcherSettings
from headgate.fetching.limits import Limits
from headgate.model.budget import Budget, QuotaUse
from headgate.model.errors import UserMistake
from headgate.storage.collection import SURVEY_LOG, Collection, RunFolder
from headgate.storage.run_state import drop_budget

__all__ = [
    "BY_NODES",
    "SURVEY_LIMITS",
    "SurveyJob",
    "SurveyMoment",
    "SurveyUnderWay",
    "SurveyWatcher",
    "survey",
]

SURVEY_LIMITS = Limits(connect_seconds=10.0, first_byte_seconds=20.0, total_seconds=120.0)
"""A survey need not wait longer for a server."""
BY_NODES = "by-nodes"
"""The name of the state by which a run is marked as done by nodes of a grid."""
_LOOK_SECONDS = 0.5


class SurveyJob(msgspec.Struct, frozen=True):
    """Which servers to survey, and how."""

    starts: tuple[str, ...]
    rules: SurveyRules
    budget: Budget
    out: Path
    fetcher: FetcherSettings
    resume: bool = False
    request: bytes = b""
    """The caller's own description of the job, kept with the run for ``resume``."""
    new_bandwidth: bool = False
    """With ``resume``: the bandwidth was given anew, and replaces what `headgate budget` set."""


class SurveyUnderWay(Protocol):
    """A running survey as its watcher sees it."""

    @property
    def surveyor(self) -> Surveyor: ...

    @property
    def stored(self) -> int:
        """Requests whose entries are durable."""
        ...

    def stop(self, reason: str) -> None:
        """End in order, soon."""
        ...


class SurveyMoment(msgspec.Struct, frozen=True):
    """A running survey at one moment."""

    seconds: float
    """Those of the run, its earlier legs included."""
    run: SurveyUnderWay


SurveyWatcher: TypeAlias = Watcher[SurveyUnderWay, SurveyMoment]


async def survey(job: SurveyJob, parts: Parts, watcher: SurveyWatcher) -> SurveyReport:
    """Survey; tables and report are also in the run's folder."""
    collection = Collection(job.out)
    wall = parts.clock.wall()
    with collection.lock():
        before = _earlier_log(collection)
        started = datetime.fromtimestamp(wall, UTC)
        run = open_run(collection, JobKind.SURVEY, job.request, started, resume=job.resume)
        if run.load(BY_NODES) is not None:
            raise UserMistake(
                f"{job.out}: the unfinished survey is made by nodes; say again how they connect,"
                " with --serve-nats or --nats"
            )
        if job.new_bandwidth:
            drop_budget(run)
        watcher.on_open()
        with parts.open_catalog(collection.catalog) as catalog:
            catalog.begin_run(run.stamp, wall, job.request.decode() or "{}")
            async with saved_time(run, parts.clock) as saved:
                accounting = Accounting(run, catalog, job.budget, saved.time, watcher.on_messages)
                surveyor, ending = await _Survey(job, run, parts, watcher, saved).run(
                    accounting, before
                )
            return await asyncio.to_thread(
                wrap_up_survey, run, catalog,
                surveyor=surveyor, ending=ending, seconds=saved.time.now, wall=parts.clock.wall(),
            )  # fmt: skip


class _Survey:
    """One call of `survey`: holds what its steps share."""

    def __init__(
        self, job: SurveyJob, run: RunFolder, parts: Parts, watcher: SurveyWatcher, saved: SavedTime
    ) -> None:
        self._job = job
        self._path = run.path / SURVEY_LOG
        self._parts = parts
        self._watcher = watcher
        self._saved = saved

    async def run(self, accounting: Accounting, before: Path | None) -> tuple[Surveyor, str]:
        """``before``: the log of the previous survey. Returns why it ended, too."""
        earlier = NO_MEMORY if before is None else SurveyIndex(before)
        stored = SurveyIndex(self._path) if self._path.exists() else NO_MEMORY
        surveyor = Surveyor(self._job.rules, registrable_domain(), stored, earlier)
        if before is not None:
            surveyor.remember(read_survey(before))
        surveyor.start(self._job.starts)
        settings = replace(self._job.fetcher, smooth=self._job.budget.make_way)
        with contextlib.closing(SurveyFile(self._path)) as log:
            async with self._parts.open_fetcher(settings) as fetcher:
                line = SurveyLine(fetcher, accounting)
                run = SurveyRun(surveyor, SurveyTools(fetcher, log, self._parts.clock, earlier))
                run.hold(line.held)
                self._watcher.on_start(run)
                try:
                    async with self._yielding(line), self._looked_at(run, line):
                        return surveyor, await run.run()
                finally:
                    line.finish()

    @contextlib.asynccontextmanager
    async def _yielding(self, line: SurveyLine) -> AsyncIterator[None]:
        budget = self._job.budget
        if not budget.make_way:
            yield
            return
        prober, starts = self._parts.open_prober, self._job.starts
        async with line.making_way(prober, starts, budget.make_way_floor):
            yield

    @contextlib.asynccontextmanager
    async def _looked_at(self, run: SurveyRun, line: SurveyLine) -> AsyncIterator[None]:
        """Within the context, twice a second: apply the budget, save the time, tell the watcher."""

        async def look_on() -> None:
            while True:
                self._look(run, line)
                await asyncio.sleep(_LOOK_SECONDS)

        looking = asyncio.create_task(look_on())
        looking.add_done_callback(run.fail_with)
        try:
            yield
        finally:
            looking.cancel()
            self._watcher.on_progress(SurveyMoment(self._saved.time.now, run))

    def _look(self, run: SurveyRun, line: SurveyLine) -> None:
        use = line.poll()
        run.hold(line.held)
        if use is not None:
            self._watcher.on_pause(use, ())
        self._saved.save()
        self._watcher.on_progress(SurveyMoment(self._saved.time.now, run))


def _earlier_log(collection: Collection) -> Path | None:
    """The log of the newest finished survey."""
    for run in collection.runs() if collection.path.is_dir() else ():
        path = run.path / SURVEY_LOG
        if not run.unfinished and path.exists():
            return path
    return None


_SITE = "survey"
_PROBED = 8
"""Servers of the list that are probed for the line's delay."""


class SurveyLine:
    """What a survey may use of the line: the same allowance as a crawl's, for all servers together.

        timetable, quota, `headgate budget` ──► Accounting ──ceiling──► MakingWay ──► total rate
        bytes that arrived ──► quota        responses of servers ──► server speeds

    Where others use the line too, the total follows its delay twenty times a second, as a crawl's
    does. While the quota is used up, nothing is requested.

    The line of one leg. Invariant: the fetcher's total never exceeds what the budget allows.
    """

    def __init__(self, fetcher: Fetcher, accounting: Accounting) -> None:
        self._fetcher = fetcher
        self._accounting = accounting
        self._way: MakingWay | None = None
        self._set_total()

    @property
    def held(self) -> bool:
        """Whether nothing may pass at the moment."""
        return self._rate == 0.0

    def poll(self) -> QuotaUse | None:
        """Count what arrived, and set the total rate anew; the quota, if it was used up since."""
        came = Progress(_SITE, TaskState.CRAWLING, wire_bytes=self._fetcher.carried())
        now = self._accounting.time.leg_now
        self._accounting.observe(now, self._fetcher.servers, [came])
        self._set_total()
        return self._accounting.budget_keeper.pause_began()

    def finish(self) -> None:
        """At the end of the leg: save the use of the line and what was learned."""
        self.poll()
        self._accounting.finish(self._accounting.time.leg_now, self._fetcher.servers)

    @contextlib.asynccontextmanager
    async def making_way(
        self, open_prober: Callable[[Heard], Prober], starts: Sequence[str], floor: float | None
    ) -> AsyncIterator[None]:
        """Within the context, the total follows what others leave of the line."""
        self._way = way = MakingWay(asyncio.get_running_loop().time(), floor)
        self._set_total()
        prober = open_prober(way.heard)
        for start in islice(starts, _PROBED):
            prober.add(start, start)
        tasks = [asyncio.ensure_future(prober.run()), asyncio.ensure_future(self._follow(way))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, way: MakingWay) -> None:
        while True:
            await asyncio.sleep(STEP_SECONDS)
            way.step(asyncio.get_running_loop().time(), self._fetcher.carried())
            self._fetcher.meter.set_total(way.rate)

    @property
    def _rate(self) -> float | None:
        """Of the budget now; None: unlimited."""
        return self._accounting.budget_keeper.rate_at(self._accounting.time.leg_now)

    def _set_total(self) -> None:
        rate = self._rate
        total = math.inf if rate is None else rate
        if self._way is not None:
            self._way.set_ceiling(total)
            total = self._way.rate
        self._fetcher.meter.set_total(total)
