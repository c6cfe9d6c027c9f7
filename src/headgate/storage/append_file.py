"""A file that only grows.

Bytes are gathered in memory and handed to the kernel in large writes; `sync` makes them durable.
Two lengths describe the file: ``length``, which counts every byte appended, and
``durable_length``, up to which the last `sync` reached.

Invariant: the first ``durable_length`` bytes are never touched again. When a write fails (a full
disk, a limit), the file is cut back to them and takes no more bytes, so that what was durable stays
readable and the next recovery has nothing to repair.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from headgate.model.errors import WorldFault
from headgate.storage.safe_files import open_own, writing

__all__ = ["AppendFile", "sync_folder"]

_GATHER_BYTES = 1 << 20


class AppendFile:
    """Opened at ``length``: whatever the file holds beyond it is cut off."""

    __slots__ = ("_fd", "_gathered", "_waiting", "durable_length", "length", "path")

    def __init__(self, path: Path, length: int = 0) -> None:
        self.path = path
        self.length = length
        self.durable_length = length
        self._waiting: list[bytes] = []
        self._gathered = 0
        with writing(path):
            self._fd = open_own(path, os.O_RDWR | os.O_CREAT)
        try:
            self._cut_to(length)
        except WorldFault:
            self.close()
            raise

    def append(self, data: bytes) -> int:
        """Append bytes; returns their offset in the file."""
        start = self.length
        self._waiting.append(data)
        self._gathered += len(data)
        self.length += len(data)
        if self._gathered >= _GATHER_BYTES:
            self.flush()
        return start

    def flush(self) -> None:
        """Hand what is gathered to the kernel."""
        if self._fd < 0:
            raise WorldFault(f"{self.path} is closed after an earlier failure to write it")
        data = memoryview(b"".join(self._waiting))
        self._waiting.clear()
        self._gathered = 0
        try:
            with writing(self.path):
                while data:
                    data = data[os.write(self._fd, data) :]
        except WorldFault:
            self._give_up()
            raise

    def sync(self) -> None:
        """Make every byte so far durable."""
        self.flush()
        if self.length == self.durable_length:
            return
        try:
            with writing(self.path):
                os.fdatasync(self._fd)
        except WorldFault:
            self._give_up()
            raise
        self.durable_length = self.length

    def close(self) -> None:
        """Close the file; bytes not flushed are dropped."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _give_up(self) -> None:
        with suppress(OSError):
            os.ftruncate(self._fd, self.durable_length)
        self.length = self.durable_length
        self.close()

    def _cut_to(self, length: int) -> None:
        with writing(self.path):
            found = os.lseek(self._fd, 0, os.SEEK_END)
            if found < length:
                raise WorldFault(
                    f"{self.path} holds {found:,} bytes where {length:,} were stored; "
                    "it was changed from outside: put the file back or start a new run"
                )
            if found > length:
                os.ftruncate(self._fd, length)
            os.lseek(self._fd, length, os.SEEK_SET)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: new, renamed and deleted files."""
    with writing(folder):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
