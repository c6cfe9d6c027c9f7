"""The folder a user names with ``--out``, and the folder of each run in it.

    collection/
      catalog.sqlite            sites, runs, statistics, server speeds
      sites/<site>.pages        what is known of a site's pages, over all runs
      .lock                     held while a crawl writes; names its process
      runs/<stamp>/             what stays: warc/, index.cdxj, pages.parquet, links.parquet, ...
      spool/<stamp>/            what an unfinished run needs to go on: journals and saved state

A run is unfinished as long as its spool folder exists. The folder goes in one step, by a new name,
after everything made from it is durable; so a crash in between leaves either a run that can be
sealed again or a finished one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TypeVar

import msgspec

from headgate.model.errors import DamagedFile, UserMistake
from headgate.storage.faults import opening_collection, reading, writing
from headgate.storage.journals.appending import sync_folder
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.spool_files import Place
from headgate.storage.own_files import open_own, opened, refuse_links
from headgate.storage.replacing import write_whole
from headgate.storage.warc.writer import DEFAULT_FILE_BYTES, WarcFiles, file_safe

__all__ = ["Collection", "RunFolder"]

_DONE = ".done-"
_SHARED = "small-sites-"
_NUMBER = re.compile(rf"{_SHARED}(\d{{1,9}})(?:\.journal|-\d{{5}}\.warc\.gz)$")
_LONGEST_PATH = 3800
"""Of a collection: what is in it has longer ones, and Linux ends at 4096 bytes."""
_MOST_STATE_BYTES = 1 << 30

Kind = TypeVar("Kind")


class RunFolder(msgspec.Struct, frozen=True):
    """The two folders of one run."""

    collection: Path
    stamp: str

    @property
    def path(self) -> Path:
        """What stays."""
        return self.collection / "runs" / self.stamp

    @property
    def warc(self) -> Path:
        return self.path / "warc"

    @property
    def shelf(self) -> str:
        """The WARC folder's path within the collection."""
        return self.warc.relative_to(self.collection).as_posix()

    @property
    def spool(self) -> Path:
        """What goes when the run is over."""
        return self.collection / "spool" / self.stamp

    @property
    def unfinished(self) -> bool:
        return self.spool.is_dir() and not self.spool.is_symlink()

    @property
    def is_survey(self) -> bool:
        """Of a run that is not finished: whether ``headgate survey`` began it."""
        return self.load("survey") is not None

    def place(
        self,
        site: str,
        warcinfo: tuple[tuple[str, str], ...] = (),
        max_warc_bytes: int = DEFAULT_FILE_BYTES,
        visit: int = 0,
    ) -> Place:
        """Where a visit to a site keeps its journal and WARC files; 0: the run's only one."""
        stem = f"{file_safe(site)}~{visit}" if visit else file_safe(site)
        warc = WarcFiles(self.warc, stem, warcinfo, max_warc_bytes, self.shelf)
        return Place(Owner(site, visit), self.spool / f"{stem}.journal", warc)

    def shared_place(self, number: int, warcinfo: tuple[tuple[str, str], ...] = ()) -> Place:
        """Where small sites have theirs together; each process of each leg has a number."""
        stem = f"{_SHARED}{number}"
        warc = WarcFiles(self.warc, stem, warcinfo, shelf=self.shelf)
        return Place(None, self.spool / f"{stem}.journal", warc)

    def journals(self) -> list[Path]:
        """Of sites that have one of their own, in the order of their names."""
        shared = set(self.shared_journals())
        return sorted(path for path in self.spool.glob("*.journal") if path not in shared)

    def shared_journals(self) -> list[Path]:
        """In the order in which they were begun."""
        paths = (self.shared_place(number).journal for number in self.shared_numbers())
        return [path for path in paths if path.exists()]

    def shared_numbers(self) -> list[int]:
        """Of shared journals, and of WARC files whose journal a crash kept from being written."""
        files = chain(self.spool.glob(f"{_SHARED}*"), self.warc.glob(f"{_SHARED}*"))
        return sorted({int(found[1]) for file in files if (found := _NUMBER.match(file.name))})

    def save(self, name: str, data: bytes) -> None:
        """Keep something that a resumed run will need, in place of what it was before."""
        write_whole(self.state_file(name), data)

    def load(self, name: str) -> bytes | None:
        """What was saved last under a name; None: nothing."""
        path = self.state_file(name)
        with reading(path):
            try:
                file = opened(path)
            except FileNotFoundError:
                return None
            with file:
                return file.read(_MOST_STATE_BYTES)

    def load_as(self, name: str, kind: type[Kind], remedy: str) -> Kind | None:
        """What was saved as JSON; ``remedy`` is told to whoever finds it damaged."""
        data = self.load(name)
        if not data:
            return None
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise DamagedFile(self.state_file(name), str(error), remedy) from None

    def refuse_links(self) -> None:
        """Before anything is written into it, or deleted."""
        refuse_links(self.path, self.warc, self.spool)

    def state_file(self, name: str) -> Path:
        """Where something is saved under a name."""
        return self.spool / f"{name}.state"

    def finish(self) -> None:
        """Drop the spool. Only after the run has been sealed."""
        done = self.spool.with_name(f"{_DONE}{self.stamp}")
        with writing(self.spool):
            self.spool.rename(done)
        sync_folder(done.parent)
        shutil.rmtree(done, ignore_errors=True)


