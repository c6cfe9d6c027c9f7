"""A node: claims tasks for its free slots, crawls them and delivers the results, while its owner
allows it.

    claim ─► holdings ─► leg (manager, fleet) ─► journal, WARC ─► deliver ─► deleted
       ▲        ▲
       │        └── heartbeat: leases extended or lost, the node's part of the budget
       └── owner: hours, idleness, disk, hosts

Several loops share the holdings within one event loop. Each repeats its request until it is
answered, so a manager may be away for a night: fetching stops when the leases expire, and results
wait on the disk. `Refused` in any loop ends the node.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from headgate.control.catalog import Catalog
from headgate.engine.parts import Parts
from headgate.engine.watcher import Watcher
from headgate.features.grid.node.bandwidth import CoordinatorBandwidth
from headgate.features.grid.node.claims import ClaimLoop, TaskClaim
from headgate.features.grid.node.crawl import WorkerLeg
from headgate.features.grid.node.delivery import DeliveryQueue
from headgate.features.grid.node.heartbeats import Heartbeats, cannot_do
from headgate.features.grid.node.leased_tasks import LeasedTask, LeasedTasks, Stage
from headgate.features.grid.node.owner_limits import GuestRules, OwnerBounds
from headgate.features.grid.node.statistics import WorkerTally
from headgate.features.grid.node.wakeups import Wakeups, machine_backoff
from headgate.features.grid.protocol import Inability, SourceAway, TaskSource
from headgate.frontier.retries import Backoff
from headgate.model.budget import Budget
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.fetch import Fetched, FetchRequest
from headgate.model.grid import NodeStatus
from headgate.model.site import Site
from headgate.model.units import format_duration
from headgate.storage.atomic_write import write_soon
from headgate.storage.collection import Collection

__all__ = ["Worker", "WorkerJob", "work"]

_LOOK_SECONDS = 1.0
_DISK_LOOKS = 5
"""Disk use is checked once in this many looks."""
_WELL_SECONDS = 300.0
"""After a leg of this length a fault is the first again."""
_LEAVING_SECONDS = 5.0
_STATE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class WorkerJob:
    """What an owner lends of a machine."""

    node: str
    home: Path
    """Its folder, where results wait for delivery."""
    budget: Budget
    """``crawlers`` are its slots."""
    rules: GuestRules
    disk_bytes: float = 10e9
    allow_private: bool = False
    """Whether tasks may fetch from the owner's private network."""
    until_idle: bool = False
    """End when no task is left for any node."""


async def work(
    job: WorkerJob,
    parts: Parts,
    source: TaskSource,
    watcher: Watcher[Worker, NodeStatus],
    state_seconds: float = _STATE_SECONDS,
    look_seconds: float = _LOOK_SECONDS,
) -> NodeStatus:
    """Run a node until its owner stops it; raises `Refused` if the manager refuses it.

    ``state_seconds``: how often the watcher is called; ``look_seconds``: how often the owner's
    rules are checked, and twice as often the crawl. Changes of rules and budgets are seen with that
    delay; tasks start and end without it."""
    collection = Collection(job.home)
    with collection.lock(), parts.open_catalog(collection.catalog) as catalog:
        worker = Worker(
            job,
            parts,
            source=source,
            watcher=watcher,
            catalog=catalog,
            state_seconds=state_seconds,
            look_seconds=look_seconds,
        )
        watcher.on_start(worker)
        return await worker.run()


