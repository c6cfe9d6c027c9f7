"""Recent queueing on the line: the standing queue, and constant delays that are no queue."""

from __future__ import annotations

import math
from collections import deque

__all__ = ["StandingQueue", "StillWatch"]

STANDING_SECONDS = 0.25
"""The least delay over this time is the standing queue: bursts of our own come and go."""
STILL_SECONDS = 60.0
STILL_SPREAD_SECONDS = 0.002


class StandingQueue:
    """Keeps a quarter of a second of delays."""

    __slots__ = ("_lately",)

    def __init__(self) -> None:
        self._lately: deque[tuple[float, float]] = deque()

    def clear(self) -> None:
        self._lately.clear()

    def with_next(self, queueing: float, now: float) -> float:
        """Seconds of standing queue, including this answer."""
        self._lately.append((now, queueing))
        while self._lately[0][0] < now - STANDING_SECONDS:
            self._lately.popleft()
        return min(delay for _, delay in self._lately)


class StillWatch:
    """Detects a delay that stays constant while we send next to nothing: it is the path, not a
    queue."""

    __slots__ = ("_high", "_low", "_since")

    def __init__(self) -> None:
        self._since = math.inf
        self._low = self._high = 0.0

    def restart(self) -> None:
        self._since = math.inf

    def is_the_way(self, queueing: float, now: float) -> bool:
        """Whether it was constant for a minute; then watching starts again."""
        self._low, self._high = min(self._low, queueing), max(self._high, queueing)
        if self._since == math.inf or self._high - self._low > STILL_SPREAD_SECONDS:
            self._since, self._low, self._high = now, queueing, queueing
        elif now - self._since > STILL_SECONDS:
            self._since = math.inf
            return True
        return False
