"""The files that the small sites of one process share.

Each process has its own files, under a number that it claims with a lock. Claiming also recovers
the files of processes that have ended, in this leg or an earlier one: they are cut to what was
stored, and only read from then on.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Self

from headgate.storage.collection import RunFolder
from headgate.storage.faults import writing
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.site_journal import SiteJournal, shared_journals
from headgate.storage.journals.spool_files import SpoolFiles
from headgate.storage.own_files import open_own

__all__ = ["SharedByRun", "SharedFiles", "recover_number", "recover_shared"]


class SharedFiles:
    """The files of one process; open until `close`."""

    def __init__(self, files: SpoolFiles, lock: int, earlier: Mapping[Owner, SiteJournal]) -> None:
        self.files = files
        self._lock = lock
        self._earlier = earlier
        """What earlier processes stored, by visit."""

    @classmethod
    def claim(cls, run: RunFolder, warcinfo: tuple[tuple[str, str], ...] = ()) -> Self:
        """Claim files that no other process uses."""
        recover_shared(run)
        earlier = shared_journals(run)
        for number in count(max(run.shared_numbers(), default=0) + 1):
            place = run.shared_place(number, warcinfo)
            with writing(place.journal):
                try:
                    lock = open_own(place.journal, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                except FileExistsError:  # another process was faster
                    continue
                fcntl.flock(lock, fcntl.LOCK_EX)
            return cls(SpoolFiles(place), lock, earlier)
        raise AssertionError("numbers do not end")

    def journal_of(self, owner: Owner) -> SiteJournal:
        """What a visit has stored in shared journals so far."""
        return self._earlier.get(owner) or SiteJournal()

    def close(self) -> None:
        self.files.close()
        os.close(self._lock)


class SharedByRun:
    """The shared files of each run, claimed at the first write. A keeper's visits go to one volume
    after the other: files no longer written to are closed when the next volume begins."""

    def __init__(self, warcinfo: tuple[tuple[str, str], ...] = ()) -> None:
        self._warcinfo = warcinfo
        self._open: dict[RunFolder, SharedFiles] = {}
        self._writers: Counter[RunFolder] = Counter()

    @contextmanager
    def by(self, run: RunFolder) -> Iterator[SharedFiles]:
        """The shared files of a run, in use within this context."""
        if run not in self._open:
            for idle in [other for other in self._open if not self._writers[other]]:
                self._open.pop(idle).close()
            self._open[run] = SharedFiles.claim(run, self._warcinfo)
        self._writers[run] += 1
        try:
            yield self._open[run]
        finally:
            self._writers[run] -= 1

    def close(self) -> None:
        for files in self._open.values():
            files.close()
        self._open.clear()


def recover_shared(run: RunFolder) -> None:
    """Cut the files of processes that have ended to what was stored."""
    for number in run.shared_numbers():
        recover_number(run, number)


def recover_number(run: RunFolder, number: int) -> None:
    """The same for one of them."""
    place = run.shared_place(number)
    with _alone_with(place.journal) as gone:
        if gone:
            SpoolFiles(place).close()


@contextmanager
def _alone_with(journal: Path) -> Iterator[bool]:
    """Whether no process writes to it; none can within this context."""
    with writing(journal):
        try:
            lock = open_own(journal, os.O_RDWR)
        except FileNotFoundError:  # a writer creates its journal before anything else
            yield True
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
        finally:
            os.close(lock)