@dataclass(slots=True)
class Worker:
    """One call of `work`."""

    job: WorkerJob
    parts: Parts
    source: TaskSource
    watcher: Watcher[Worker, NodeStatus]
    catalog: Catalog
    state_seconds: float
    look_seconds: float
    leased_tasks: LeasedTasks = field(init=False)
    heartbeats: Heartbeats = field(init=False)
    claiming: TaskClaim = field(init=False)
    leg: WorkerLeg = field(init=False)
    tally: WorkerTally = field(init=False)
    bounds: OwnerBounds = field(init=False)
    line: CoordinatorBandwidth = field(init=False)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _wakeups: Wakeups = field(default_factory=Wakeups)
    """Set when a task was granted, has ended or was delivered."""
    _away: str = ""
    """Why the node rests now; empty: it does not."""
    _crawl_rests: Backoff = field(default_factory=machine_backoff)

    def __post_init__(self) -> None:
        self.leased_tasks = LeasedTasks(self.job.home)
        self.leg = WorkerLeg(
            self.job.budget,
            self.leased_tasks,
            catalog=self.catalog,
            parts=self.parts,
            notify=self.watcher.on_messages,
            ended=self._wakeups.wake,
            look_seconds=self.look_seconds / 2,
            forbidden=self.job.rules.why_not_url,
            cannot=self._cannot,
        )
        self.heartbeats = Heartbeats(self.source, self.leased_tasks, self.parts.clock)
        self.line = CoordinatorBandwidth(self.leg, self.parts.clock)
        self.tally = WorkerTally(self.job.node)
        self.claiming = TaskClaim(
            self.source,
            self.leased_tasks,
            heartbeats=self.heartbeats,
            rules=self.job.rules,
            line=self.line,
            clock=self.parts.clock,
            notify=self._tell,
            tally=self.tally,
        )
        job = self.job
        self.bounds = OwnerBounds(
            job.rules,
            job.disk_bytes,
            allow_private=job.allow_private,
            leased_tasks=self.leased_tasks,
            leg=self.leg,
            clock=self.parts.clock,
        )

    def stop(self) -> None:
        """End in order: fetching stops, tasks are given back, results wait on the disk."""
        self._stopped.set()
        self.leg.interrupt("stopped")

    async def run(self) -> NodeStatus:
        self.leased_tasks.recover()
        delivery = DeliveryQueue(
            self.source,
            self.leased_tasks,
            heartbeats=self.heartbeats,
            clock=self.parts.clock,
            tally=self.tally,
            pace=self.line.send,
            notify=self._tell,
            wakeups=self._wakeups,
            look_seconds=self.look_seconds,
        )
        claiming = ClaimLoop(
            self.claiming,
            self.bounds,
            clock=self.parts.clock,
            wakeups=self._wakeups,
            notify=self._tell,
            may_claim=lambda: (
                not self._away
                and not any(
                    backoff.rests(self.parts.clock.now())
                    for backoff in (self._crawl_rests, delivery.backoff)
                )
            ),
            taken=self._taken,
            slots=self.job.budget.crawlers,
            look_seconds=self.look_seconds,
            until_idle=self.job.until_idle,
        )
        loops = [
            asyncio.create_task(loop)
            for loop in (
                self._crawl(),
                self._heed_owner(),
                self._beat(),
                claiming.run(),
                delivery.run(),
                ReferenceVisit(self.heartbeats, self.bounds, self.parts, self.look_seconds).run(),
                self._show(),
            )
        ]
        stopping = asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait({*loops, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stop()
            self._wakeups.wake()
            stopping.cancel()
            await _wind_down(loops)
        for loop in loops:
            if not loop.cancelled() and (fault := loop.exception()) is not None:
                raise fault
        await self._leave()
        return self._status("left")

    async def _leave(self) -> None:
        """Give all leases back; if the manager does not get the message, they expire."""
        unfinished = self.leased_tasks.unfinished
        with contextlib.suppress(SourceAway, TimeoutError):
            async with asyncio.timeout(_LEAVING_SECONDS):
                await self.heartbeats.leave()
            for work in unfinished:
                self.tally.gave_back()
                self.leased_tasks.forget(work)

    async def _beat(self) -> None:
        while True:
            self.leg.note_progress()
            back, total = set(self.heartbeats.back), self.leased_tasks.book.total
            for work in await self.heartbeats.beat(self.leg.servers()):
                self.tally.lost()
                self._tell(f"{work.site} was lost to another node ({work.lost})")
                self.leg.stop(work)
                back.add(work.lease)
            startable = self.leased_tasks.startable(self.parts.clock.now())
            if back or startable or self.leased_tasks.book.total != total:
                self._wake()
            await self.heartbeats.pause()

    def _cannot(self, work: LeasedTask, what: Inability, why: str) -> None:
        """The owner reads what the manager is told."""
        self._tell(f"{work.site} is given back: {why}")
        self.claiming.exclude(work.lease.task)
        self._give_back(work, why, what)

    def _give_back(self, work: LeasedTask, why: str, what: Inability | None = None) -> None:
        """Give a task back with the next heartbeat, which is sent at once."""
        self.tally.gave_back()
        cannot = None if what is None else cannot_do(work.lease, what, why)
        self.heartbeats.give_back(work.lease, work.progress, cannot)
        self.leased_tasks.lose(work, why)
        self.leg.stop(work)

    def _give_all_back(self, why: str) -> None:
        for work in self.leased_tasks.unfinished:
            if not work.lost:
                self._give_back(work, why)

    def _taken(self) -> None:
        """A task was granted, which is too late if the crawl failed meanwhile."""
        if self._crawl_rests.rests(self.parts.clock.now()):
            self._give_all_back("resting after a fault")
        self._wake()

    async def _heed_owner(self) -> None:
        """Give everything back at once while the owner does not allow work."""
        for look in itertools.count():
            away = self.bounds.why_not_now()
            if away and away != self._away:
                self._tell(f"resting: {away}")
            if self._away and not away:
                self._wake()
            self._away = away
            if away:
                self._give_all_back(away)
            if not look % _DISK_LOOKS:
                await self._keep_to_disk()
            await asyncio.sleep(self.look_seconds)

    async def _keep_to_disk(self) -> None:
        too_much = await asyncio.to_thread(self.bounds.too_much)
        if too_much is not None and not too_much.lost:
            self._cannot(too_much, Inability.DISK, "more than --disk allows")

    async def _crawl(self) -> None:
        while not self._stopped.is_set():
            ready = self.leased_tasks.startable(self.parts.clock.now())
            if not ready:
                await self._wakeups.pause(self.look_seconds)
                continue
            began = self.parts.clock.now()
            try:
                await self.leg.run(self.bounds.settings(ready[0].grant.contact))
            except (HeadgateError, OSError) as fault:
                if self.parts.clock.now() - began >= _WELL_SECONDS:
                    self._crawl_rests.reset()
                wait = self._crawl_rests.rest(self.parts.clock.now())
                self._tell(f"{fault}; tasks are given back, and claimed again in"
                           f" {format_duration(wait)}")  # fmt: skip
                self._give_all_back(str(fault))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._stopped.wait()

    def _wake(self) -> None:
        self._wakeups.wake()
        self.leg.observe_now()

    async def _show(self) -> None:
        while True:
            self.watcher.on_progress(self._status())
            await asyncio.sleep(self.state_seconds)

    def _status(self, state: str = "") -> NodeStatus:
        busy = next(self.leased_tasks.in_stage(Stage.CRAWLING), None) is not None
        state = state or self._away or ("working" if busy else "idle")
        return self.tally.status(state, self.leased_tasks, self.parts.clock.now())

    def _tell(self, words: str) -> None:
        self.watcher.on_messages([words])


async def _wind_down(loops: Sequence[asyncio.Task[None]]) -> None:
    """The crawl loop ends by itself, with everything stored; the others are cancelled."""
    _crawling, *others = loops
    for loop in others:
        loop.cancel()
    await asyncio.wait(loops)


_DAY = 86_400.0
_AGAIN_SECONDS = 3600.0
"""Wait after a failure."""
_FETCHES = 3
_EXPECTED_BYTES, _MOST_BYTES, _MOST_SECONDS = 20_000, 5_000_000, 60.0
_NAME = "reference"
_GOOD = 200


class _Measured(msgspec.Struct, frozen=True):
    url: str
    wall: float
    seconds: float | None
    """None: it could not be fetched."""


@dataclass(slots=True)
class ReferenceVisit:
    """Measures a node by the reference site: every node fetches the same page once a day.

    The fastest of three fetches counts, since other programs can only make one slower. Only ratios
    between nodes are used.
    """

    heartbeats: Heartbeats
    bounds: OwnerBounds
    parts: Parts
    look_seconds: float
    _last: _Measured | None = None

    async def run(self) -> None:
        """Runs for ever. The measurement is sent with every heartbeat."""
        path = self.heartbeats.leased_tasks.home / _NAME
        try:
            self._last = msgspec.json.decode(path.read_bytes(), type=_Measured)
        except (OSError, msgspec.MsgspecError):
            self._last = None
        while True:
            url = self.heartbeats.reference
            if url and self._is_due(url) and self._may_fetch(url):
                seconds = await self._seconds(url)
                self._last = _Measured(url, self.parts.clock.wall(), seconds)
                with contextlib.suppress(HeadgateError, OSError):  # then another start measures
                    write_soon(path, msgspec.json.encode(self._last))
            known = self._last is not None and self._last.url == url
            self.heartbeats.reference_seconds = self._last.seconds if self._last and known else None
            await asyncio.sleep(self.look_seconds)

    def _is_due(self, url: str) -> bool:
        last = self._last
        if last is None or last.url != url:
            return True
        wait = _AGAIN_SECONDS if last.seconds is None else _DAY
        return not -wait < self.parts.clock.wall() - last.wall < wait

    def _may_fetch(self, url: str) -> bool:
        """Whether the owner's rules allow it, as for any task."""
        site = Site(_NAME, (url,))
        return not self.bounds.why_not_now() and not self.bounds.rules.why_not(site)

    async def _seconds(self, url: str) -> float | None:
        found = []
        rate = self.bounds.leg.own_rate()
        async with self.parts.open_fetcher(self.bounds.settings("")) as fetcher:
            fetcher.meter.set_total(math.inf if rate is None else rate)
            fetcher.meter.set_site(_NAME, math.inf if rate is None else rate)
            for _ in range(_FETCHES):
                began = self.parts.clock.now()
                request = FetchRequest(
                    url, _NAME, _EXPECTED_BYTES, _MOST_BYTES, most_seconds=_MOST_SECONDS
                )
                try:
                    outcome = await fetcher.fetch(request)
                except WorldFault:  # too few open files, at the moment
                    return None
                if not isinstance(outcome, Fetched) or outcome.status != _GOOD:
                    return None
                found.append(self.parts.clock.now() - began)
        return max(min(found), 1e-6)
