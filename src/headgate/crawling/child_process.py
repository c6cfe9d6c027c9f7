"""Talking to a child process: pickles over pipes, waiting for them, ending with the parent."""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import sys
from collections.abc import Iterable
from typing import IO, Any, Protocol, TypeVar

__all__ = ["die_with_parent", "leave_signals_to_parent", "readable", "receive", "send"]


# Sends objects from one of our processes to another: a length of eight bytes and a pickle.


_LENGTH_BYTES = 8


def send(stream: IO[bytes], thing: object) -> None:
    data = pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_LENGTH_BYTES))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next object; raises EOFError if the other end was closed."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        raise EOFError
    data = stream.read(size := int.from_bytes(length))
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


class _File(Protocol):
    def fileno(self) -> int: ...


_AnyFile = TypeVar("_AnyFile", bound=_File)


def readable(files: Iterable[_AnyFile], seconds: float) -> list[_AnyFile]:
    """Waits for files that can be read. `select.select` fails for a file number above 1,023, which
    a crawl of many sites passes.

    Those that have data or have ended; wait up to ``seconds`` for the first.
    """
    by_number = {file.fileno(): file for file in files}
    poll = select.poll()
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(seconds * 1_000)]


# Ties a child process to its parent, which alone decides when it ends.


_PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl: the signal to get when the parent dies."""
_LEFT_TO_PARENT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def die_with_parent(parent: int) -> None:
    """End when the parent does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(1)


def leave_signals_to_parent() -> None:
    """Ignore signals that a terminal or a service manager sends to all processes at once: the
    parent ends its children in order."""
    for number in _LEFT_TO_PARENT:
        signal.signal(number, signal.SIG_IGN)
