"""Beats at even intervals in the event loop, so that a stall of the machine is noticed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from headgate.control.stall_watch import BEAT_SECONDS, Clocks, StallWatch

__all__ = ["beating"]


@contextlib.asynccontextmanager
async def beating(clocks: Callable[[], Clocks]) -> AsyncIterator[StallWatch]:
    """A watch that is kept up to date in the meantime."""
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
