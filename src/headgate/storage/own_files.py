"""Safe opening of files in a collection that a stranger may have made: never through a symbolic
link in place of a file, nor a pipe or a device.

Folders must not be links either, since writing and deleting would happen elsewhere. The collection
itself may be a link; the user named it.
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


def _plain(path: Path, fd: int) -> int:
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise UserMistake(f"{path} is no plain file; move it away")
