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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from headgate.control.catalog import Catalog
from headgate.crawling.task_source import SourceAway, TaskSource
from headgate.jobs.lending.beating import Beating
from headgate.jobs.lending.bringing_all import BringingAll
from headgate.jobs.lending.claiming import Claiming
from headgate.jobs.lending.claiming_all import ClaimingAll
from headgate.jobs.lending.guest_rules import GuestRules
from headgate.jobs.lending.holdings import Holdings, Stage, Work
from headgate.jobs.lending.leg import WorkerLeg
from headgate.jobs.lending.manager_line import ManagerLine
from headgate.jobs.lending.owner_bounds import OwnerBounds
from headgate.jobs.lending.reference_visit import ReferenceVisit
from headgate.jobs.lending.rests import Rests
from headgate.jobs.lending.tally import WorkerTally
from headgate.jobs.lending.waking import Waking
from headgate.jobs.parts import Parts
from headgate.model.budget import Budget
from headgate.model.errors import HeadgateError
from headgate.model.node_status import NodeStatus
from headgate.model.units import format_duration
from headgate.storage.collection import Collection

__all__ = ["Worker", "WorkerJob", "WorkerWatcher", "work"]

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


class WorkerWatcher(Protocol):
    """An observer of a node. Called from the event loop, so it must return quickly."""

    def told(self, words: Sequence[str]) -> None: ...

    def state(self, status: NodeStatus) -> None: ...

    def attach(self, worker: Worker) -> None:
        """It can be stopped from now on."""
        ...


async def work(
    job: WorkerJob,
    parts: Parts,
    source: TaskSource,
    watcher: WorkerWatcher,
    state_seconds: float = _STATE_SECONDS,
    look_seconds: float = _LOOK_SECONDS,
) -> NodeStatus:
    """Run a node until its owner stops it; raises `Refused` if the manager refuses it.

    ``state_seconds``: how often the watcher is called; ``look_seconds``: how often the owner's
    rules are checked, and twice as often the crawl. Changes of rules and budgets are seen with that
    delay; tasks start and end without it."""
    collection = Collection(job.home)
    with collection.lock(), parts.open_catalog(collection.catalog) as catalog:
        worker = Worker(job, parts, source, watcher, catalog, state_seconds, look_seconds)
        watcher.attach(worker)
        return await worker.run()


