"""Files that appear completely or not at all: written under another name, synced, renamed.

A small file that changes often is written in place (`overwrite`).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from headgate.model.errors import UserMistake
from headgate.storage.append_file import sync_folder
from headgate.storage.safe_files import make_own, open_own, writing

__all__ = [
    "claiming",
    "overwrite",
    "replacing",
    "replacing_soon",
    "sync_files",
    "write_soon",
    "write_whole",
]

_FEW = 8
"""Files that are made durable one by one."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields the name to write to; on success the file replaces ``path``."""
    with replacing_soon(path) as part:
        yield part
        with writing(path), _opened(part) as fd:
            os.fsync(fd)
    sync_folder(path.parent)


@contextmanager
def replacing_soon(path: Path) -> Iterator[Path]:
    """The same without waiting for the disk: complete after a power cut only if `sync_files` was
    called."""
    part = path.with_name(f".{path.name}.part")
    with writing(part):
        make_own(part)
    try:
        yield part
        with writing(path):
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_soon(path: Path, data: bytes) -> None:
    """The same for little data: created, written and renamed."""
    part = path.with_name(f".{path.name}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with writing(path):
        try:
            fd = os.open(part, flags, 0o644)
        except FileExistsError:
            part.unlink(missing_ok=True)
            fd = os.open(part, flags, 0o644)
        try:
            with os.fdopen(fd, "wb", buffering=0) as file:
                while data:
                    data = data[file.write(data) :]
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def sync_files(folder: Path, names: Sequence[str]) -> None:
    """Make files of a folder durable; many files are synced with one call for the whole file
    system."""
    libc = ctypes.CDLL(None, use_errno=True)
    if len(names) > _FEW and hasattr(libc, "syncfs"):
        with writing(folder), _opened(folder) as fd:
            if libc.syncfs(fd):
                raise OSError(ctypes.get_errno(), "syncfs")
        return
    for name in names:
        with writing(folder / name), _opened(folder / name) as fd:
            os.fsync(fd)
    if names:
        sync_folder(folder)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def write_whole(path: Path, data: bytes | bytearray) -> None:
    with replacing(path) as part, writing(path):
        part.write_bytes(data)


def overwrite(path: Path, offset: int, data: bytes) -> None:
    """Write into an existing file, not beyond its end; durable when this returns. Readers must be
    able to detect a torn write."""
    with writing(path):
        fd = open_own(path, os.O_WRONLY)
        try:
            os.pwrite(fd, data, offset)
            os.fdatasync(fd)
        finally:
            os.close(fd)


@contextmanager
def claiming(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A file that only one process at a time may write; it appears completely or not at all.

    Yields an empty file to write to, and its name; on success it replaces ``path``. Raises an
    error if another process is writing it.
    """
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
