"""A collection kept fresh, without an end: visits are chosen, made, remembered; volumes are sealed.

    desk (board, memories) ──visit──► manager, conducting ──► fleet ──► journal, WARC
       ▲                                                                     │
       └──── catalog ◄── what it found ◄── memory of the site ◄──────────────┘

The parts are a crawl's. One task beside the conducting tends to all that is not a rate: visits
that ended, slots that are free, volumes, the site file, wishes, the state of now. A fault of this
machine (a full disk) ends the leg: what is stored is stored, a trouble says what to do, and after a
while the next leg begins.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from headgate.control.catalog import Catalog
from headgate.control.conducting import Conducting
from headgate.control.forecast import Forecast, Source
from headgate.control.learning import Learning
from headgate.control.manager import LOOK_SECONDS, Manager
from headgate.crawling.progress import Progress
from headgate.jobs.budget_keeping import BudgetKeeping
from headgate.jobs.change_notices import ChangeNotices
from headgate.jobs.from_python import fetcher_settings
from headgate.jobs.keep_desk import Desk, PlannedVisit
from headgate.jobs.keep_state import KeepState
from headgate.jobs.keep_volumes import KeepVolumes
from headgate.jobs.parts import Parts
from headgate.jobs.run_time import RunTime
from headgate.jobs.upkeep import FleetTerms, Upkeep, open_working_fleet
from headgate.model.budget import Budget
from headgate.model.errors import HeadgateError
from headgate.model.keep_status import KeepStatus
from headgate.model.site import Site
from headgate.model.task import KeptVisit, Task
from headgate.model.units import Seconds, format_duration
from headgate.recrawl.keep_policies import KeepPolicy
from headgate.recrawl.site_board import Why
from headgate.site_file.parsing import SiteFile
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.ignore_rules import save_ignore_rules
from headgate.storage.keep_wishes import Wish, WishKind, take_wishes
from headgate.storage.remembering import mend

__all__ = ["KeepJob", "KeepWatcher", "keep"]

_STATE_SECONDS = 60.0
_SELDOM = 12.0
_FILE_SECONDS = 2.0
_AFTER_FAULT_SECONDS, _LONGEST_AFTER_FAULT = 60.0, 3600.0
_VISIT_SECONDS = 600.0
"""So long a visit may take by its bytes; what is left is another's."""
_FIRST_BYTES = 20e6
"""Of a site that nobody knows, at once."""
_FIRST_RANGE = (1e4, 1e9)
_LEAST_NEW_BYTES = 200e3
_SET_BACK_SECONDS = 60.0
_FORGET_DAYS = 400.0
_DAY = 86_400.0
FILE_TROUBLE = "file"


@dataclass(frozen=True, slots=True)
class KeepJob:
    """What is to be kept, and how."""

    sites: tuple[Site, ...]
    budget: Budget
    out: Path
    contact: str
    """Told to servers."""
    policy: KeepPolicy
    seconds: float = math.inf
    """Then it ends."""
    once: bool = False
    """It ends when nothing is due."""
    reread: Callable[[], SiteFile | None] = lambda: None
    """The site file where it is another one than at the last call, read as the first time; raises
    what is wrong with it."""
    tend_seconds: float = 1.0
    """Between two looks at what there is to do, if nothing happens."""


class KeepWatcher(Protocol):
    """Who looks on. Called from the event loop, so it must not take long."""

    def told(self, words: Sequence[str]) -> None:
        """What somebody should know, a sentence each."""
        ...

    def state(self, status: KeepStatus) -> None:
        """Every minute, and at the end."""
        ...

    def attach(self, keeper: Keeper) -> None:
        """It can be stopped from now on."""
        ...


