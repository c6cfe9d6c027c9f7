"""A small web, a crawl of it, and everything that goes wrong meanwhile, by a seed.

A run is played leg by leg. In each leg something ends it before its time, by the seed: the user
interrupts it, the machine dies at a moment or in the middle of a write, the disk is full. Meanwhile
servers fail and lie, clocks jump, the machine sleeps, the user changes the budget; where the crawl
has worker processes, some of them die, at a moment or in the middle of a write. Then the run is
resumed; of the last leg only workers die.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import numpy as np
from msgspec.structs import replace
from tests.simulation.faulty_disk import FaultyDisk
from tests.simulation.mortal_workers import MortalWorker, MortalWorkers, acting

from headgate.bandwidth.server_speed import Measure, ServerSpeeds
from headgate.control.catalog import Catalog
from headgate.control.completion_forecast import plan_the_rest
from headgate.control.control_loop import ControlLoop
from headgate.control.forecast import Forecast
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.node import NodeParts
from headgate.features.crawl.job import CrawlJob, CrawlWatcher, crawl
from headgate.model.budget import Budget, Period, Quota
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.fetch import FetchRequest
from headgate.model.plan import Plan
from headgate.model.run_report import RunReport
from headgate.model.site import OnDeadline, Site
from headgate.model.timetable import LocalMoment
from headgate.model.units import UNLIMITED, Bytes, BytesPerSecond, Seconds
from headgate.scheduling.planner import plan
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection
from headgate.storage.runs import read_report
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually
from headgate_lab.worlds.seeded_servers import SeededServers, ServerManner
from headgate_lab.worlds.virtual_web import make_web

__all__ = ["FaultyWorld", "Leg"]

EVENING = 1_794_786_900.0
"""2026-11-15 23:55 UTC: a quota of the day begins anew in five minutes."""
MOST_DISTURBED = 3
WITH_WORKERS = 0.4
"""Of all seeds."""
MOST_DEATHS = 3
"""Of a leg: a site that lost more processes would be given up."""
MOST_MOVES = 5
"""Of sites from one worker to another, in a leg."""
MOST_SECONDS = 3600.0
"""Of a leg: webs are small, and a pause of the quota lasts minutes."""
UTC_ZONE = ZoneInfo("UTC")


@dataclass(slots=True)
class Leg:
    """One call of `crawl`, as the world saw it."""

    wall: float
    """When it began, and the line's own time then."""
    line_from: int
    """Its first arrival on the line."""
    exchanges_from: int
    ending: str = ""
    """"finished", "interrupted", "died" or "fault"."""
    seconds: float = 0.0
    """Of the machine's clock, sleep included."""
    budgets: list[tuple[float, float]] = field(default_factory=list)
    """(seconds, rate that holds from then on), as far as the user said it."""
    measured_bytes: float = 0.0
    """That servers' speeds were learned from."""
    clock_set: bool = False
    asleep: list[tuple[float, float]] = field(default_factory=list)
    """(loop's second, length of a sleep)."""
    deaths: list[tuple[float, frozenset[str], frozenset[str]]] = field(default_factory=list)
    """(loop's second, sites that the worker ran when it died, sites that it ever did)."""


class FaultyWorld:
    """One seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.fates = fates = np.random.default_rng([seed, 1])
        """Of worker processes."""
        self.workers = int(fates.integers(2, 4)) if fates.random() < WITH_WORKERS else 1
        """1: the crawl is in one process with its parent."""
        self.moves = np.random.default_rng([seed, 2])
        """Of sites, from one worker to another."""
        self.folder = folder
        sites = int(rng.integers(1, 4))
        web = make_web(seed, sites, hosts=20, most_pages=int(rng.integers(8, 20)))
        manners = [_manner(rng) for _ in range(sites)]
        self.servers = SeededServers(web, seed, manners)
        sizes = [_size(self.servers, number) for number in range(sites)]
        self.budget = _budget(rng, sum(sizes))
        known = self.budget.quota is not None or rng.random() < 0.5
        self.sites = tuple(
            _site(rng, web.name(number), size if known else None)
            for number, size in enumerate(sizes)
        )
        self.line = Line()
        self.legs: list[Leg] = []
        self.said: list[str] = []
        """What somebody should know, as the watcher heard it."""
        self._wall = EVENING - float(rng.uniform(0, 240))

    def play(self) -> RunReport:
        """All legs; the last one's report."""
        for number in range(MOST_DISTURBED + 1):
            report = self._leg(disturbed=number < MOST_DISTURBED and self.rng.random() < 0.75)
            report = report or self._left_finished()
            if report is not None and not report.interrupted:
                return report
            self._wall += float(self.rng.uniform(0, 100))
        raise AssertionError("a leg without any disturbance did not come to its end")

    def _left_finished(self) -> RunReport | None:
        """The machine may die just as a run has ended; the next leg would begin another."""
        runs = (run for run in Collection(self.folder).runs() if not run.unfinished)
        return next((read_report(run.path / "report.json", RunReport) for run in runs), None)

    def _leg(self, *, disturbed: bool) -> RunReport | None:
        """None: it ended badly."""
        leg = Leg(self._wall, len(self.line.arrivals), len(self.line.exchanges))
        self.legs.append(leg)
        play = _Play(self, leg, disturbed=disturbed)
        disk = play.disk
        try:
            with disk.in_place(), self._measures_noted(leg):
                report = run_virtually(play.run, self._beside_seconds)
            leg.ending = "interrupted" if report.interrupted else "finished"
        except (HeadgateError, asyncio.CancelledError) as error:
            if not disturbed:
                raise
            report, leg.ending = None, "died" if disk.dead else "fault"
            self.said.append(str(error))
        leg.seconds = play.clock.now()
        self._wall = play.clock.wall()
        if disk.dead:
            disk.lose_what_was_not_synced(Collection(self.folder).memories)
        return report

    @contextmanager
    def _measures_noted(self, leg: Leg) -> Iterator[None]:
        learn = ServerSpeeds.learn

        def note(speeds: ServerSpeeds, address: str, measure: Measure, at: LocalMoment) -> None:
            leg.measured_bytes += measure.bytes
            learn(speeds, address, measure, at)

        with patch.object(ServerSpeeds, "learn", note):
            yield

    def _beside_seconds(self) -> float:
        return float(self.rng.exponential(0.004))


