"""The folder a user names with ``--out``, and the folder of each run in it.

    collection/
      catalog.sqlite            sites, runs, statistics, server speeds
      .lock                     held while a crawl writes; names its process
      runs/<stamp>/             what stays: warc/, index.cdxj, pages.parquet, links.parquet, ...
      spool/<stamp>/            what an unfinished run needs to go on: journals and saved state

A run is unfinished as long as its spool folder exists. The folder goes in one step, by a new name,
after everything made from it is durable; so a crash in between leaves either a run that can be
sealed again or a finished one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from headgate.model.errors import UserMistake
from headgate.storage.appending import sync_folder
from headgate.storage.faults import opening_collection, reading, writing
from headgate.storage.replacing import write_whole
from headgate.storage.spool import SitePlace
from headgate.storage.warc import DEFAULT_FILE_BYTES, WarcFiles, file_safe

__all__ = ["Collection", "RunFolder"]

_DONE = ".done-"


@dataclass(frozen=True, slots=True)
class RunFolder:
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
    def spool(self) -> Path:
        """What goes when the run is over."""
        return self.collection / "spool" / self.stamp

    @property
    def unfinished(self) -> bool:
        return self.spool.is_dir()

    def place(
        self,
        site: str,
        warcinfo: tuple[tuple[str, str], ...] = (),
        max_warc_bytes: int = DEFAULT_FILE_BYTES,
    ) -> SitePlace:
        """Where a site's run keeps its journal and WARC files."""
        return SitePlace(
            journal=self.spool / f"{file_safe(site)}.journal",
            warc=WarcFiles(self.warc, site, warcinfo, max_warc_bytes),
        )

    def journals(self) -> list[Path]:
        """Of all sites that were begun, in the order of their names."""
        return sorted(self.spool.glob("*.journal"))

    def save(self, name: str, data: bytes) -> None:
        """Keep something that a resumed run will need, in place of what it was before."""
        write_whole(self.spool / f"{name}.state", data)

    def load(self, name: str) -> bytes | None:
        """What was saved last under a name; None: nothing."""
        path = self.spool / f"{name}.state"
        with reading(path):
            return path.read_bytes() if path.exists() else None

    def finish(self) -> None:
        """Drop the spool. Only after the run has been sealed."""
        done = self.spool.with_name(f"{_DONE}{self.stamp}")
        with writing(self.spool):
            self.spool.rename(done)
        sync_folder(done.parent)
        shutil.rmtree(done, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Collection:
    """Paths only: making one neither reads nor writes."""

    path: Path

    @property
    def catalog(self) -> Path:
        return self.path / "catalog.sqlite"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Make the folder if need be and hold it: one crawl at a time may write to it."""
        with opening_collection(self.path):
            for folder in (self.path, self.path / "runs", self.path / "spool"):
                folder.mkdir(parents=True, exist_ok=True)
            fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            sync_folder(self.path)
            self._hold(fd)
            for done in (self.path / "spool").glob(f"{_DONE}*"):
                shutil.rmtree(done, ignore_errors=True)
            yield
        finally:
            os.close(fd)

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
        with reading(self.path):
            folder = self.path / "runs"
            names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        return [RunFolder(self.path, name) for name in sorted(names, key=_age, reverse=True)]

    def unfinished_run(self) -> RunFolder | None:
        """The newest run that can be resumed."""
        return next((run for run in self.runs() if run.unfinished), None)

    def validator_files(self) -> list[Path]:
        """Of all finished runs, the newest first: for `headgate.storage.validators`."""
        return [run.path / "validators.bin" for run in self.runs() if not run.unfinished]

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
    return stamp[:19] + second, int(number) if number.isdigit() else 1
