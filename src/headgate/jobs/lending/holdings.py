"""The tasks that a node holds, from the grant until their results are delivered.

    granted ─► WAITING ─► CRAWLING ─► ENDED ─► delivered: forgotten, and its folder deleted
                  ▲           │
                  └───────────┘  its lease is not known to be valid, or this machine failed

A task that is lost or given back is deleted with all that was fetched, unless it has ended: its
complete result may still be the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from msgspec.structs import replace

from headgate.control.lease_book import LeaseBook
from headgate.crawling.progress import Progress
from headgate.crawling.task_messages import Grant, Held, Lease, Orders
from headgate.model.task import Task
from headgate.model.units import Bytes
from headgate.storage.lease_folder import LeaseFolder, SavedGrant, is_complete, lease_folders

__all__ = ["Holdings", "Stage", "Work"]


_ANY_BYTES = 2.0**60
_ENOUGH = 0.75
"""The part of the largest result that a visit ends at."""


class Stage(Enum):
    WAITING = auto()
    CRAWLING = auto()
    ENDED = auto()


@dataclass(slots=True)
class Work:
    """A task that the node holds."""

    folder: LeaseFolder
    saved: SavedGrant
    progress: Progress
    stage: Stage = Stage.WAITING
    lost: str = ""
    """Why the node has lost it; it is deleted once its files are no longer written to."""
    ending: str = ""
    """Why the manager wants it to end with what was fetched."""
    not_before: float = -math.inf
    """Its result is to be offered from this time of the node's clock on."""
    of_another_run: bool = False
    """The manager is at another run now, and does not know it."""
    faults: int = 0
    """How often its result could not be read."""
    complete: bool = True
    """What the manager has for it is here: a visit without the site's memory would ask for nothing,
    or for everything again."""

    @property
    def lease(self) -> Lease:
        return self.folder.lease

    @property
    def grant(self) -> Grant:
        return self.saved.grant

    @property
    def site(self) -> str:
        return self.grant.task.name

    def task(self, wall: float) -> Task:
        """The task, with deadlines reduced by the time since it was granted."""
        task = self.folder.task(self.grant)
        site = task.site.as_of(max(wall - self.saved.wall, 0.0))
        if self.is_bounded:
            most = Bytes(self._enough_bytes)
            site = replace(site, max_bytes=min(site.max_bytes or most, most))
        return replace(task, site=site)

    @property
    def is_bounded(self) -> bool:
        """Whether the manager accepts no result above a certain size."""
        return self.grant.most_bytes < _ANY_BYTES

    @property
    def has_own_bound(self) -> bool:
        """Whether the user set a lower limit for the site than the manager."""
        own = self.grant.task.site.max_bytes
        return own is not None and own <= self._enough_bytes

    def is_enough(self) -> bool:
        """Whether the manager might accept no more: records of small pages take more than what
        came over the line. The folder may vanish meanwhile."""
        if not self.is_bounded:
            return False
        with suppress(OSError):
            files = self.folder.files(self.grant)
            return sum(path.stat().st_size for path in files) >= self._enough_bytes
        return False

    @property
    def _enough_bytes(self) -> float:
        """What is being fetched or written when a visit ends has its place beyond."""
        return _ENOUGH * self.grant.most_bytes


@dataclass(slots=True)
class Holdings:
    home: Path
    book: LeaseBook = field(default_factory=LeaseBook)
    works: dict[Lease, Work] = field(default_factory=dict)

    def recover(self) -> None:
        """Recover tasks of an earlier process; the manager must confirm their leases."""
        for folder in lease_folders(self.home):
            saved = folder.grant()
            ended = folder.ended()
            if saved is None or (ended is None and not is_complete(folder, saved.grant)):
                folder.delete()
                continue
            stage = Stage.WAITING if ended is None else Stage.ENDED
            progress = ended or Progress(saved.grant.task.name, visit=saved.grant.task.visit)
            self._hold(Work(folder, saved, progress, stage), 0.0, 0.0)

    def take(self, grant: Grant, asked: float, wall: float) -> Work:
        """Take a granted task; its folder is durable when this returns."""
        folder = LeaseFolder(self.home, grant.lease)
        saved = SavedGrant(grant, wall)
        folder.begin(saved)
        progress = Progress(grant.task.name, visit=grant.task.visit)
        work = Work(folder, saved, progress, complete=False)
        self._hold(work, asked, grant.seconds)
        return work

    def end(self, work: Work, progress: Progress) -> None:
        """The task has ended, and its result waits to be delivered."""
        work.folder.end(work.grant, progress)
        work.progress, work.stage = progress, Stage.ENDED

    def set_back(self, work: Work, progress: Progress) -> None:
        """Return a task to WAITING; it continues if its lease is still this node's."""
        work.progress, work.stage = progress, Stage.WAITING
        if work.lost:
            self.forget(work)

    def lose(self, work: Work, why: str) -> None:
        """Lose a task; the caller stops it if it is being crawled."""
        work.lost = work.lost or why
        if work.stage is Stage.WAITING:
            self.forget(work)

    def forget(self, work: Work) -> None:
        self.book.drop(work.lease)
        self.works.pop(work.lease, None)
        work.folder.delete()

    def obey(self, orders: Orders, asked: float) -> list[Work]:
        """Apply the answer to a heartbeat; return the tasks that were lost."""
        lost = []
        for stop in self.book.obey(orders, asked):
            work = self.works[stop.lease]
            if work.stage is not Stage.ENDED:
                self.lose(work, stop.why)
                lost.append(work)
        for end in orders.end:
            if (held := self.works.get(end.lease)) is not None:
                held.ending = held.ending or end.why
        return lost

    def may_fetch(self, site: str, now: float) -> bool:
        work = self.crawled(site)
        return work is not None and not work.lost and self.book.is_good(work.lease, now)

    def crawled(self, site: str) -> Work | None:
        return next((work for work in self.of(Stage.CRAWLING) if work.site == site), None)

    def startable(self, now: float) -> list[Work]:
        """Tasks that may be started now; a site has one running task at a time."""
        busy = {work.site for work in self.of(Stage.CRAWLING)}
        found = []
        for work in self.of(Stage.WAITING):
            good = self.book.is_good(work.lease, now) and not work.ending and work.complete
            if good and work.site not in busy:
                busy.add(work.site)
                found.append(work)
        return found

    def of(self, stage: Stage) -> Iterator[Work]:
        return (work for work in list(self.works.values()) if work.stage is stage)

    @property
    def unfinished(self) -> list[Work]:
        return [work for work in self.works.values() if work.stage is not Stage.ENDED]

    def held(self) -> tuple[Held, ...]:
        """For a heartbeat: all tasks that the manager knows and that are not lost, those that have
        ended last."""
        known = (work for work in self.works.values() if not (work.lost or work.of_another_run))
        first = sorted(known, key=lambda work: work.stage is Stage.ENDED)
        return tuple(Held(lease=work.lease, progress=work.progress) for work in first)

    def used_bytes(self) -> int:
        return sum(work.folder.used_bytes() for work in list(self.works.values()))

    def _hold(self, work: Work, asked: float, seconds: float) -> None:
        self.works[work.lease] = work
        self.book.take(work.lease, asked, seconds)
