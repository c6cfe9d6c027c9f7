"""Turns errors of the disk into Headgate's: one line with the file, the reason and the remedy."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.model.errors import UserMistake, WorldFault
from headgate.model.remedies import REMEDIES

__all__ = ["opening_collection", "reading", "without_remedy", "writing"]

_LEAST_FREE_BYTES = 100_000
"""With less, a database cannot be written."""
_NO_ENTRY = frozenset({
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOENT, errno.EINVAL,
    errno.ENAMETOOLONG, errno.ELOOP,
})  # fmt: skip


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Around everything that writes ``path``: raises `WorldFault` for what the disk refuses."""
    try:
        yield
    except OSError as error:
        raise WorldFault(f"cannot write {path}: {_reason(error)}") from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.ProgrammingError):
            raise
        raise WorldFault(f"cannot write {path}: {_database_reason(error, path)}") from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """The same around everything that reads ``path``."""
    try:
        yield
    except OSError as error:
        raise WorldFault(f"cannot read {path}: {_reason(error)}") from error


@contextmanager
def opening_collection(path: Path) -> Iterator[None]:
    """Around creating the output folder: an unusable path is the user's mistake."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ENTRY:
            why = "it is not a folder" if error.errno == errno.EEXIST else _reason(error)
            raise UserMistake(
                f"cannot write to {path}: {why}; name another folder with --out"
            ) from error
        raise WorldFault(f"cannot write to {path}: {_reason(error)}") from error


def without_remedy(words: str) -> str:
    """Of a fault, for whoever tries again without being asked: nobody has to ``--resume``.

    >>> without_remedy(f"cannot write a: No space left ({REMEDIES[errno.ENOSPC]})")
    'cannot write a: No space left'
    """
    for remedy in REMEDIES.values():
        words = words.replace(f" ({remedy})", "")
    return words


def _database_reason(error: sqlite3.DatabaseError, path: Path) -> str:
    """SQLite reports a full disk as an I/O error if it happens in a file other than the
    database."""
    try:
        full = shutil.disk_usage(path.parent).free < _LEAST_FREE_BYTES
    except OSError:
        full = False
    return _reason(OSError(errno.ENOSPC, "")) if full else str(error)


def _reason(error: OSError) -> str:
    text = os.strerror(error.errno) if error.errno else str(error)
    remedy = REMEDIES.get(error.errno or 0)
    return f"{text} ({remedy})" if remedy else text
