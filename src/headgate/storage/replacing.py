"""Files that are there whole or not at all: written under another name, made durable, renamed.

One that is too small and too often written for that is written in place (`overwrite`).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headgate.storage.faults import writing
from headgate.storage.journals.appending import sync_folder
from headgate.storage.own_files import make_own, open_own

__all__ = ["overwrite", "replacing", "replacing_soon", "sync_files", "write_soon", "write_whole"]

_FEW = 8
"""Files that are made durable one by one."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives the name to write to; on success the file takes the place of ``path``."""
    with replacing_soon(path) as part:
        yield part
        with writing(path), _opened(part) as fd:
            os.fsync(fd)
    sync_folder(path.parent)


@contextmanager
def replacing_soon(path: Path) -> Iterator[Path]:
    """The same without waiting for the disk: durable after `sync_files`, and only then sure to be
    whole."""
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
    """The same of little data: made, written and renamed in as many steps."""
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
    """Make files of a folder durable; where there are many, all that waits for the disk goes in one
    step."""
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


def write_whole(path: Path, data: bytes) -> None:
    with replacing(path) as part, writing(path):
        part.write_bytes(data)


def overwrite(path: Path, offset: int, data: bytes) -> None:
    """Write into a file that is there, not beyond its end; durable when this returns. Whoever reads
    it must be able to tell a write that was torn."""
    with writing(path):
        fd = open_own(path, os.O_WRONLY)
        try:
            os.pwrite(fd, data, offset)
            os.fdatasync(fd)
        finally:
            os.close(fd)
