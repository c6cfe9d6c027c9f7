"""A regular timer in the event loop, to detect stalls of the machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from headgate.control.stall_watch import BEAT_SECONDS, Clocks, StallWatch

__all__ = ["beating"]


@contextlib.asynccontextmanager
async def beating(clocks: Callable[[], Clocks]) -> AsyncIterator[StallWatch]:
    """Yields a stall watch that is updated within this context."""
    watch = StallWatch(clocks())
    loop = asyncio.get_running_loop()

    timer: asyncio.TimerHandle

    def arm() -> None:
        nonlocal timer
        timer = loop.call_later(BEAT_SECONDS, beat)

    def beat() -> None:
        watch.beat(clocks())
        arm()

    arm()
    try:
        yield watch
    finally:
        timer.cancel()
