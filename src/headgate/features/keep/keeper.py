"""Keeps a collection fresh without an end: plans, makes and records visits, and seals volumes.

    planner (board, memories) ──visit──► manager, control loop ──► fleet ──► journal, WARC
       ▲                                                                          │
       └──── catalog ◄── what it found ◄── memory of the site ◄───────────────────┘

The parts are those of a crawl. Beside the control loop, one task handles everything but rates:
visits that have ended, free slots, volumes, the site file, wishes, the status. A fault of this
machine (a full disk) ends the leg: what is stored stays, a trouble says what to do, and the next
leg begins after a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from headgate.control.catalog import Catalog
from headgate.control.manager import LOOK_SECONDS, Manager
from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.node import NodeJob, TaskKinds
from headgate.engine.parts import Parts
from headgate.engine.session import Accounting, Session, open_session
from headgate.features.keep.job import KeepJob, KeepWatcher
from headgate.features.keep.link_exchange import LinkExchange
from headgate.features.keep.notices import ChangeNotices
from headgate.features.keep.sealing_child import retain_in_child, seal_in_child
from headgate.features.keep.status import KeepStatus
from headgate.features.keep.status_log import KeeperStatus
from headgate.features.keep.user_commands import UserCommands
from headgate.features.keep.visit_memory import remember_kept
from headgate.features.keep.visit_planner import VisitPlanner
from headgate.features.keep.visits import KeepVisits
from headgate.features.keep.volumes import KeepVolumes
from headgate.frontier.retries import Backoff
from headgate.model.errors import HeadgateError
from headgate.model.site import Site
from headgate.model.units import format_duration
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.ignore_rules import save_ignore_rules
from headgate.storage.retention import save_retention
from headgate.storage.safe_files import without_remedy

__all__ = ["Keeper", "keep"]

_STATE_SECONDS = 60.0
_SELDOM = 12.0
_AFTER_FAULT_SECONDS, _LONGEST_AFTER_FAULT = 60.0, 3600.0
_FORGET_DAYS = 400.0
_DAY = 86_400.0


async def keep(job: KeepJob, parts: Parts, watcher: KeepWatcher) -> KeepStatus:
    """Keep a collection until stopped, or until the end that the job sets; return the last
    status."""
    collection = Collection(job.out)
    with collection.lock(), parts.open_catalog(collection.catalog) as catalog:
        agent = fetcher_settings((), job.contact).user_agent
        async with ChangeNotices(collection.path, parts.clock, agent, job.sites) as notices:
            keeper = Keeper(
                job, collection, catalog=catalog, parts=parts, watcher=watcher, notices=notices
            )
            watcher.on_start(keeper)
            return await keeper.run()


class Keeper:
    """One call of `keep`."""

    def __init__(
        self,
        job: KeepJob,
        collection: Collection,
        catalog: Catalog,
        parts: Parts,
        watcher: KeepWatcher,
        notices: ChangeNotices,
    ) -> None:
        self._job = job
        self._notices = notices
        self._collection = collection
        self._catalog = catalog
        self._watcher = watcher
        self._clock = parts.clock
        self.planner = VisitPlanner(collection, catalog, job.policy)
        self.volumes = KeepVolumes(
            collection,
            catalog,
            clock=parts.clock,
            seal=parts.seal_volume or seal_in_child,
            retain=parts.apply_retention or retain_in_child,
            bounds=job.budget.volume,
        )
        self._links = LinkExchange(collection)
        self.state = KeeperStatus(collection, catalog, self.planner, self.volumes, job)
        self._stopped = ""
        self._visits = KeepVisits(
            self.planner,
            self.volumes,
            state=self.state,
            notices=notices,
            links=self._links,
            clock=parts.clock,
        )
        self._woken = asyncio.Event()
        self.legs = KeepLegs(parts, collection, catalog, self._tell, self._heard)
        self._orders = UserCommands(
            collection,
            self.planner,
            visits=self._visits,
            state=self.state,
            clock=parts.clock,
            notify=self._tell,
            interrupt=self.legs.interrupt,
        )
        self._wall = WallWatch(parts.clock)
        self._backoff = Backoff(_AFTER_FAULT_SECONDS, _LONGEST_AFTER_FAULT)
        """Faults of this machine since the last visit that ended well."""
        self._apart = False
        """After such a fault: the visits that it ended are not recorded yet."""
        self._state_at = -math.inf
        self._started = parts.clock.now()

    def stop(self, reason: str = "stopped") -> None:
        """End in order: visits end with what they have, and everything is sealed."""
        self._stopped = self._stopped or reason
        self.legs.interrupt(reason)
        self._woken.set()

    def reread_site_file(self) -> None:
        """Read the site file again now."""
        self._orders.reread_site_file()
        self._woken.set()

    async def run(self) -> KeepStatus:
        self._tell(self.volumes.recover(self._job.sites))
        self._notices.collect()
        self._take_sites(self._job.sites)
        _forget_old(self._catalog, self._clock)
        while not self._stopped:
            try:
                await self._rejoin()
                await self.legs.run(self._job, self.volumes.open, self._tend)
                await self._settle()
                self._visits.give_back()
            except (HeadgateError, OSError) as fault:
                self._apart = True
                await self._sit_out(fault)
        try:
            await self._rejoin()
            await self.volumes.finish()
        except (HeadgateError, OSError) as fault:
            self._tell([str(fault)])
        return self._save_state(running=False)

    async def _sit_out(self, fault: Exception) -> None:
        """After a fault of this machine: running visits end with what they stored; wait."""
        self._visits.forget()
        what = without_remedy(str(fault))
        self.state.troubled(
            "machine", what, "make room on the disk, or repair what is named; it then continues"
        )
        wait = self._backoff.failed()
        self._tell([f"{what}; Headgate tries again in {format_duration(wait)}"])
        with contextlib.suppress(HeadgateError, OSError):
            self._save_state(running=True)
        waited = 0.0
        while waited < wait and not self._stopped:
            await asyncio.sleep(1.0)
            waited += 1.0
            if self._clock.now() - self._started >= self._job.seconds:
                self.stop("over")

    async def _rejoin(self) -> None:
        """Recover from such a fault. No leg begins before that: its sites would count as being
        visited for ever, and its volumes would never be sealed."""
        if self._apart:
            self._tell(await self.volumes.rejoin(self._job.sites))
            self._notices.collect()
            self.planner.forget_visits()
            self._take_sites(self._job.sites)
            self._apart = False

    def _heard(self, reports: Sequence[Progress]) -> None:
        if self._visits.heard(reports):
            self._woken.set()

    async def _tend(self, leg: Session) -> None:
        """Handle everything but rates, beside the control loop. A fault here ends the leg."""
        try:
            while not leg.control_loop.interrupted:
                self._woken.clear()
                if seconds := self._wall.set_back_by():
                    self.planner.set_back(seconds, self._clock.wall())
                await self._settle()
                if self._orders.obey():
                    self._state_at = -math.inf  # a user who made a wish will look at the status
                self._take_file()
                await self._visits.begin(leg, self._job.slots)
                if self.volumes.is_full():
                    self.volumes.turn()
                    _forget_old(self._catalog, self._clock)
                    leg.budget_keeper.run = RunFolder(self._collection.path, "")
                self.volumes.tend()
                self._tell_state()
                if self._is_over():
                    self.stop("over")
                    return
                # Without a running visit, look less often.
                idle = not self._visits and self._job.tend_seconds > 1.0
                leg.control_loop.look_seconds = self._job.tend_seconds if idle else LOOK_SECONDS
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(
                        _until_next(self.planner, self._clock.wall(), self._job.tend_seconds)
                    ):
                        await self._woken.wait()
        except Exception as fault:
            leg.control_loop.interrupt(str(fault))
            raise

    def _is_over(self) -> bool:
        if self._clock.now() - self._started >= self._job.seconds:
            return True
        if not self._job.once or self._visits:
            return False
        return self.planner.board.next_task(self._clock.wall()) is None

    async def _settle(self) -> None:
        if await self._visits.settle():
            self._backoff.reset()
            self.state.settled("machine")
        self._tell(self.planner.take_remarks())

    def _tell_state(self) -> None:
        """Report the status every minute; in the first minute more often, as a user may be
        watching."""
        now = self._clock.now()
        usual = min(now - self._started, _STATE_SECONDS)
        if now - self._state_at >= max(usual, _SELDOM * self._job.tend_seconds):
            self._state_at = now
            self._save_state(running=True)

    def _save_state(self, *, running: bool) -> KeepStatus:
        keeping = None if self.legs.now is None else self.legs.now.budget_keeper
        status = self.state.save(
            self._clock.wall(), self._visits.shown, keeping, self._notices, running=running
        )
        self._watcher.on_progress(status)
        return status

    def _take_file(self) -> None:
        """Apply a changed site file. A new budget begins a new leg, and running visits end with
        what they have."""
        contents = self._orders.new_file(self._job.reread)
        if contents is None:
            return
        self._take_sites(contents.sites)
        budget = contents.budget
        if budget.staleness is not self._job.budget.staleness:
            self.planner.make_small(budget.staleness, self._clock.wall())
        if budget != self._job.budget:
            contact = budget.contact or self._job.contact
            self._job = structs.replace(self._job, budget=budget, contact=contact)
            self.state.job = self._job
            self.volumes.bounds = budget.volume
            self.legs.interrupt("a new budget")

    def _take_sites(self, sites: Sequence[Site]) -> None:
        """Keep these sites from now on. If sites or seeds have changed, a new leg begins, and
        running visits end with what they have."""
        before = {name: site.seeds for name, site in self.planner.sites.items()}
        self.planner.set_sites(sites, self._clock.wall())
        save_ignore_rules(self._collection.path, sites)
        save_retention(self._collection.path, sites)
        self._links.set_sites(sites)
        self._notices.set_sites(sites)
        self._job = structs.replace(self._job, sites=tuple(sites))
        if before != {site.name: site.seeds for site in sites}:
            self.legs.interrupt("new sites")

    def _tell(self, words: Sequence[str]) -> None:
        if words:
            self._watcher.on_messages(words)


def _forget_old(catalog: Catalog, clock: Clock) -> None:
    """Called with each volume, as a keeper may run for years."""
    catalog.forget_before(clock.wall() - _FORGET_DAYS * _DAY)


def _until_next(planner: VisitPlanner, wall: float, most: float) -> float:
    """Seconds until there may be something to do, unless woken before."""
    soon = planner.board.next_moment(wall) - wall
    return soon if 0 < soon < most else most


_MOST_OF_CREW = 10_000
"""Slots of the manager with a crew, which bounds the number of visits itself."""


@dataclass(slots=True)
class KeepLegs:
    """The legs of a keeper: each has one budget, one set of hosts, a manager and a fleet, and lasts
    until it is interrupted or this machine fails.
    """

    parts: Parts
    collection: Collection
    catalog: Catalog
    notify: Callable[[Sequence[str]], None]
    heard: Callable[[Sequence[Progress]], None]
    """Called with the progress of visits."""
    now: Session | None = None
    """The current leg."""

    def interrupt(self, reason: str) -> None:
        """Visits end with what they have."""
        if self.now is not None:
            self.now.control_loop.interrupt(reason)

    async def run(
        self, job: KeepJob, volume: RunFolder | None, tend: Callable[[Session], Awaitable[None]]
    ) -> None:
        """Run one leg; ``tend`` runs beside it, and its faults end the leg."""
        folder, budget = self.collection.path, job.budget
        run = volume or RunFolder(folder, "")
        accounting = Accounting(
            run, self.catalog, budget, self.parts.clock, self.notify, sites=job.sites
        )
        slots = budget.crawlers if job.crew is None else _MOST_OF_CREW
        manager = Manager.from_sites((), {}, accounting.budget_keeper.capacity, slots)
        settings = fetcher_settings(job.sites, job.contact)
        kinds = TaskKinds(keep=remember_kept)
        visits = NodeJob(folder, "", settings, many_sites=True, kinds=kinds)
        async with open_session(
            accounting, manager, visits, self.parts, self._observe, endless=True
        ) as session:
            self.now = session
            tending = asyncio.ensure_future(tend(session))
            try:
                await session.conduct()
            finally:
                tending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await tending
                self.now = None

    def _observe(
        self,
        session: Session,
        now: float,
        reports: Sequence[Progress],
        granted: Mapping[str, float],
    ) -> None:
        session.observe(now, reports, granted)
        self.heard(reports)


_SET_BACK_SECONDS = 60.0


@dataclass(slots=True)
class WallWatch:
    """Detects that the wall clock was set back, by comparison with the monotonic clock."""

    clock: Clock
    _ahead: float = field(init=False)
    """How far the wall clock is ahead of the monotonic one."""

    def __post_init__(self) -> None:
        self._ahead = self.clock.wall() - self.clock.now()

    def set_back_by(self) -> float:
        """Seconds that the clock was set back since the last call; 0: it was not. Stored times may
        then be in the future, and must not be waited for."""
        before, self._ahead = self._ahead, self.clock.wall() - self.clock.now()
        seconds = before - self._ahead
        return seconds if seconds > _SET_BACK_SECONDS else 0.0
