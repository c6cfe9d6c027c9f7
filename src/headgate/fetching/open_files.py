"""How many files this process may have open, sockets included, and what memory it gives back.

If no file is left no connection can be opened, and that is no server's fault: the system's error
number tells. Some libraries hide it behind an error of their own; whether a file can be opened
tells as well. Apart from `limits` for what it loads: every command begins here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource

from headgate.model.errors import REMEDIES, WorldFault

__all__ = [
    "cannot_connect",
    "give_large_blocks_back",
    "is_ours",
    "most_idle",
    "raise_limit",
    "try_one",
]

_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_IDLE_PART = 4
"""Of the files that may be open, one in so many is an idle connection, at the most."""


def raise_limit() -> None:
    """Let this process open as many files as the system allows it.

    The usual limit of 1024 is for programs that use ``select``, which fails for higher numbers.
    Only processes of our own do this: a program that calls Headgate from Python may use it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # forbidden: then the old one holds
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_idle(wanted: int) -> int:
    """How many of the ``wanted`` idle connections leave room for busy ones and for the disk."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if limit == resource.RLIM_INFINITY else min(wanted, limit // _IDLE_PART)


def is_ours(error: OSError) -> bool:
    """Whether it was this machine that could not open a connection."""
    return error.errno in _OURS


def try_one() -> None:
    """Raises the system's error if no file can be opened now."""
    os.close(os.open(os.devnull, os.O_RDONLY))


def cannot_connect(where: str, error: OSError) -> WorldFault:
    """The fault of this machine, with what to do."""
    number = error.errno or 0
    remedy = f" ({REMEDIES[number]})" if number in REMEDIES else ""
    return WorldFault(f"cannot connect to {where}: {os.strerror(number)}{remedy}")


_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 1_000_000


def give_large_blocks_back() -> None:
    """Returns the memory of large bodies to the system as soon as they are freed.

    The C library maps large blocks separately, so that freeing one returns it; but after the first
    was freed, it raises its threshold and keeps blocks up to 32 MB in the heaps of its threads.
    Bodies of some megabytes that are freed in another order leave holes there: a quarter of all
    memory in a crawl of large pages (`tests/integration/strangers`).

    From now on, in this process; does nothing if the C library has no such setting.
    """
    import ctypes  # here: it costs a command that fetches nothing a millisecond

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
