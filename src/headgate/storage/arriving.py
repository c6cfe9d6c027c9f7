"""Receives the results of nodes: chunks are written to part files, which become journals and WARC
files of the run.

    spool/<stamp>/arriving/<task>.<epoch>.<number>.part   ─►   spool/<stamp>/<site>.journal
                                                               runs/<stamp>/warc/<site>-00001.warc.gz

Bytes are written at their offset, so chunks may come in any order and repeatedly. A file gets its
final name only when it is complete and durable; moving it is idempotent. Senders are not trusted:
only files with the names of the task and the announced sizes are accepted, and the journal must be
readable.

Paths are strings here: a small result has a dozen of them, and as objects they would cost as much
as everything else.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest
from itertools import count
from pathlib import Path

from headgate.crawling.task_messages import Chunk, FileDigest, FileSize, Lease
from headgate.model.errors import HeadgateError
from headgate.storage.collection import RunFolder, visit_stem
from headgate.storage.faults import reading, writing
from headgate.storage.journals.appending import sync_folder
from headgate.storage.journals.journal import Owner, read_commits, read_owner

__all__ = ["Deliveries", "free_bytes"]

_KEPT_FREE_BYTES = 256 << 20
"""Disk space reserved for index and tables."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
_WARC = ".warc.gz"


def free_bytes(folder: Path) -> int:
    """Disk space that results may still take."""
    with reading(folder):
        return max(shutil.disk_usage(folder).free - _KEPT_FREE_BYTES, 0)


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
    arriving: str
    journals: str
    warc: str

    def part(self, lease: Lease, number: int) -> str:
        return f"{self.arriving}/{lease.task}.{lease.epoch}.{number}.part"

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
    _paths: _Paths = field(init=False)

    def __post_init__(self) -> None:
        spool, warc = self.run.spool, self.run.warc
        self._paths = _Paths(str(spool / "arriving"), str(spool), str(warc))

    def fits(self, owner: Owner, names: Iterable[str]) -> bool:
        """Whether these are valid names for a visit's files, without repetition, and include a
        journal."""
        names, stem = list(names), visit_stem(*owner)
        journal, begin = f"{stem}.journal", f"{stem}-"
        known = all(name == journal or _is_warc(name, begin) for name in names)
        return known and journal in names and len(set(names)) == len(names)

    def expect(self, lease: Lease, files: tuple[FileSize, ...]) -> None:
        if self._expected.get(lease) == files:
            return
        self.drop(lease)
        with writing(Path(self._paths.arriving)):
            with suppress(FileExistsError):
                os.mkdir(self._paths.arriving)  # noqa: PTH102
            for number in range(len(files)):
                os.close(os.open(self._paths.part(lease, number), _NEW, 0o600))
        self._expected[lease] = files

    def expected(self, lease: Lease) -> tuple[FileSize, ...]:
        """The announced files; none: this result is not expected."""
        return self._expected.get(lease, ())

    def write(self, chunk: Chunk, data: bytes) -> bool:
        """False: it is not expected, or exceeds the announced size."""
        files = self.expected(chunk.lease)
        if chunk.file >= len(files) or chunk.offset + len(data) > files[chunk.file].size:
            return False
        path = self._paths.part(chunk.lease, chunk.file)
        with writing(Path(path)):
            fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                view = memoryview(data)
                at = chunk.offset
                while view:
                    written = os.pwrite(fd, view, at)
                    view, at = view[written:], at + written
            finally:
                os.close(fd)
        return True

    def close(self, lease: Lease) -> None:
        """Accept no more chunks."""
        self._expected.pop(lease, None)

    def reopen(self, lease: Lease, files: tuple[FileSize, ...]) -> None:
        """Accept chunks again, which overwrite those received."""
        self._expected[lease] = files

    def wrong(self, lease: Lease, files: Sequence[FileDigest]) -> tuple[int, ...]:
        """Numbers of files that are missing or have another digest."""
        return tuple(
            number
            for number, file in enumerate(files)
            if not _is(self._paths.part(lease, number), file)
            and not _is(self._paths.home(file.name), file)
        )

    def is_journal_of(self, lease: Lease, files: Sequence[FileDigest], owner: Owner) -> bool:
        """Whether the result has a journal that is `believable`."""
        names = {file.name: file.size for file in files}
        for number, file in enumerate(files):
            if file.name.endswith(".journal"):
                part = Path(self._paths.part(lease, number))
                journal = part if part.exists() else Path(self._paths.home(file.name))
                return self.believable(journal, owner, names)
        return False

    def keep(self, lease: Lease, files: Sequence[FileDigest]) -> None:
        """The result is complete: make its bytes durable; the names are not yet final."""
        for number, file in enumerate(files):
            with writing(Path(self._paths.home(file.name))), suppress(FileNotFoundError):
                _sync(self._paths.part(lease, number))

    def move_in(self, lease: Lease, files: Sequence[FileDigest]) -> None:
        """Give kept files their final names; `sync` has to follow."""
        for number, file in enumerate(files):
            home = self._paths.home(file.name)
            with writing(Path(home)), suppress(FileNotFoundError):  # moved before a crash
                os.replace(self._paths.part(lease, number), home)  # noqa: PTH105

    def sync(self) -> None:
        sync_folder(self.run.spool)
        sync_folder(self.run.warc)

    def parts(self, lease: Lease, files: Sequence[FileDigest]) -> dict[str, Path]:
        """Part files by name, until they are moved in."""
        return {
            file.name: Path(self._paths.part(lease, number)) for number, file in enumerate(files)
        }

    def drop(self, lease: Lease) -> None:
        """Delete all chunks received."""
        announced = len(self._expected.pop(lease, ()))
        for number in count():
            try:
                os.unlink(self._paths.part(lease, number))  # noqa: PTH108
            except FileNotFoundError:
                if number >= announced:
                    return

    def tidy(self, wanted: Callable[[Lease], bool]) -> None:
        """Delete what an earlier manager left of other leases."""
        for path in Path(self._paths.arriving).glob("*.part"):
            task, epoch, *_ = path.name.split(".")
            if not wanted(Lease(int(task), int(epoch))):
                path.unlink(missing_ok=True)


def _is_warc(name: str, begin: str) -> bool:
    number = name.removeprefix(begin).removesuffix(_WARC)
    digits = number.isascii() and number.isdecimal() and len(number) == 5
    return digits and name == f"{begin}{number}{_WARC}"


def _is(path: str, file: FileDigest) -> bool:
    try:
        with open(path, "rb") as opened:  # noqa: PTH123
            if os.fstat(opened.fileno()).st_size != file.size:
                return False
            return file_digest(opened, "sha256").hexdigest() == file.sha256
    except OSError:
        return False


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
