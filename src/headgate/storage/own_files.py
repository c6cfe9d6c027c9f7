"""Files that Headgate writes are its own, whoever made the folder: it never writes through a
symbolic link that somebody laid where a file is expected, nor into a pipe or a device.

A collection may come from a stranger. Its folders, too, must be folders: a link in place of one
would lead writing, and deleting, elsewhere. The collection itself may be a link; the user named it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from headgate.model.errors import UserMistake

__all__ = ["make_own", "open_own", "opened", "refuse_links", "refuse_strange"]


def open_own(path: Path, flags: int) -> int:
    """A descriptor of a plain file at this very place."""
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_links(path)
        raise
    return _plain(path, fd)


def opened(path: Path) -> BinaryIO:
    """A plain file to be read; what is none would keep its reader waiting."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return os.fdopen(_plain(path, fd), "rb")


def make_own(path: Path) -> None:
    """A new, empty file in place of whatever had its name, which is not touched itself."""
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
    """For a file that others open: what is there must be a plain one, if anything is."""
    refuse_links(path)
    if path.exists():
        os.close(open_own(path, os.O_RDONLY))


def _plain(path: Path, fd: int) -> int:
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise UserMistake(f"{path} is no plain file; move it away")
