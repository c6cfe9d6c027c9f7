"""Files that a stranger may have made: opened safely, names and numbers bounded, faults put in
words."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, BinaryIO

from msgspec import Meta

from headgate.model.errors import REMEDIES, UserMistake, WorldFault

__all__ = [
    "Amount",
    "Count",
    "Moment",
    "NameOf",
    "Span",
    "Status",
    "archived_file",
    "is_name",
    "make_own",
    "make_own_folder",
    "open_own",
    "opened",
    "opening_collection",
    "own_files",
    "reading",
    "refuse_links",
    "refuse_strange",
    "without_remedy",
    "writing",
]


# Safe opening of files in a collection that a stranger may have made: never through a symbolic
# link in place of a file, nor a pipe or a device.
#
# Folders must not be links either, since writing and deleting would happen elsewhere. The
# collection itself may be a link; the user named it.


def open_own(path: Path, flags: int) -> int:
    """A descriptor of a regular file, never through a link."""
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_links(path)
        raise
    return _plain(path, fd)


def opened(path: Path) -> BinaryIO:
    """A regular file for reading; a pipe would block the reader."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return os.fdopen(_plain(path, fd), "rb")


def make_own(path: Path) -> None:
    """A new, empty file in place of whatever has this name; a link's target is not touched."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))


def refuse_links(*paths: Path) -> None:
    for path in paths:
        if path.is_symlink():
            raise UserMistake(
                f"{path} is a symbolic link, and Headgate writes only into files and folders of the"
                " collection's own; remove it, or put what it leads to in its place"
            )


def refuse_strange(path: Path) -> None:
    """For a file that a library opens: it must be a regular one, if it exists."""
    refuse_links(path)
    if path.exists():
        os.close(open_own(path, os.O_RDONLY))


def make_own_folder(path: Path) -> None:
    """A folder to write into; its parent is there."""
    refuse_links(path)
    path.mkdir(exist_ok=True)


# Names that files of a collection have for others: tables, memories, journals and notes name WARC
# files; messages between processes are found by their names. A stranger's name leads nowhere else.


class NameOf(Enum):
    """What a name stands for, and how it looks."""

    WARC = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._~-]*-[0-9]{5,}\.warc\.gz")
    """A WARC file, in the folder of its run."""
    ARCHIVED = re.compile(rf"runs/(?!\.)[^/\0]+/warc/{WARC.pattern}")
    """The same within the collection."""
    OF_VISIT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._~-]*\.json")
    """What a visit leaves for others."""
    WISH = re.compile(r"[0-9]{1,9}\.json")


_LONGEST_NAME = 1000


def is_name(kind: NameOf, name: str) -> bool:
    """Whether a name that was read from a collection is one of this kind.

    >>> is_name(NameOf.WARC, "docs-00001.warc.gz"), is_name(NameOf.WARC, "../docs-00001.warc.gz")
    (True, False)
    >>> is_name(NameOf.ARCHIVED, "runs/2026-11-15T19-20-03/warc/docs~2-00001.warc.gz")
    True
    """
    return len(name) <= _LONGEST_NAME and kind.value.fullmatch(name) is not None


def own_files(folder: Path, kind: NameOf) -> list[Path]:
    """The files of a folder that have such names, by name; the folder may be missing, but it must
    not be a link: whoever asks reads them and deletes them."""
    refuse_links(folder)
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if is_name(kind, entry.name) and entry.is_file(follow_symlinks=False)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in sorted(names)]


def archived_file(collection: Path, name: str) -> Path | None:
    """A WARC file by its name within the collection; None: it is none of the collection's."""
    path = collection / name
    if not is_name(NameOf.ARCHIVED, name):
        return None
    return path if path.resolve().is_relative_to(collection.resolve()) else None


def _plain(path: Path, fd: int) -> int:
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise UserMistake(f"{path} is no plain file; move it away")


# Turns errors of the disk into Headgate's: one line with the file, the reason and the remedy.


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


# Bounds for numbers read from files, so that they fit indexes, dates and table columns. Files
# written by Headgate are far within them.


Amount = Annotated[int, Meta(ge=0, le=2**60)]
"""Bytes, or a place in a file."""
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Status = Annotated[int, Meta(ge=0, le=999)]
Moment = Annotated[float, Meta(ge=0, le=2e11)]
"""Seconds since 1970; to the year 8307."""
Span = Annotated[float, Meta(ge=-1e10, le=1e10)]
"""Seconds; clocks may jump back."""