class _Play(CrawlWatcher):
    """One leg under way; also the watcher of its crawl."""

    def __init__(self, world: FaultyWorld, leg: Leg, *, disturbed: bool) -> None:
        self._world = world
        self._leg = leg
        self._rng = world.rng
        self._disturbed = disturbed
        self._control_loop: ControlLoop | None = None
        self._task: asyncio.Task[RunReport] | None = None
        self.disk = FaultyDisk(self._rng.random, self._died)
        self.clock: VirtualClock

    async def run(self, loop: VirtualLoop) -> RunReport:
        self.clock = VirtualClock(loop, self._leg.wall)
        loop.set_exception_handler(self._unheard)
        collection = Collection(self._world.folder)
        unfinished = collection.unfinished_run() if self._world.folder.is_dir() else None
        resume = unfinished is not None and unfinished.load("request") is not None
        world = self._world
        settings = fetcher_settings(world.sites, "tests")
        job = CrawlJob(world.sites, world.budget, world.folder, settings, resume=resume)
        parts = virtual_parts(self.clock, self._answer, world.line)
        parts = replace(parts, open_catalog=self._catalog, make_plan=_plan)
        if world.workers > 1:
            parts = replace(parts, open_fleet=self._mortal(loop, parts).open_fleet)
        self._task = asyncio.ensure_future(crawl(job, parts, self))
        if self._disturbed:
            self._disturb(loop)
        try:
            async with asyncio.timeout(MOST_SECONDS):
                return await self._task
        finally:
            for handle in self._handles:
                handle.cancel()

    def _mortal(self, loop: VirtualLoop, parts: NodeParts) -> MortalWorkers:
        fates = self._world.fates
        workers = MortalWorkers(
            self._world.workers, parts, lambda: float(fates.exponential(0.3)), self._worker_died
        )

        def kill() -> None:
            if at_work := workers.at_work:
                at_work[int(fates.integers(len(at_work)))].kill()

        def tear() -> None:
            if at_work := workers.at_work:
                worker = at_work[int(fates.integers(len(at_work)))]
                worker.dies_at = worker.operations + int(fates.integers(1, 12))

        for _ in range(int(fates.integers(0, MOST_DEATHS + 1))):
            loop.call_later(float(fates.exponential(4.0)), (kill, tear)[int(fates.integers(2))])
        moves = self._world.moves
        for number in moves.integers(0, 100, int(moves.integers(0, MOST_MOVES + 1))):
            loop.call_later(float(moves.exponential(4.0)), workers.move, int(number))
        return workers

    def _worker_died(self, worker: MortalWorker) -> None:
        moment = asyncio.get_running_loop().time()
        self._leg.deaths.append((moment, worker.sites, frozenset(worker.asked)))

    def _unheard(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An error that nobody waits for any more; of a dead machine nobody hears anything."""
        if not self.disk.dead:
            self._world.said.append(f"unheard: {context}")
            loop.default_exception_handler(context)

    def _disturb(self, loop: VirtualLoop) -> None:
        rng = self._rng
        self._handles = []
        plans = [self._interrupt, self.disk.die, self._tear, self._fill, self._set_clock,
                 self._suspend, self._change_budget]  # fmt: skip
        for _ in range(int(rng.integers(1, 4))):
            moment = float(rng.exponential(6.0))
            self._handles.append(loop.call_later(moment, plans[int(rng.integers(len(plans)))]))

    _handles: Sequence[asyncio.TimerHandle] = ()

    def _interrupt(self) -> None:
        if self._control_loop is not None:
            self._control_loop.interrupt("interrupted")

    def _tear(self) -> None:
        self.disk.dies_at = self.disk.operations + int(self._rng.integers(1, 40))

    def _fill(self) -> None:
        self.disk.full_for = int(self._rng.integers(1, 30))

    def _set_clock(self) -> None:
        self._leg.clock_set = True
        self.clock.set_wall(float(self._rng.normal(0, 600)))

    def _suspend(self) -> None:
        seconds = float(self._rng.exponential(60.0))
        self._leg.asleep.append((asyncio.get_running_loop().time(), seconds))
        self.clock.sleep(seconds)

    def _change_budget(self) -> None:
        run = Collection(self._world.folder).unfinished_run()
        if run is not None and not math.isinf(float(self._world.budget.bandwidth)):  # type: ignore[arg-type]
            rate = float(self._rng.uniform(2e4, 3e5))
            self._leg.budgets.append((asyncio.get_running_loop().time(), rate))
            (run.spool / "budget.state").write_text(str(rate))

    def _died(self) -> None:
        assert self._task is not None
        self._task.cancel()

    def _answer(self, request: FetchRequest, wall: float) -> Answer:
        worker = acting()
        if self.disk.dead or (worker is not None and not worker.alive):
            return Answer(first_byte_seconds=1e9)
        if worker is not None:
            worker.asked.add(request.site)
        return self._world.servers.answer(request, wall)

    @contextmanager
    def _catalog(self, path: Path) -> Iterator[Catalog]:
        with SqliteCatalog(path) as catalog:
            yield _OfALivingMachine(catalog, self.disk)

    def on_messages(self, words: Sequence[str]) -> None:
        self._world.said += words

    def on_start(self, running: ControlLoop) -> None:
        self._control_loop = running


class _OfALivingMachine:
    """A catalog that is not written any more once the machine is dead."""

    def __init__(self, catalog: SqliteCatalog, disk: FaultyDisk) -> None:
        self._catalog = catalog
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        if self._disk.dead:
            raise WorldFault("the machine is dead")
        return getattr(self._catalog, name)


async def _plan(
    sites: Sequence[Site],
    budget: Budget,
    forecasts: Mapping[str, Forecast],
    start: datetime,
    seconds: float,
    quota_used: float,
) -> Plan:
    """Without looking ahead through hundreds of quotas, which takes long and changes no rate."""
    await asyncio.sleep(1.0)
    if budget.quota is None:
        return plan_the_rest(
            sites, budget, forecasts=forecasts, start=start, seconds=seconds, quota_used=quota_used
        )
    unfinished = [
        replace(site, expect=Bytes(forecasts[site.name].bytes), deadline=None)
        for site in sites
        if site.name in forecasts
    ]
    return plan(unfinished, replace(budget, quota=None), start=start)


def _manner(rng: np.random.Generator) -> ServerManner:
    often = rng.random(8)
    return ServerManner(
        first_byte_seconds=float(rng.exponential(0.1)),
        bytes_per_second=float(rng.uniform(2e4, 2e5)) if often[0] < 0.3 else math.inf,
        page_bytes=float(rng.uniform(2e3, 2e4)),
        faults=float(rng.uniform(0, 0.2)) if often[1] < 0.6 else 0.0,
        moved=0.2 if often[2] < 0.3 else 0.0,
        lies=0.3 if often[3] < 0.3 else 0.0,
        has_robots=bool(often[4] < 0.4),
        crawl_delay=0.5 if often[5] < 0.1 else 0.0,
        has_sitemap=bool(often[6] < 0.4),
    )


def _size(servers: SeededServers, site: int) -> float:
    """On the line, with something for heads and for what is asked for again."""
    web = servers.web
    pages = range(int(web.first[site]), int(web.first[site + 1]))
    return 1.3 * sum(len(servers.body(web.url(page), EVENING)) for page in pages)


def _site(rng: np.random.Generator, name: str, size: float | None) -> Site:
    deadline = Seconds(float(rng.uniform(2, 30))) if rng.random() < 0.5 else None
    stops = OnDeadline.STOP if rng.random() < 0.6 else OnDeadline.GO_ON
    expect = None if size is None else Bytes(size)
    return Site(name, (f"http://{name}/",), deadline=deadline, on_deadline=stops, expect=expect)


def _budget(rng: np.random.Generator, total: float) -> Budget:
    kind = rng.random()
    bandwidth = UNLIMITED if kind < 0.25 else BytesPerSecond(float(rng.uniform(2e4, 3e5)))
    quota = None
    if rng.random() < 0.25:
        quota = Quota(Bytes(max(total * 0.6, 2e5)), Period.DAY, UTC_ZONE)
    return Budget(bandwidth, crawlers=int(rng.integers(1, 4)), quota=quota)
