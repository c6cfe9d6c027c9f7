"""Before the first lists are dealt, nodes that start together come together: who is first would
take what is right for others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Gathering"]

_LONGEST = 6.0


@dataclass(slots=True)
class Gathering:
    """It ends when no node has come for ``seconds``, and at the latest after six times as long."""

    seconds: float = 0.0
    _end: float = math.inf

    def wait(self, now: float, last_came: float) -> float:
        """Seconds until tasks are given out, for a node that asks; 0: they are."""
        self._end = min(self._end, now + _LONGEST * self.seconds)
        if last_came + self.seconds <= now:
            self.is_over(now)
        return max(min(self._end, last_came + self.seconds) - now, 0.0)

    def is_over(self, now: float) -> None:
        """Whoever comes from now on is late."""
        self._end = min(self._end, now)
