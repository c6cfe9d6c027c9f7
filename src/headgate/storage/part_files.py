"""Files of results that are being received: on disk, small ones in memory.

Most files are small and arrive as one chunk. Those are written once, when the result is complete;
otherwise they would be created, written, read, and opened again to be synced.

Paths are strings here: a small result has a dozen of them, and `Path` objects would cost as much as
everything else.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TypeAlias

from headgate.crawling.task_messages import FileDigest, Lease
from headgate.storage.faults import writing

__all__ = ["PartFile", "PartFiles", "is_file"]

_SMALL_BYTES, _MOST_HELD = 64 << 10, 256
"""Largest size, and largest number, of files held in memory."""
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

PartFile: TypeAlias = tuple[Lease, int]
"""Its lease and its number."""


@dataclass(slots=True)
class PartFiles:
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