@dataclass(slots=True)
class Worker:
    """One call of `work`."""

    job: WorkerJob
    parts: Parts
    source: TaskSource
    watcher: WorkerWatcher
    catalog: Catalog
    state_seconds: float
    look_seconds: float
    holdings: Holdings = field(init=False)
    beating: Beating = field(init=False)
    claiming: Claiming = field(init=False)
    leg: WorkerLeg = field(init=False)
    tally: WorkerTally = field(init=False)
    bounds: OwnerBounds = field(init=False)
    line: ManagerLine = field(init=False)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _waking: Waking = field(default_factory=Waking)
    """Set when a task was granted, has ended or was delivered."""
    _away: str = ""
    """Why the node rests now; empty: it does not."""
    _crawl_rests: Rests = field(default_factory=Rests)

    def __post_init__(self) -> None:
        self.holdings = Holdings(self.job.home)
        self.leg = WorkerLeg(
            self.job.budget,
            self.holdings,
            self.catalog,
            self.parts,
            self.watcher.told,
            self._waking.wake,
            self.look_seconds / 2,
        )
        self.beating = Beating(self.source, self.holdings, self.parts.clock)
        self.line = ManagerLine(self.leg, self.parts.clock)
        self.tally = WorkerTally(self.job.node)
        self.claiming = Claiming(
            self.source, self.holdings, self.beating, self.job.rules, self.line, self.parts.clock,
            self._tell, self.tally,
        )  # fmt: skip
        job = self.job
        self.bounds = OwnerBounds(
            job.rules, job.disk_bytes, job.allow_private, self.holdings, self.leg, self.parts.clock
        )

    def stop(self) -> None:
        """End in order: fetching stops, tasks are given back, results wait on the disk."""
        self._stopped.set()
        self.leg.interrupt("stopped")

    async def run(self) -> NodeStatus:
        self.holdings.recover()
        bringing = BringingAll(
            self.source, self.holdings, self.beating, self.parts.clock, self.tally, self.line.send,
            self._tell, self._waking, self.look_seconds,
        )  # fmt: skip
        claiming = ClaimingAll(
            self.claiming, self.bounds, self.parts.clock, self._waking, self._tell,
            lambda: not self._away and not any(
                rests.lasts(self.parts.clock.now()) for rests in (self._crawl_rests, bringing.rests)
            ),
            self._taken, self.job.budget.crawlers, self.look_seconds,
            self.job.until_idle,
        )  # fmt: skip
        loops = [
            asyncio.create_task(loop)
            for loop in (
                self._crawl(),
                self._heed_owner(),
                self._beat(),
                claiming.run(),
                bringing.run(),
                ReferenceVisit(self.beating, self.bounds, self.parts, self.look_seconds).run(),
                self._show(),
            )
        ]
        stopping = asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait({*loops, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stop()
            self._waking.wake()
            stopping.cancel()
            await _wind_down(loops)
        for loop in loops:
            if not loop.cancelled() and (fault := loop.exception()) is not None:
                raise fault
        await self._leave()
        return self._status("left")

    async def _leave(self) -> None:
        """Give all leases back; if the manager does not get the message, they expire."""
        unfinished = self.holdings.unfinished
        with contextlib.suppress(SourceAway, TimeoutError):
            async with asyncio.timeout(_LEAVING_SECONDS):
                await self.beating.leave()
            for work in unfinished:
                self.tally.given_back += 1
                self.holdings.forget(work)

    async def _beat(self) -> None:
        while True:
            self.leg.note_progress()
            back, total = set(self.beating.back), self.holdings.book.total
            for work in await self.beating.beat(self.leg.servers()):
                self.tally.lost += 1
                self._tell(f"{work.site} was lost to another node ({work.lost})")
                self.leg.stop(work)
                back.add(work.lease)
            startable = self.holdings.startable(self.parts.clock.now())
            if back or startable or self.holdings.book.total != total:
                self._wake()
            await self.beating.pause()

    def _give_back(self, work: Work, why: str) -> None:
        """Give a task back with the next heartbeat, which is sent at once."""
        self.tally.given_back += 1
        self.beating.give_back(work.lease, work.progress)
        self.holdings.lose(work, why)
        self.leg.stop(work)

    def _give_all_back(self, why: str) -> None:
        for work in self.holdings.unfinished:
            if not work.lost:
                self._give_back(work, why)

    def _taken(self) -> None:
        """A task was granted, which is too late if the crawl failed meanwhile."""
        if self._crawl_rests.lasts(self.parts.clock.now()):
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
            self._tell(f"{too_much.site} is given back: more than --disk allows")
            self._give_back(too_much, "no room")

    async def _crawl(self) -> None:
        while not self._stopped.is_set():
            ready = self.holdings.startable(self.parts.clock.now())
            if not ready:
                await self._waking.pause(self.look_seconds)
                continue
            began = self.parts.clock.now()
            try:
                await self.leg.run(self.bounds.settings(ready[0].grant.contact))
            except (HeadgateError, OSError) as fault:
                if self.parts.clock.now() - began >= _WELL_SECONDS:
                    self._crawl_rests.all_well()
                wait = self._crawl_rests.begin(self.parts.clock.now())
                self._tell(f"{fault}; tasks are given back, and claimed again in"
                           f" {format_duration(wait)}")  # fmt: skip
                self._give_all_back(str(fault))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._stopped.wait()

    def _wake(self) -> None:
        self._waking.wake()
        self.leg.look_now()

    async def _show(self) -> None:
        while True:
            self.watcher.state(self._status())
            await asyncio.sleep(self.state_seconds)

    def _status(self, state: str = "") -> NodeStatus:
        busy = next(self.holdings.of(Stage.CRAWLING), None) is not None
        state = state or self._away or ("working" if busy else "idle")
        return self.tally.status(state, self.holdings, self.parts.clock.now())

    def _tell(self, words: str) -> None:
        self.watcher.told([words])


async def _wind_down(loops: Sequence[asyncio.Task[None]]) -> None:
    """The crawl loop ends by itself, with everything stored; the others are cancelled."""
    _crawling, *others = loops
    for loop in others:
        loop.cancel()
    await asyncio.wait(loops)
