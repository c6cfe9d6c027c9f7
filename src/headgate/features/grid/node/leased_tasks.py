"""The tasks that a node holds, and their folders, until their results are delivered."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from headgate.crawling.progress import Progress
from headgate.features.grid.protocol import Grant, Held, Lease, Orders, decoded, encoded
from headgate.features.grid.scheduler.leases import LeaseBook
from headgate.features.survey.log import SurveyFile
from headgate.model.task import Apart, Task
from headgate.model.units import Bytes
from headgate.storage.append_file import sync_folder
from headgate.storage.atomic_write import sync_files, write_whole
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Journal, Owner, SpoolPlace
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.site import SiteMemory
from headgate.storage.part_seed_file import handout_path, is_handout, save_handout
from headgate.storage.safe_files import reading, writing

__all__ = ["LeaseFolder", "LeasedTask", "LeasedTasks", "Stage", "keep_handout", "keep_memory"]

_ANY_BYTES = 2.0**60
_ENOUGH = 0.75
"""The part of the largest result that a visit ends at."""


class Stage(Enum):
    WAITING = auto()
    CRAWLING = auto()
    ENDED = auto()


@dataclass(slots=True)
class LeasedTask:
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
class LeasedTasks:
    """The tasks that a node holds, from the grant until their results are delivered.

        granted ─► WAITING ─► CRAWLING ─► ENDED ─► delivered: forgotten, and its folder deleted
                      ▲           │
                      └───────────┘  its lease is not known to be valid, or this machine failed

    A task that is lost or given back is deleted with all that was fetched, unless it has ended: its
    complete result may still be the first.
    """

    home: Path
    book: LeaseBook = field(default_factory=LeaseBook)
    works: dict[Lease, LeasedTask] = field(default_factory=dict)

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
            self._hold(LeasedTask(folder, saved, progress, stage), 0.0, 0.0)

    def accept(self, grant: Grant, asked: float, wall: float) -> LeasedTask:
        """Take a granted task; its folder is durable when this returns."""
        folder = LeaseFolder(self.home, grant.lease)
        saved = SavedGrant(grant, wall)
        folder.begin(saved)
        progress = Progress(grant.task.name, visit=grant.task.visit)
        work = LeasedTask(folder, saved, progress, complete=False)
        self._hold(work, asked, grant.seconds)
        return work

    def end(self, work: LeasedTask, progress: Progress) -> None:
        """The task has ended, and its result waits to be delivered."""
        work.folder.end(work.grant, progress)
        work.progress, work.stage = progress, Stage.ENDED

    def set_back(self, work: LeasedTask, progress: Progress) -> None:
        """Return a task to WAITING; it continues if its lease is still this node's."""
        work.progress, work.stage = progress, Stage.WAITING
        if work.lost:
            self.forget(work)

    def lose(self, work: LeasedTask, why: str) -> None:
        """Lose a task; the caller stops it if it is being crawled."""
        work.lost = work.lost or why
        if work.stage is Stage.WAITING:
            self.forget(work)

    def forget(self, work: LeasedTask) -> None:
        self.book.drop(work.lease)
        self.works.pop(work.lease, None)
        work.folder.delete()

    def obey(self, orders: Orders, asked: float) -> list[LeasedTask]:
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

    def crawled(self, site: str) -> LeasedTask | None:
        return next((work for work in self.in_stage(Stage.CRAWLING) if work.site == site), None)

    def startable(self, now: float) -> list[LeasedTask]:
        """Tasks that may be started now; a site has one running task at a time."""
        busy = {work.site for work in self.in_stage(Stage.CRAWLING)}
        found = []
        for work in self.in_stage(Stage.WAITING):
            good = self.book.is_good(work.lease, now) and not work.ending and work.complete
            if good and work.site not in busy:
                busy.add(work.site)
                found.append(work)
        return found

    def in_stage(self, stage: Stage) -> Iterator[LeasedTask]:
        return (work for work in list(self.works.values()) if work.stage is stage)

    @property
    def unfinished(self) -> list[LeasedTask]:
        return [work for work in self.works.values() if work.stage is not Stage.ENDED]

    def held(self) -> tuple[Held, ...]:
        """For a heartbeat: all tasks that the manager knows and that are not lost, those that have
        ended last."""
        known = (work for work in self.works.values() if not (work.lost or work.of_another_run))
        first = sorted(known, key=lambda work: work.stage is Stage.ENDED)
        return tuple(Held(lease=work.lease, progress=work.progress) for work in first)

    def used_bytes(self) -> int:
        return sum(work.folder.used_bytes() for work in list(self.works.values()))

    def _hold(self, work: LeasedTask, asked: float, seconds: float) -> None:
        self.works[work.lease] = work
        self.book.add(work.lease, asked, seconds)


_LEASES = "leases"
_COMPLETE = "complete"
_NAME = re.compile(r"(\d{1,18})\.(\d{1,18})")

Kind = TypeVar("Kind")


class SavedGrant(msgspec.Struct, frozen=True):
    """With the wall-clock time of its arrival: deadlines go on while a node is off."""

    grant: Grant
    wall: float


