"""The folder a user names with ``--out``, and the folder of each run in it.

    collection/
      catalog.sqlite            sites, runs, statistics, server speeds
      sites/<site>.pages        what is known of a site's pages, over all runs
      .lock                     held while a crawl writes; names its process
      runs/<stamp>/             what stays: warc/, index.cdxj, pages.parquet, links.parquet, ...
      spool/<stamp>/            what an unfinished run needs to go on: journals and saved state

A run is unfinished as long as its spool folder exists. The folder is removed in one step, by
renaming it, after everything made from it is durable; so a crash in between leaves either a run
that can be sealed again or a finished one.
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

from headgate.model.errors import DamagedFile, OtherVersion, UserMistake
from headgate.storage.append_file import sync_folder
from headgate.storage.atomic_write import write_whole
from headgate.storage.journals.journal import Owner, SpoolPlace
from headgate.storage.safe_files import (
    open_own,
    opened,
    opening_collection,
    reading,
    refuse_links,
    writing,
)
from headgate.storage.warc.writer import DEFAULT_FILE_BYTES, WarcFiles, file_safe

__all__ = ["SURVEY_LOG", "Collection", "RunFolder", "began", "visit_stem"]

_DONE = ".done-"
_SHARED = "small-sites-"
_NUMBER = re.compile(rf"{_SHARED}(\d{{1,9}})(?:\.journal|-\d{{5}}\.warc\.gz)$")
_LONGEST_PATH = 3800
"""Of the collection's path: those of its files are longer, and Linux allows 4096 bytes."""
_MOST_STATE_BYTES = 1 << 30
_FOLDERS = ("runs", "spool", "sites", "arriving", "links", "notices", "keep-wishes")

Kind = TypeVar("Kind")


class RunFolder(msgspec.Struct, frozen=True):
    """The two folders of one run."""

    collection: Path
    stamp: str

    @property
    def path(self) -> Path:
        """Permanent files."""
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
        """Temporary files, deleted when the run is finished."""
        return self.collection / "spool" / self.stamp

    @property
    def unfinished(self) -> bool:
        return self.spool.is_dir() and not self.spool.is_symlink()

    @property
    def is_survey(self) -> bool:
        """Whether an unfinished run is a survey."""
        return self.load("survey") is not None

    def place(
        self,
        site: str,
        warcinfo: tuple[tuple[str, str], ...] = (),
        max_warc_bytes: int = DEFAULT_FILE_BYTES,
        visit: int = 0,
    ) -> SpoolPlace:
        """Where the journal and WARC files of a visit are; 0: the only visit to the site in this
        run."""
        stem = visit_stem(site, visit)
        warc = WarcFiles(self.warc, stem, warcinfo, max_warc_bytes, self.shelf)
        return SpoolPlace(Owner(site, visit), self.spool / f"{stem}.journal", warc)

    def shared_place(self, number: int, warcinfo: tuple[tuple[str, str], ...] = ()) -> SpoolPlace:
        """Where the files that small sites share are; each process of each leg has its own
        number."""
        stem = f"{_SHARED}{number}"
        warc = WarcFiles(self.warc, stem, warcinfo, shelf=self.shelf)
        return SpoolPlace(None, self.spool / f"{stem}.journal", warc)

    def journals(self) -> list[Path]:
        """Journals that belong to one site, ordered by name."""
        shared = set(self.shared_journals())
        return sorted(path for path in self.spool.glob("*.journal") if path not in shared)

    def shared_journals(self) -> list[Path]:
        """Journals shared by sites, oldest first."""
        paths = (self.shared_place(number).journal for number in self.shared_numbers())
        return [path for path in paths if path.exists()]

    def shared_numbers(self) -> list[int]:
        """Numbers of shared journals, and of WARC files whose journal was not written because of a
        crash."""
        files = chain(self.spool.glob(f"{_SHARED}*"), self.warc.glob(f"{_SHARED}*"))
        return sorted({int(found[1]) for file in files if (found := _NUMBER.match(file.name))})

    def save(self, name: str, data: bytes | bytearray) -> None:
        """Save state for a resumed run, replacing what was saved under this name."""
        write_whole(self.state_file(name), data)

    def load(self, name: str) -> bytes | None:
        """The state saved under a name; None: there is none."""
        path = self.state_file(name)
        with reading(path):
            try:
                file = opened(path)
            except FileNotFoundError:
                return None
            with file:
                return file.read(_MOST_STATE_BYTES)

    def load_as(self, name: str, kind: type[Kind], remedy: str) -> Kind | None:
        """State that was saved as JSON; ``remedy``: what the user can do if it is unreadable."""
        data = self.load(name)
        if not data:
            return None
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.ValidationError as error:
            raise OtherVersion(self.state_file(name), str(error), remedy) from None
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise DamagedFile(self.state_file(name), str(error), remedy) from None

    def refuse_links(self) -> None:
        """Called before anything is written or deleted: refuses symbolic links."""
        refuse_links(self.path.parent, self.path, self.warc)
        refuse_links(self.spool.parent, self.spool, self.spool / "arriving")

    def state_file(self, name: str) -> Path:
        """The file of a saved state."""
        return self.spool / f"{name}.state"

    def finish(self) -> None:
        """Drop the spool. Only after the run has been sealed."""
        done = self.spool.with_name(f"{_DONE}{self.stamp}")
        with writing(self.spool):
            self.spool.rename(done)
        sync_folder(done.parent)
        shutil.rmtree(done, ignore_errors=True)


class Collection(msgspec.Struct, frozen=True):
    """Creating this object does no I/O."""

    path: Path

    @property
    def catalog(self) -> Path:
        return self.path / "catalog.sqlite"

    @property
    def memories(self) -> Path:
        return self.path / "sites"

    def memory(self, site: str) -> Path:
        """The file with all that is known of a site's pages:
        `headgate.storage.memory.site`."""
        return self.memories / f"{file_safe(site)}.pages"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Create the folder if needed and lock it: one crawl at a time may write to it."""
        with opening_collection(self.path):
            self._refuse_name()
            refuse_links(*(self.path / name for name in _FOLDERS))
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
        """Create the folders of a new run; needs the lock."""
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
        """Refuse paths that are too long, before a run is created."""
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


def began(run: RunFolder) -> float:
    """When, in seconds since 1970, by its name; 0 for a folder that somebody else put there."""
    day, moment = run.stamp[:10], run.stamp[11:19].replace("-", ":")
    try:
        return datetime.fromisoformat(f"{day}T{moment}+00:00").timestamp()
    except ValueError:
        return 0.0


def visit_stem(site: str, visit: int) -> str:
    """What the names of a visit's files begin with.

    >>> visit_stem("docs", 0), visit_stem("docs", 2)
    ('docs', 'docs~2')
    """
    return f"{file_safe(site)}~{visit}" if visit else file_safe(site)


def _age(stamp: str) -> tuple[str, int]:
    """
    >>> sorted(["2026-11-15T19-20-03-10", "2026-11-15T19-20-03-2", "2026-11-15T19-20-03"], key=_age)
    ['2026-11-15T19-20-03', '2026-11-15T19-20-03-2', '2026-11-15T19-20-03-10']
    """
    second, _, number = stamp[19:].rpartition("-")
    return stamp[:19] + second, int(number) if number.isdecimal() else 1


SURVEY_LOG = "survey.log"
"""Its name in the folder of a run."""
