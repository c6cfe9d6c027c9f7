"""What Ctrl-C, a closed terminal and `kill` do, from the first moment to the last.

Python turns Ctrl-C into an exception. Where modules are being loaded that exception is lost or
becomes another one, and nothing is there yet to be saved: there the process simply ends.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ending_at_once", "on_interrupt", "raising"]

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Ctrl-C in here ends the process without a word."""
    with _handled_by(signal.SIG_DFL):
        yield


@contextmanager
def raising() -> Iterator[None]:
    """Ctrl-C in here raises `KeyboardInterrupt`."""
    with _handled_by(signal.default_int_handler):
        yield


def on_interrupt(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """While the loop runs, whatever asks for its end calls ``act``; after ``nohup`` a terminal that
    is closed does not ask for it."""
    for sign in _ENDING:
        if sign is not signal.SIGHUP or signal.getsignal(sign) is not signal.SIG_IGN:
            loop.add_signal_handler(sign, act)


@contextmanager
def _handled_by(
    handler: signal.Handlers | Callable[[int, FrameType | None], object],
) -> Iterator[None]:
    """Unless Ctrl-C is ignored, or this is no thread that may choose."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
