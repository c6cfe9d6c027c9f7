"""Results that are being received: chunks become part files, and those files of the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from itertools import count
from pathlib import Path
from typing import TypeAlias

from headgate.features.grid.protocol import Chunk, FileDigest, FileSize, Lease
from headgate.storage.append_file import sync_folder
from headgate.storage.collection import RunFolder, visit_stem
from headgate.storage.journals.journal import Owner
from headgate.storage.safe_files import reading, writing

__all__ = ["UploadFiles", "are_files_of", "free_bytes"]

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


@dataclass(frozen=True, slots=True)
class _Paths:
    journals: str
    warc: str

    def home(self, name: str) -> str:
        return f"{self.journals if name.endswith('.journal') else self.warc}/{name}"


@dataclass(slots=True)
class UploadFiles:
    """Receives the results of nodes: chunks are written to part files, which become journals and
    WARC files of the run.

        spool/<stamp>/arriving/<task>.<epoch>.<number>.part   ─►   spool/<stamp>/<site>.journal
                                                                   runs/<stamp>/warc/<site>-00001.warc.gz

    Bytes are written at their offset, so chunks may come in any order and repeatedly; small files
    wait in memory (`features.grid.coordinator.upload_files`). A file gets its final name only when
    it is complete and durable; moving it is idempotent. Senders are not trusted: only files with
    the names of the task and the announced sizes are accepted.

    Results of one run. Calls that touch the disk may block.
    """

    run: RunFolder
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

    def where(self, lease: Lease, files: Sequence[FileDigest]) -> dict[str, Path]:
        """The complete files of a result by name, which may have their final names already."""
        parts = self.parts(lease, files).items()
        return {
            name: part if part.exists() else Path(self._paths.home(name)) for name, part in parts
        }

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

    def take_away(self, files: Iterable[FileDigest]) -> None:
        """Delete files of a result that is not believed."""
        for file in files:
            Path(self._paths.home(file.name)).unlink(missing_ok=True)

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


_SMALL_BYTES, _MOST_HELD = 64 << 10, 256
"""Largest size, and largest number, of files held in memory."""
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

PartFile: TypeAlias = tuple[Lease, int]
"""Its lease and its number."""


@dataclass(slots=True)
class PartFiles:
    """Files of results that are being received: on disk, small ones in memory.

    Most files are small and arrive as one chunk. Those are written once, when the result is
    complete; otherwise they would be created, written, read, and opened again to be synced.

    Paths are strings here: a small result has a dozen of them, and `Path` objects would cost as
    much as everything else.
    """

    folder: str
    """Created with the first file."""
    _held: dict[PartFile, bytes] = field(default_factory=dict)

    def path(self, part: PartFile) -> str:
        lease, number = part
        return f"{self.folder}/{lease.task}.{lease.epoch}.{number}.part"

    def write(self, part: PartFile, offset: int, data: bytes, size: int) -> None:
        """Write a chunk of a file of this size."""
        self._held.pop(part, None)
        if len(data) == size <= _SMALL_BYTES:
            self._hold(part, data)
        else:
            self._write(part, offset, data)

    def is_right(self, part: PartFile, file: FileDigest) -> bool:
        """Whether the file is complete and has this digest; if so, it is on disk from now on."""
        data = self._held.get(part)
        if data is None:
            return not _has_hole(self.path(part)) and is_file(self.path(part), file)
        right = len(data) == file.size and sha256(data).hexdigest() == file.sha256
        if right:
            self._write(part, 0, data, sync=True)
        return right

    def sync(self, part: PartFile) -> None:
        """Make a file durable that `is_right`; does nothing if there is none."""
        if self._held.pop(part, None) is not None:
            return  # durable since `is_right`
        with suppress(FileNotFoundError):
            fd = os.open(self.path(part), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def drop(self, part: PartFile) -> bool:
        """Delete a file; True if it was on disk."""
        self._held.pop(part, None)
        try:
            os.unlink(self.path(part))  # noqa: PTH108
        except FileNotFoundError:
            return False
        return True

    def _hold(self, part: PartFile, data: bytes) -> None:
        """Hold a file in memory; if there are too many, the oldest is written to disk."""
        self._held[part] = data
        if len(self._held) > _MOST_HELD:
            oldest = next(iter(self._held))
            self._write(oldest, 0, self._held.pop(oldest))

    def _write(self, part: PartFile, offset: int, data: bytes, *, sync: bool = False) -> None:
        path = self.path(part)
        with writing(Path(path)):
            fd = self._opened(path)
            try:
                view = memoryview(data)
                while view:
                    written = os.pwrite(fd, view, offset)
                    view, offset = view[written:], offset + written
                if sync:
                    os.fsync(fd)
            finally:
                os.close(fd)

    def _opened(self, path: str) -> int:
        try:
            return os.open(path, _WRITE, 0o600)
        except FileNotFoundError:
            os.makedirs(self.folder, exist_ok=True)  # noqa: PTH103
            return os.open(path, _WRITE, 0o600)


def _has_hole(path: str) -> bool:
    """Whether bytes are missing that never came. A look at the file's extents: without it, a node
    that sent the last byte of a large file would have the manager hash zeros for minutes."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        size = os.fstat(fd).st_size
        return size > 0 and os.lseek(fd, 0, os.SEEK_HOLE) < size
    except OSError:  # a file system without holes
        return False
    finally:
        os.close(fd)


def is_file(path: str, file: FileDigest) -> bool:
    """Whether there is a file with this size and digest."""
    try:
        with open(path, "rb") as opened:  # noqa: PTH123
            if os.fstat(opened.fileno()).st_size != file.size:
                return False
            return file_digest(opened, "sha256").hexdigest() == file.sha256
    except OSError:
        return False
