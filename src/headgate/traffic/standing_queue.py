"""What a queue on the line has lately been: standing, or still for so long that it is none."""

from __future__ import annotations

import math
from collections import deque

__all__ = ["StandingQueue", "StillWatch"]

STANDING_SECONDS = 0.25
"""The least delay of so long a time is the standing queue: lumps of our own come and go."""
STILL_SECONDS = 60.0
STILL_SPREAD_SECONDS = 0.002


class StandingQueue:
    """Keeps a quarter of a second of what was heard."""

    __slots__ = ("_lately",)

    def __init__(self) -> None:
        self._lately: deque[tuple[float, float]] = deque()

    def clear(self) -> None:
        self._lately.clear()

    def with_next(self, queueing: float, now: float) -> float:
        """Seconds of queue that stand, this answer included."""
        self._lately.append((now, queueing))
        while self._lately[0][0] < now - STANDING_SECONDS:
            self._lately.popleft()
        return min(delay for _, delay in self._lately)


class StillWatch:
    """A delay that stands still while we send next to nothing is no queue but the way."""

    __slots__ = ("_high", "_low", "_since")

    def __init__(self) -> None:
        self._since = math.inf
        self._low = self._high = 0.0

    def restart(self) -> None:
        self._since = math.inf

    def is_the_way(self, queueing: float, now: float) -> bool:
        """Whether it has stood still for a minute; then it is watched anew."""
        self._low, self._high = min(self._low, queueing), max(self._high, queueing)
        if self._since == math.inf or self._high - self._low > STILL_SPREAD_SECONDS:
            self._since, self._low, self._high = now, queueing, queueing
        elif now - self._since > STILL_SECONDS:
            self._since = math.inf
            return True
        return False
