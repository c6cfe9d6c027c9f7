"""What Ctrl-C, a closed terminal and `kill` do, from the first moment to the last.

Python turns Ctrl-C into an exception. While modules are imported, that exception may get lost or
turn into another one, and there is nothing to save yet: then the process simply ends.
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
    """Within this context Ctrl-C ends the process silently."""
    with _handled_by(signal.SIG_DFL):
        yield


@contextmanager
def raising() -> Iterator[None]:
    """Within this context Ctrl-C raises `KeyboardInterrupt`."""
    with _handled_by(signal.default_int_handler):
        yield


def on_interrupt(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """Call ``act`` on SIGINT, SIGTERM and SIGHUP while the loop runs; SIGHUP stays ignored after
    ``nohup``."""
    for sign in _ENDING:
        if sign is not signal.SIGHUP or signal.getsignal(sign) is not signal.SIG_IGN:
            loop.add_signal_handler(sign, act)


@contextmanager
def _handled_by(
    handler: signal.Handlers | Callable[[int, FrameType | None], object],
) -> Iterator[None]:
    """Does nothing if Ctrl-C is ignored, or outside the main thread."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
