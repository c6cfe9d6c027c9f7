"""When a node tries again: rests after faults of its machine, and what ends a wait early."""

from __future__ import annotations

import asyncio
import contextlib
import math
from dataclasses import dataclass, field

__all__ = ["Backoff", "Wakeups"]


@dataclass(frozen=True, slots=True)
class Wakeups:
    """Wakes loops that otherwise check after a while."""

    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self._changed.set()

    async def pause(self, seconds: float) -> None:
        """Wait this long, or until `wake` is called."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()


_FIRST_SECONDS, _LONGEST_SECONDS = 10.0, 3600.0
_MOST_IN_A_ROW = 10


@dataclass(slots=True)
class Backoff:
    """How long a node rests after faults of its machine: longer after each one in a row."""

    _in_a_row: int = 0
    _until: float = -math.inf

    def begin(self, now: float) -> float:
        """After a fault; returns how many seconds to rest."""
        seconds = min(_FIRST_SECONDS * 2.0**self._in_a_row, _LONGEST_SECONDS)
        self._in_a_row = min(self._in_a_row + 1, _MOST_IN_A_ROW)
        self._until = now + seconds
        return seconds

    def all_well(self) -> None:
        """The next fault is the first again."""
        self._in_a_row = 0

    def lasts(self, now: float) -> bool:
        return now < self._until
