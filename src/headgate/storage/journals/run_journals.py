"""The journals of a run: those that small sites share, their recovery, and all of one visit."""

from __future__ import annotations

import fcntl
import os
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Self

import msgspec

from headgate.frontier.events import JournalEntry
from headgate.model.errors import HeadgateError
from headgate.storage.collection import RunFolder
from headgate.storage.journals.journal import (
    Commit,
    Group,
    LinkLines,
    Owner,
    SpoolFiles,
    read_commits,
    read_groups,
    read_links,
    read_owner,
    read_owners,
    read_pages,
    unpacked_bytes,
)
from headgate.storage.page import PageRow
from headgate.storage.safe_files import open_own, writing

__all__ = [
    "Piece",
    "SharedByRun",
    "SharedFiles",
    "SiteJournal",
    "recover_files",
    "recover_shared",
    "site_journals",
]


class SharedFiles:
    """The files that the small sites of one process share.

    Each process has its own files, under a number that it claims with a lock. Claiming also
    recovers the files of processes that have ended, in this leg or an earlier one: they are cut to
    what was stored, and only read from then on.

    The files of one process; open until `close`.
    """

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
            if not self._writers[run]:
                del self._writers[run]

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


_WARC = re.compile(r"(.+)-\d{5}\.warc\.gz")


def recover_files(run: RunFolder) -> list[str]:
    """Recovers the files of a run that no process writes to any more: journals and WARC files are
    cut to what was committed.

    Opening a site's files recovers them, but not every run that a kill ended opens each of them
    again before it is sealed: its archive would have records that index and tables lack, and after
    a power cut perhaps half of one.

    Idempotent.

    Returns why some could not be recovered, a sentence each; those stay as they are.
    """
    run.refuse_links()
    faults: list[str] = []
    told_of = {path.stem for path in run.shared_journals()}
    for number in run.shared_numbers():
        try:
            recover_number(run, number)
        except HeadgateError as error:
            faults.append(str(error))
    for path in run.journals():
        try:
            if _recover_own(run, path):
                told_of.add(path.stem)
        except HeadgateError as error:
            faults.append(str(error))
            told_of.add(path.stem)
    for file in run.warc.glob("*.warc.gz"):
        found = _WARC.fullmatch(file.name)
        if found is not None and found[1] not in told_of:
            with writing(file):
                file.unlink()  # nothing of it was ever reported stored
    return faults


def _recover_own(run: RunFolder, journal: Path) -> bool:
    """False: a crash came before the journal was written."""
    owner = read_owner(journal)
    if owner is not None:
        SpoolFiles(run.place(owner.site, visit=owner.visit)).close()
    return owner is not None


class Piece(msgspec.Struct, frozen=True):
    """Commits of a site in one file."""

    path: Path
    starts: array[int] | None = None
    """Their offsets; None: the whole file belongs to the site."""


class SiteJournal(msgspec.Struct):
    """All commits of one visit to a site, in whichever journals they are.

    Commits of a small site are scattered over a shared journal; if the site has grown, later ones
    are in its own journal. A resumed run has further shared journals. This module only knows where
    commits are; `journal` reads them.

    The commits of one visit; may be read repeatedly, also while it grows.
    """

    pieces: list[Piece] = msgspec.field(default_factory=list)
    """Oldest first."""

    def finished(self) -> bool:
        """Whether its last commit in a shared journal says that nothing is left to do."""
        shared = [piece for piece in self.pieces if piece.starts is not None]
        return any(
            group.finished
            for piece in shared[-1:]
            for group in read_groups(piece.path, piece.starts[-1:] if piece.starts else ())
        )

    def groups(self) -> Iterator[Group]:
        for piece in self.pieces:
            yield from read_groups(piece.path, piece.starts)

    def entries(self) -> Iterator[JournalEntry]:
        for group in self.groups():
            yield from group.entries

    def pages(self) -> Iterator[list[PageRow]]:
        for piece in self.pieces:
            yield from read_pages(piece.path, piece.starts)

    def links(self) -> Iterator[list[LinkLines]]:
        for piece in self.pieces:
            yield from read_links(piece.path, piece.starts)

    def commits(self, *, links: bool = True) -> Iterator[Commit]:
        for piece in self.pieces:
            yield from read_commits(piece.path, piece.starts, links=links)

    def unpacked_bytes(self) -> int:
        return sum(unpacked_bytes(piece.path, piece.starts) for piece in self.pieces)

    def note(self, path: Path, start: int) -> None:
        """A commit was written to a shared journal."""
        if not self.pieces or self.pieces[-1].path != path:
            self.pieces.append(Piece(path, array("Q")))
        starts = self.pieces[-1].starts
        assert starts is not None, "a site with its own journal does not share again"
        starts.append(start)


def shared_journals(run: RunFolder) -> dict[Owner, SiteJournal]:
    """The commits in shared journals, by visit."""
    found: dict[Owner, SiteJournal] = {}
    for path in run.shared_journals():
        for owner, start in read_owners(path):
            found.setdefault(owner, SiteJournal()).note(path, start)
    return found


def site_journals(run: RunFolder) -> dict[Owner, SiteJournal]:
    """The journals of all visits, ordered by site and number."""
    found = shared_journals(run)
    for path in run.journals():
        if owner := read_owner(path):
            found.setdefault(owner, SiteJournal()).pieces.append(Piece(path))
    return dict(sorted(found.items()))
