"""A file that only one process at a time may write; it appears completely or not at all."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from headgate.model.errors import UserMistake
from headgate.storage.faults import writing
from headgate.storage.own_files import open_own

__all__ = ["claiming"]


@contextmanager
def claiming(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Yields an empty file to write to, and its name; on success it replaces ``path``. Raises an
    error if another process is writing it."""
    part = path.with_name(f".{path.name}.part")
    with writing(path):
        fd = _claimed(path, part)
    try:
        with writing(path), os.fdopen(fd, "w+b") as file:
            file.truncate()
            yield file, part
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)  # still locked, so that no other process starts before
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _claimed(path: Path, part: Path) -> int:
    """A locked descriptor of the file that has the part's name now."""
    while True:
        fd = open_own(part, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if part.exists() and os.path.samestat(os.fstat(fd), part.stat()):
                return fd
        except BlockingIOError:
            os.close(fd)
            raise UserMistake(
                f"{path} is being written by another export; wait for its end or name another file"
            ) from None
        os.close(fd)  # the process that held it has finished: start over