async def keep(job: KeepJob, parts: Parts, watcher: KeepWatcher) -> KeepStatus:
    """Until it is stopped, or has come to the end that the job has; the last state of it."""
    collection = Collection(job.out)
    with collection.lock(), parts.open_catalog(collection.catalog) as catalog:
        agent = fetcher_settings(job.sites, job.contact).user_agent
        async with ChangeNotices(collection.path, parts.clock, agent) as notices:
            keeper = Keeper(job, collection, catalog, parts, watcher, notices)
            watcher.attach(keeper)
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
        self._budget = job.budget
        self._collection = collection
        self._catalog = catalog
        self._parts = parts
        self._watcher = watcher
        self._clock = parts.clock
        self._time = RunTime(parts.clock, 0.0)
        self.desk = Desk(collection, catalog, job.policy)
        self.volumes = KeepVolumes(
            collection, catalog, parts.clock, parts.seal_volume, job.budget.volume
        )
        self.state = KeepState(collection, catalog, self.desk, self.volumes, job)
        self._stopped = ""
        self._visits: dict[str, _Underway] = {}
        self._ended: list[Progress] = []
        self._woken = asyncio.Event()
        self._leg: Upkeep | None = None
        self._faults = 0
        """Of this machine, since a visit ended well."""
        self._state_at = self._file_at = -math.inf
        self._started = parts.clock.now()
        self._ahead = parts.clock.wall() - self._started
        """The clock on the wall, before the one that never jumps."""

    def stop(self, reason: str = "stopped") -> None:
        """End in order: visits end with what they have, and all is sealed."""
        self._stopped = self._stopped or reason
        if self._leg is not None:
            self._leg.conducting.interrupt(reason)
        self._woken.set()

    def look_again(self) -> None:
        """At the site file, now."""
        self._file_at = -math.inf
        self._woken.set()

    async def run(self) -> KeepStatus:
        self._tell(self.volumes.recover())
        self._take_sites(self._job.sites)
        self._catalog.forget_before(self._wall - _FORGET_DAYS * _DAY)
        while not self._stopped:
            try:
                await self._keep()
            except (HeadgateError, OSError) as fault:
                await self._sit_out(fault)
        await self._end()
        return self._save_state(running=False)

    @property
    def _wall(self) -> float:
        return self._clock.wall()

    async def _keep(self) -> None:
        """A leg: until somebody stops it, or this machine fails."""
        job, budget, clock = self._job, self._budget, self._clock
        learning = Learning.of(self._catalog, budget.calendar, tuple(self.desk.sites.values()))
        nowhere = RunFolder(self._collection.path, "")
        keeping = BudgetKeeping(
            budget, self.volumes.open or nowhere, self._catalog, clock, self._tell
        )
        manager = Manager.of((), {}, keeping.capacity, budget.crawlers)
        settings = fetcher_settings(job.sites, job.contact)
        terms = FleetTerms(self._collection.path, "", settings, many_sites=True)
        async with open_working_fleet(
            self._parts, terms, budget, manager.bytes_left, self._tell_line
        ) as fleet:
            conducting = Conducting(
                manager, fleet, clock, self._look, beside=asyncio.to_thread, endless=True
            )
            self._leg = Upkeep(conducting, keeping, learning)
            tending = asyncio.create_task(self._tend())
            try:
                await conducting.run()
            except BaseException:
                with contextlib.suppress(Exception):  # the first fault is the one to tell
                    await fleet.close("a fault")
                raise
            finally:
                tending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await tending
                self._leg = None
            learning.finish(fleet.servers(), self._time.awake(conducting.now), self._wall)
            keeping.save_use()
        await self._take_ended()
        for site, never_begun in list(self._visits.items()):
            self.desk.board.end(site)
            self.volumes.leave(never_begun.volume)
            del self._visits[site]

    async def _sit_out(self, fault: Exception) -> None:
        """A fault of this machine: visits that were under way are ended by what they stored."""
        self._visits.clear()
        self._ended.clear()
        self.state.troubled(
            "machine", str(fault), "make room on the disk, or mend what is named; it goes on then"
        )
        wait = min(_AFTER_FAULT_SECONDS * 2.0**self._faults, _LONGEST_AFTER_FAULT)
        self._faults = min(self._faults + 1, 10)
        self._tell([f"{fault}; Headgate tries again in {format_duration(wait)}"])
        with contextlib.suppress(HeadgateError, OSError):
            self._save_state(running=True)
        waited = 0.0
        while waited < wait and not self._stopped:
            await asyncio.sleep(1.0)
            waited += 1.0
        with contextlib.suppress(HeadgateError, OSError):
            self._tell(await self.volumes.rejoin())
            self.desk.forget_visits()
            self._take_sites(self._job.sites)
            self.state.settled("machine")

    async def _end(self) -> None:
        try:
            await self.volumes.finish()
        except (HeadgateError, OSError) as fault:
            self._tell([str(fault)])

    def _look(self, now: float, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
        leg = self._leg
        if leg is None:
            return
        leg.keep_budget(now, reports)
        leg.keeping.save(now)
        leg.learn(reports, granted, self._time.awake(now), self._wall)
        for report in reports:
            if report.ended is not None:
                self._ended.append(report)
            elif report.site in self._visits:
                self._visits[report.site].progress = report
        if self._ended:
            self._woken.set()

    def _tell_line(self, rate: float, held_back: bool) -> None:
        if self._leg is not None:
            self._leg.tell_line(rate, held_back)

    async def _tend(self) -> None:
        """All that is not a rate. What fails here is the leg's fault."""
        leg = self._leg
        assert leg is not None
        try:
            while not leg.conducting.interrupted:
                self._woken.clear()
                self._look_at_clock()
                await self._take_ended()
                self._obey_wishes()
                self._look_at_file()
                await self._begin_visits(leg)
                self._tend_volumes(leg)
                self._tell_state()
                if self._is_over():
                    self.stop("over")
                    return
                leg.conducting.look_seconds = self._look_seconds
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._until_next()):
                        await self._woken.wait()
        except Exception as fault:
            leg.conducting.interrupt(str(fault))
            raise

    def _until_next(self) -> float:
        """Seconds until there may be something to do, if nobody says so before."""
        soon = self.desk.board.next_moment(self._wall) - self._wall
        most = self._job.tend_seconds
        return soon if 0 < soon < most else most

    def _look_at_clock(self) -> None:
        """One that was set back leaves moments in the future that nobody should wait for."""
        ahead = self._wall - self._clock.now()
        if ahead < self._ahead - _SET_BACK_SECONDS:
            self.desk.look_at_all_again(self._wall)
        self._ahead = ahead

    @property
    def _look_seconds(self) -> float:
        """Where nothing runs, and nobody waits for anything, there is little to look at."""
        seldom = not self._visits and self._job.tend_seconds > 1.0
        return self._job.tend_seconds if seldom else LOOK_SECONDS

    def _is_over(self) -> bool:
        if self._clock.now() - self._started >= self._job.seconds:
            return True
        idle = not self._visits and self.desk.board.next_task(self._wall) is None
        return self._job.once and idle

    async def _begin_visits(self, leg: Upkeep) -> None:
        """As many as there are crawlers; visits to slow servers hold theirs."""
        rate = leg.keeping.rate_at(leg.conducting.now)
        if rate is not None and rate <= 0:
            return
        while len(self._visits) < self._budget.crawlers and not self._stopped:
            wall = self._wall
            task = self.desk.board.next_task(wall)
            if task is None:
                return
            until = min(max(self.desk.board.next_promise(wall) - wall, 0.0), _VISIT_SECONDS)
            most = math.inf if rate is None else rate * max(until, 1.0)
            planned = await asyncio.to_thread(self.desk.plan, task, wall, most)
            if planned is None:
                self.desk.board.pause(task.site, wall + 1.0)
                continue
            self._begin(leg, planned, rate)

    def _begin(self, leg: Upkeep, planned: PlannedVisit, rate: float | None) -> None:
        volume = self.volumes.enter()
        leg.keeping.run = volume
        first = _FIRST_BYTES if rate is None else max(rate * _VISIT_SECONDS, _LEAST_NEW_BYTES)
        new = first if planned.asks is None else max(planned.expected_bytes, _LEAST_NEW_BYTES)
        deadline = None
        if planned.why is Why.PROMISE and planned.due is not None:
            deadline = Seconds(max(planned.due - planned.began, 1.0))
        site = dataclasses.replace(planned.site, deadline=deadline)
        kept = KeptVisit(volume.stamp, new, planned.believe)
        self.desk.board.begin(site.name, planned.began)
        self._visits[site.name] = _Underway(planned, volume.stamp)
        leg.conducting.arrive(Task(site, planned.visit, planned.asks, kept), _forecast(planned))

    async def _take_ended(self) -> None:
        while self._ended:
            progress = self._ended.pop(0)
            under_way = self._visits.pop(progress.site, None)
            if under_way is None:
                continue
            wall = self._wall
            end = await asyncio.to_thread(
                self.desk.learn, under_way.planned, under_way.volume, progress, wall
            )
            self.desk.record(end)
            self._faults = 0
            self.volumes.leave(under_way.volume)
            self.state.visited(end)
            if under_way.planned.site.keeping.on_change:
                self._notices.take()
        self._tell(self.desk.take_remarks())

    def _tend_volumes(self, leg: Upkeep) -> None:
        if self.volumes.is_full():
            self.volumes.turn()
            leg.keeping.run = RunFolder(self._collection.path, "")
        self.volumes.tend()

    def _tell_state(self) -> None:
        now = self._clock.now()
        if now - self._state_at >= max(_STATE_SECONDS, _SELDOM * self._job.tend_seconds):
            self._state_at = now
            self._save_state(running=True)

    def _save_state(self, *, running: bool) -> KeepStatus:
        visits = {site: (one.planned, one.progress) for site, one in self._visits.items()}
        keeping = None if self._leg is None else self._leg.keeping
        status = self.state.save(self._wall, visits, keeping, self._notices, running=running)
        self._watcher.state(status)
        return status

    def _look_at_file(self) -> None:
        """The file may have changed; one with a mistake changes nothing but a trouble."""
        now = self._clock.now()
        if now - self._file_at < _FILE_SECONDS:
            return
        self._file_at = now
        try:
            contents = self._job.reread()
        except (HeadgateError, OSError) as fault:
            self.state.troubled(FILE_TROUBLE, f"{fault}; the sites stay as they were", "mend it")
            self._tell([f"{fault}; the sites stay as they were"])
            return
        if contents is None:
            return
        self.state.settled(FILE_TROUBLE)
        self._take_sites(contents.sites)
        self._take_budget(contents.budget)
        self._tell([f"the site file was read again: {len(contents.sites)} sites"])

    def _take_sites(self, sites: Sequence[Site]) -> None:
        """Visits to sites that are there no more end with what they have. Seeds may be at other
        hosts now, so that a new leg begins with them."""
        changed = self.desk.sites.keys() ^ {site.name for site in sites}
        self.desk.take_sites(sites, self._wall)
        save_ignore_rules(self._collection.path, sites)
        self._job = dataclasses.replace(self._job, sites=tuple(sites))
        if self._leg is not None and changed:
            self._leg.conducting.interrupt("new sites")

    def _take_budget(self, budget: Budget) -> None:
        """A new leg begins with it; visits under way end with what they have."""
        if budget == self._budget:
            return
        self._budget = budget
        self.volumes.bounds = budget.volume
        if self._leg is not None:
            self._leg.conducting.interrupt("a new budget")

    def _obey_wishes(self) -> None:
        for wish in take_wishes(self._collection.path):
            if wish.site not in self.desk.sites:
                self._tell([f"{wish.site}: no such site is kept"])
            elif wish.kind is WishKind.PAUSE:
                self.desk.pause(wish.site, wish.until)
            elif wish.kind is WishKind.VISIT:
                self.desk.board.want(wish.site)
            elif wish.site in self._visits:
                self._tell([f"{wish.site} is being visited; ask again in a while"])
            else:
                self._rebuild(wish)

    def _rebuild(self, wish: Wish) -> None:
        self._tell(mend(self._collection, wish.site))
        self.desk.refresh(wish.site, self._wall)

    def _tell(self, words: Sequence[str]) -> None:
        if words:
            self._watcher.told(words)


@dataclass(slots=True)
class _Underway:
    planned: PlannedVisit
    volume: str
    progress: Progress | None = field(default=None)


def _forecast(planned: PlannedVisit) -> Forecast:
    if planned.asks is None:
        return Forecast(8e6, Source.HISTORY, bytes_range=_FIRST_RANGE)
    cap = planned.expected_bytes / max(planned.expected_seconds, 0.1)
    expected = max(planned.expected_bytes, 1.0)
    return Forecast(expected, Source.HISTORY, cap, bytes_range=(expected / 3, expected * 3))
