"""Receives the results of nodes: chunks are written to part files, which become journals and WARC
files of the run.

    spool/<stamp>/arriving/<task>.<epoch>.<number>.part   ─►   spool/<stamp>/<site>.journal
                                                               runs/<stamp>/warc/<site>-00001.warc.gz

Bytes are written at their offset, so chunks may come in any order and repeatedly; small files wait
in memory (`storage.part_files`). A file gets its final name only when it is complete and durable;
moving it is idempotent. Senders are not trusted: only files with the names of the task and the
announced sizes are accepted, and the journal must be readable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from headgate.crawling.task_messages import Chunk, FileDigest, FileSize, Lease
from headgate.model.errors import HeadgateError
from headgate.storage.collection import RunFolder, visit_stem
from headgate.storage.faults import reading, writing
from headgate.storage.journals.appending import sync_folder
from headgate.storage.journals.journal import Owner, read_commits, read_owner
from headgate.storage.part_files import PartFiles, is_file

__all__ = ["Deliveries", "are_files_of", "free_bytes"]

_KEPT_FREE_BYTES = 256 << 20
"""Disk space reserved for index and tables."""
_WARC = ".warc.gz"


def free_bytes(folder: Path) -> int:
    """Disk space that results may still take."""
    with reading(folder):
        disk = os.statvfs(folder)
        return max(disk.f_bavail * disk.f_frsize - _KEPT_FREE_BYTES, 0)


def are_files_of(owner: Owner, names: Iterable[str]) -> bool:
    """Whether these are valid names for a visit's files, without repetition, and include a
    journal."""
    names, stem = list(names), visit_stem(*owner)
    journal, begin = f"{stem}.journal", f"{stem}-"
    known = all(name == journal or _is_warc(name, begin) for name in names)
    return known and journal in names and len(set(names)) == len(names)


def _is_crawled(path: Path, owner: Owner, names: dict[str, int]) -> bool:
    try:
        if read_owner(path) != owner:
            return False
        for _, rows, _ in read_commits(path, None):
            for row in rows:
                if row.warc_file and row.warc_offset >= names.get(row.warc_file, 0):
                    return False
    except (HeadgateError, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Paths:
    journals: str
    warc: str

    def home(self, name: str) -> str:
        return f"{self.journals if name.endswith('.journal') else self.warc}/{name}"


@dataclass(slots=True)
class Deliveries:
    """Results of one run. Calls that touch the disk may block."""

    run: RunFolder
    believable: Callable[[Path, Owner, dict[str, int]], bool] = field(default=_is_crawled)
    """Whether a journal can be read, belongs to this visit, and refers only to files with these
    names and sizes."""
    _expected: dict[Lease, tuple[FileSize, ...]] = field(default_factory=dict)
    _begun: dict[int, dict[Lease, int]] = field(default_factory=dict)
    """By task that is not done: leases of which something may be here, and of how many files."""
    _paths: _Paths = field(init=False)
    _parts: PartFiles = field(init=False)

    def __post_init__(self) -> None:
        spool, warc = self.run.spool, self.run.warc
        self._paths = _Paths(str(spool), str(warc))
        self._parts = PartFiles(str(spool / "arriving"))

    def expect(self, lease: Lease, files: tuple[FileSize, ...]) -> None:
        if self._expected.get(lease) == files:
            return
        self.drop(lease, len(files))
        self._begun.setdefault(lease.task, {})[lease] = len(files)
        for number, file in enumerate(files):
            if file.size == 0:  # no chunk will come
                self._parts.write((lease, number), 0, b"", 0)
        self._expected[lease] = files

    def expected(self, lease: Lease) -> tuple[FileSize, ...]:
        """The announced files; none: this result is not expected."""
        return self._expected.get(lease, ())

    def write(self, chunk: Chunk, data: bytes) -> bool:
        """False: it is not expected, or exceeds the announced size."""
        files = self.expected(chunk.lease)
        if chunk.file >= len(files) or chunk.offset + len(data) > files[chunk.file].size:
            return False
        self._parts.write((chunk.lease, chunk.file), chunk.offset, data, files[chunk.file].size)
        return True

    def close(self, lease: Lease) -> None:
        """Accept no more chunks."""
        self._expected.pop(lease, None)

    def reopen(self, lease: Lease, files: tuple[FileSize, ...]) -> None:
        """Accept chunks again, which overwrite those received, unless another result counts by
        now."""
        if lease in self._begun.get(lease.task, ()):
            self._expected[lease] = files

    def wrong(self, lease: Lease, files: Sequence[FileDigest]) -> tuple[int, ...]:
        """Numbers of files that are missing or have another digest. They are deleted, so that each
        check of a file costs its sender the whole of it."""
        wrong = tuple(
            number
            for number, file in enumerate(files)
            if not self._parts.is_right((lease, number), file)
            and not is_file(self._paths.home(file.name), file)
        )
        for number in wrong:
            if files[number].size:  # of an empty one nothing would come again
                self._parts.drop((lease, number))
        return wrong

    def is_journal_of(self, lease: Lease, files: Sequence[FileDigest], owner: Owner) -> bool:
        """Whether the result has a journal that is `believable`."""
        names = {file.name: file.size for file in files}
        for number, file in enumerate(files):
            if file.name.endswith(".journal"):
                part = Path(self._parts.path((lease, number)))
                journal = part if part.exists() else Path(self._paths.home(file.name))
                return self.believable(journal, owner, names)
        return False

    def keep(self, lease: Lease, files: Sequence[FileDigest]) -> None:
        """The result is complete: make its bytes durable; the names are not yet final."""
        for number, file in enumerate(files):
            with writing(Path(self._paths.home(file.name))):
                self._parts.sync((lease, number))

    def move_in(self, lease: Lease, files: Sequence[FileDigest]) -> None:
        """Give kept files their final names; `sync` has to follow."""
        for number, file in enumerate(files):
            home = self._paths.home(file.name)
            with writing(Path(home)):
                try:
                    os.replace(self._parts.path((lease, number)), home)  # noqa: PTH105
                except FileNotFoundError:
                    if not os.path.exists(home):  # noqa: PTH110 - moved before a crash?
                        raise

    def sync(self) -> None:
        sync_folder(self.run.spool)
        sync_folder(self.run.warc)

    def parts(self, lease: Lease, files: Sequence[FileDigest]) -> dict[str, Path]:
        """Part files by name, until they are moved in."""
        return {
            file.name: Path(self._parts.path((lease, number))) for number, file in enumerate(files)
        }

    def drop(self, lease: Lease, files: int = 0) -> None:
        """Delete all chunks received, of so many files at least."""
        self._expected.pop(lease, None)
        announced = max(self._begun.get(lease.task, {}).pop(lease, 0), files)
        for number in count():
            if not self._parts.drop((lease, number)) and number >= announced:
                return

    def drop_task(self, task: int, but: Container[Lease] = ()) -> None:
        """Delete what came of a task that is stored or given up, except under some leases: nodes
        may have vanished while they sent it."""
        begun = self._begun.get(task, {})
        with suppress(OSError):  # the next manager tidies up
            for lease in [lease for lease in begun if lease not in but]:
                self.drop(lease)
        if not begun:
            self._begun.pop(task, None)

    def tidy(self, wanted: Callable[[Lease], bool]) -> None:
        """Delete what an earlier manager left of other leases."""
        for path in Path(self._parts.folder).glob("*.part"):
            task, epoch, number, _ = path.name.split(".")
            lease = Lease(int(task), int(epoch))
            if wanted(lease):
                begun = self._begun.setdefault(lease.task, {})
                begun[lease] = max(begun.get(lease, 0), int(number) + 1)
            else:
                path.unlink(missing_ok=True)


def _is_warc(name: str, begin: str) -> bool:
    number = name.removeprefix(begin).removesuffix(_WARC)
    digits = number.isascii() and number.isdecimal() and len(number) == 5
    return digits and name == f"{begin}{number}{_WARC}"
