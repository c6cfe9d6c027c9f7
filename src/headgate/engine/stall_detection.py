"""Detects that the machine or the process stood still, by a late heartbeat, and why."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import msgspec

from headgate.model.run_report import Stall

__all__ = ["BEAT_SECONDS", "Clocks", "StallWatch", "beating"]

BEAT_SECONDS = 0.25
_LEAST_SECONDS = 0.25
"""On any busy machine, beats are late by less."""
_OWN_WORK = 0.5
_MOST_KEPT = 100


class Clocks(msgspec.Struct, frozen=True):
    """Readings at one moment, in seconds."""

    now: float
    """The time of the run, which includes suspension."""
    asleep: float
    """Time suspended, since any fixed moment."""
    cpu: float
    """CPU time that the process has used."""


class StallWatch:
    """Detects that the machine or the process stood still, by a late heartbeat, and names the
    cause.

    The caller beats at even intervals and passes the clocks' readings. A beat that is late by more
    than a threshold means a stall since the last one:

    suspended  the clock that counts sleep went on, the one that does not stood still
    busy       the process used a CPU meanwhile: its own work blocked the event loop
    starved    it did not: others had the CPU, or the process was stopped

    Pure: clocks are read elsewhere (`engine/stall_detection.py`).

    The stalls of one leg.
    """

    def __init__(self, clocks: Clocks, stalls: list[Stall] | None = None) -> None:
        """``stalls`` is filled."""
        self.stalls: list[Stall] = [] if stalls is None else stalls
        """In order of time. Adjacent stalls with the same cause are merged."""
        self._last = clocks

    def beat(self, clocks: Clocks) -> None:
        """Called one interval after the last beat, or later after a stall."""
        last, self._last = self._last, clocks
        asleep = clocks.asleep - last.asleep
        awake = clocks.now - last.now - asleep
        late = awake - BEAT_SECONDS
        if asleep >= _LEAST_SECONDS:
            self._note(Stall(last.now, clocks.now, asleep, "suspended"))
        if late >= _LEAST_SECONDS:
            own = clocks.cpu - last.cpu >= _OWN_WORK * awake
            self._note(Stall(last.now, clocks.now, late, "busy" if own else "starved"))

    def _note(self, stall: Stall) -> None:
        before = self.stalls[-1] if self.stalls else None
        if before and before.cause == stall.cause and stall.start - before.end < 2 * BEAT_SECONDS:
            self.stalls[-1] = _joined(before, stall)
            return
        self.stalls.append(stall)
        if len(self.stalls) > _MOST_KEPT:
            self._join_nearest()

    def _join_nearest(self) -> None:
        """Merge the two nearest with the same cause, so that no second is lost from the sums."""
        gaps = []
        latest: dict[str, int] = {}
        for place, stall in enumerate(self.stalls):
            if stall.cause in latest:
                before = latest[stall.cause]
                gaps.append((stall.start - self.stalls[before].end, before, place))
            latest[stall.cause] = place
        _, first, second = min(gaps)
        self.stalls[first] = _joined(self.stalls[first], self.stalls.pop(second))


def _joined(first: Stall, second: Stall) -> Stall:
    return msgspec.structs.replace(first, end=second.end, seconds=first.seconds + second.seconds)


@contextlib.asynccontextmanager
async def beating(clocks: Callable[[], Clocks], stalls: list[Stall]) -> AsyncIterator[None]:
    """A regular timer in the event loop, to detect stalls of the machine.

    Within this context they are added to ``stalls``.
    """
    watch = StallWatch(clocks(), stalls)
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
        yield
    finally:
        timer.cancel()
