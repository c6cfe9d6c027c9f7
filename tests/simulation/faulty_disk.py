"""A disk that fills up, tears writes and dies, under the files that a crawl relies on.

It stands in the place of ``os`` in the two modules that make things durable, `storage.appending`
and `storage.atomic_write`: every write and every sync of theirs is an operation, and a plan says at
which of them what goes wrong; a worker that is dead writes nothing either (`mortal_workers`), and
what it wrote before stays. When the machine dies, nothing is written any more; of every file it
leaves what a disk may leave: all that was synced, and any part of the rest.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.simulation.mortal_workers import acting

from headgate.storage import append_file, atomic_write

__all__ = ["FaultyDisk"]


class FaultyDisk:
    """``_synced`` has, of every file written to or synced here, its inode and the bytes that will
    survive."""

    def __init__(self, chance: Callable[[], float], died: Callable[[], None]) -> None:
        self.dead = False
        self.full_for = 0
        """Operations that find no space."""
        self.dies_at = -1
        """The operation in the middle of which the machine dies."""
        self.operations = 0
        self._chance = chance
        self._died = died
        self._synced: dict[Path, tuple[int, int]] = {}

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        with patch.object(append_file, "os", self), patch.object(atomic_write, "os", self):
            yield

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, fd: int, data: memoryview) -> int:
        _refuse_the_dead()
        path = _path(fd)
        if path not in self._synced or self._synced[path][0] != os.fstat(fd).st_ino:
            self._synced[path] = (os.fstat(fd).st_ino, os.fstat(fd).st_size)
        try:
            self._operate()
        except OSError:
            os.write(fd, data[: int(self._chance() * len(data))])
            raise
        return os.write(fd, data[: max(int(self._chance() * 2 * len(data)), 1)])

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:
        """In place, so that nothing can be cut off later: what was torn stays torn."""
        dead = self.dead
        try:
            self._operate()
        except OSError:
            if not dead:
                os.pwrite(fd, data[: int(self._chance() * len(data))], offset)
            raise
        return os.pwrite(fd, data, offset)

    def fdatasync(self, fd: int) -> None:
        self._operate()
        self._note(fd)

    def fsync(self, fd: int) -> None:
        self._operate()
        self._note(fd)

    def ftruncate(self, fd: int, length: int) -> None:
        _refuse_the_dead()
        if self.dead:
            raise OSError(errno.EIO, "the machine is dead")
        os.ftruncate(fd, length)

    def die(self) -> None:
        if not self.dead:
            self.dead = True
            self._died()

    def lose_what_was_not_synced(self, memories: Path) -> None:
        """The machine starts again. ``memories`` are files that nobody waits for."""
        for path, (inode, length) in self._synced.items():
            if path.is_file() and path.stat().st_ino == inode:
                size = path.stat().st_size
                if size > length:
                    os.truncate(path, length + int(self._chance() * (size - length + 1)))
        for path in sorted(memories.glob("*.pages")) if memories.is_dir() else ():
            inode, length = self._synced.get(path, (0, 0))
            if inode != path.stat().st_ino and self._chance() < 0.5:
                os.truncate(path, int(self._chance() * path.stat().st_size))
        self._synced.clear()

    def _operate(self) -> None:
        self.operations += 1
        if self.operations == self.dies_at:
            self.die()
        if self.dead:
            raise OSError(errno.EIO, "the machine is dead")
        if (worker := acting()) is not None:
            worker.operate()
        if self.full_for:
            self.full_for -= 1
            raise OSError(errno.ENOSPC, "no space")

    def _note(self, fd: int) -> None:
        status = os.fstat(fd)
        self._synced[_path(fd)] = (status.st_ino, status.st_size)


def _refuse_the_dead() -> None:
    if (worker := acting()) is not None:
        worker.refuse_if_dead()


def _path(fd: int) -> Path:
    return Path(f"/proc/self/fd/{fd}").readlink()