class Collection(msgspec.Struct, frozen=True):
    """Paths only: making one neither reads nor writes."""

    path: Path

    @property
    def catalog(self) -> Path:
        return self.path / "catalog.sqlite"

    @property
    def memories(self) -> Path:
        return self.path / "sites"

    def memory(self, site: str) -> Path:
        """Where all that is known of a site's pages is: `headgate.storage.memory.site_memory`."""
        return self.memories / f"{file_safe(site)}.pages"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Make the folder if need be and hold it: one crawl at a time may write to it."""
        with opening_collection(self.path):
            self._refuse_name()
            refuse_links(*(self.path / name for name in ("runs", "spool", "sites")))
            for folder in (self.path, self.path / "runs", self.path / "spool"):
                folder.mkdir(parents=True, exist_ok=True)
            fd = open_own(self.path / ".lock", os.O_RDWR | os.O_CREAT)
        try:
            sync_folder(self.path)
            self._hold(fd)
            for done in (self.path / "spool").glob(f"{_DONE}*"):
                shutil.rmtree(done, ignore_errors=True)
            yield
        finally:
            os.close(fd)

    @property
    def in_use(self) -> bool:
        """Whether a crawl holds the lock now."""
        try:
            fd = os.open(self.path / ".lock", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def new_run(self, started: datetime) -> RunFolder:
        """Folders for a run that starts now; needs the lock."""
        stamp = started.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%S")
        names = (stamp if number == 1 else f"{stamp}-{number}" for number in count(1))
        run = next(run for name in names if not (run := RunFolder(self.path, name)).path.exists())
        with writing(run.path):
            run.warc.mkdir(parents=True)
            run.spool.mkdir(parents=True)
        for folder in (run.path, run.path.parent, run.spool.parent):
            sync_folder(folder)
        return run

    def runs(self) -> list[RunFolder]:
        """All runs, the newest first."""
        folder = self.path / "runs"
        refuse_links(folder, self.path / "spool")
        with reading(self.path):
            entries = list(os.scandir(folder)) if folder.is_dir() else []
        names = [entry.name for entry in entries if not entry.is_symlink()]
        return [RunFolder(self.path, name) for name in sorted(names, key=_age, reverse=True)]

    def unfinished_run(self) -> RunFolder | None:
        """The newest run that can be resumed."""
        return next((run for run in self.runs() if run.unfinished), None)

    def _refuse_name(self) -> None:
        """What could not hold a run is refused before there is one."""
        if len(os.fsencode(self.path)) > _LONGEST_PATH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))

    def _hold(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise UserMistake(
                f"{self.path} is in use by another crawl (process {owner}); "
                "wait for its end or name another folder with --out"
            ) from None
        with writing(self.path):
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)


def _age(stamp: str) -> tuple[str, int]:
    """
    >>> sorted(["2026-11-15T19-20-03-10", "2026-11-15T19-20-03-2", "2026-11-15T19-20-03"], key=_age)
    ['2026-11-15T19-20-03', '2026-11-15T19-20-03-2', '2026-11-15T19-20-03-10']
    """
    second, _, number = stamp[19:].rpartition("-")
    return stamp[:19] + second, int(number) if number.isdecimal() else 1