@dataclass(frozen=True, slots=True)
class LeaseFolder:
    """The folder of a lease on a node's disk: a small collection, until its files are delivered.

        leases/<task>.<epoch>/
          grant.json                what the manager gave
          arriving                  a part of what it knows, as it comes
          sites/<site>.pages        what it knows of the site
          spool/<stamp>/            the journal; of a part of a site, what was left to it
          runs/<stamp>/warc/        pages
          complete                  all that the manager has for the visit is here
          ended.json                how the visit ended: from then on it waits to be brought

    Journal and WARC files have the names that they will have in the manager's collection.
    """

    home: Path
    """The folder of the node."""
    lease: Lease

    @property
    def name(self) -> str:
        return f"{_LEASES}/{self.lease.task}.{self.lease.epoch}"

    @property
    def path(self) -> Path:
        return self.home / self.name

    def begin(self, saved: SavedGrant) -> None:
        """Save the grant durably: a node that is killed still knows its tasks."""
        run = RunFolder(self.path, saved.grant.stamp)
        with writing(self.path):
            for folder in (run.warc, run.spool, self.path / "sites"):
                folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / "grant.json", encoded(saved))
        sync_folder(self.path.parent)

    @property
    def arriving(self) -> Path:
        return self.path / "arriving"

    def add_piece(self, offset: int, data: bytes) -> None:
        """Write a piece of what arrives; at 0 it begins anew."""
        with writing(self.arriving), self.arriving.open("r+b" if offset else "wb") as file:
            file.seek(offset)
            file.write(data)

    def complete(self) -> None:
        """All that the manager has for the visit is here, or was left out as damaged: a node that
        is killed goes on with it. That a file exists does not say so."""
        write_whole(self.path / _COMPLETE, b"")

    def grant(self) -> SavedGrant | None:
        """The saved grant; None: it was not saved completely."""
        return self._load("grant.json", SavedGrant)

    def end(self, grant: Grant, progress: Progress) -> None:
        """The visit has ended and all is stored. One that fetched nothing gets an empty journal:
        its result is that there is nothing."""
        path = self._place(grant).journal
        if not path.exists():
            _begin_journal(path, grant.task)
        write_whole(self.path / "ended.json", encoded(progress))

    def ended(self) -> Progress | None:
        return self._load("ended.json", Progress)

    def task(self, grant: Grant) -> Task:
        """The task, with its files in this folder."""
        return replace(grant.task, apart=Apart(self.name, grant.stamp))

    def files(self, grant: Grant) -> list[Path]:
        """The files of the result: journal and WARC files."""
        place = self._place(grant)
        found = [place.journal] if place.journal.exists() else []
        number = 1
        while (path := place.warc.path(number)).exists():
            found.append(path)
            number += 1
        return found

    def used_bytes(self) -> int:
        used = 0
        with suppress(OSError):  # something was just deleted
            for folder, _, names in os.walk(self.path):
                used += sum(Path(folder, name).stat().st_size for name in names)
        return used

    def delete(self) -> None:
        """Delete in one step, so that no half folder is found later."""
        gone = self.home / _LEASES / f".gone-{self.path.name}"
        if self.path.exists():
            with writing(self.path):
                self.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _place(self, grant: Grant) -> SpoolPlace:
        site, number = grant.task.whose
        return RunFolder(self.path, grant.stamp).place(site, visit=number)

    def _load(self, name: str, kind: type[Kind]) -> Kind | None:
        path = self.path / name
        if not path.exists():
            return None
        try:
            with reading(path):
                return decoded(path.read_bytes(), kind)
        except (msgspec.MsgspecError, ValueError):
            return None


def keep_memory(folder: LeaseFolder, grant: Grant) -> bool:
    """Make the memory that arrived the site's, durably; False: it is unusable and was left out."""
    site, _ = grant.task.whose
    try:
        SiteMemory.checked(folder.arriving, site).close()
    except DamagedMemory:
        folder.arriving.unlink()
        return False
    path = Collection(folder.path).memory(site)
    sync_files(folder.path, [folder.arriving.name])
    with writing(path):
        folder.arriving.replace(path)
    sync_folder(path.parent)
    return True


def keep_handout(folder: LeaseFolder, grant: Grant) -> bool:
    """Save the URLs that arrived for a part of a site; False: they are incomplete."""
    with reading(folder.arriving):
        packed = folder.arriving.read_bytes()
    folder.arriving.unlink()
    whole = len(packed) == grant.handed_bytes and is_handout(packed)
    if whole:
        save_handout(_handout(folder, grant), packed)
    return whole


def is_complete(folder: LeaseFolder, grant: Grant) -> bool:
    """Whether all that the manager has for the crawl came before the node ended."""
    if not grant.known_bytes and not grant.handed_bytes:
        return True
    return (folder.path / _COMPLETE).exists() or bool(folder.files(grant))


def _begin_journal(path: Path, task: Task) -> None:
    log = Journal(path, Owner(*task.whose)) if task.survey is None else SurveyFile(path)
    log.begin()
    log.close()


def _handout(folder: LeaseFolder, grant: Grant) -> Path:
    return handout_path(RunFolder(folder.path, grant.stamp), *grant.task.whose)


def lease_folders(home: Path) -> list[LeaseFolder]:
    """The lease folders of a node, oldest task first; deletes those half deleted."""
    folder = home / _LEASES
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        entries = sorted(folder.iterdir())
    found = []
    for entry in entries:
        if entry.name.startswith(".gone-"):
            shutil.rmtree(entry, ignore_errors=True)
        elif named := _NAME.fullmatch(entry.name):
            found.append(LeaseFolder(home, Lease(int(named[1]), int(named[2]))))
    return sorted(found, key=lambda lease_folder: lease_folder.lease)
