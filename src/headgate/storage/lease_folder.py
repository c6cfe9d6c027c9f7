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

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from headgate.crawling.progress import Progress
from headgate.crawling.task_messages import Grant, Lease, decoded, encoded
from headgate.model.task import Apart, Task
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.faults import reading, writing
from headgate.storage.handout import handout_path, is_handout, save_handout
from headgate.storage.journals.appending import sync_folder
from headgate.storage.journals.journal import Journal, Owner
from headgate.storage.journals.spool_files import Place
from headgate.storage.journals.survey_log import SurveyFile
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.site_memory import SiteMemory
from headgate.storage.replacing import sync_files, write_whole

__all__ = [
    "LeaseFolder",
    "SavedGrant",
    "is_complete",
    "keep_handout",
    "keep_memory",
    "lease_folders",
]

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

    def _place(self, grant: Grant) -> Place:
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
