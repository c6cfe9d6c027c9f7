"""Making way: a crawl's total rate while others use the line, and the rate that the plan uses.

    the line's delay ──► Yielding ──rate, 20 times a second──► the fleet's total
                                  └──rate, smoothed──────────► the manager's plan

The plan follows at once when the line has more, and over some seconds when it has less; meanwhile
the total holds. Pure: the caller measures delay and bytes, and acts.
"""

from __future__ import annotations

import math
from collections import deque

from headgate.traffic.yielding import Yielding

__all__ = ["MakingWay"]

_OWN_RATE_SECONDS = 0.5
_PLAN_FOLLOWS_SECONDS = 4.0
_WORTH_PLANNING = 1.1
_HELD_BACK = 0.9


class MakingWay:
    """Stepped at even intervals, by a clock that stops while the machine is suspended."""

    def __init__(self, now: float, floor: float | None = None) -> None:
        self.given_bytes = self.given_seconds = 0.0
        """What was left to others so far: bytes, and the time in which we yielded."""
        self._yielding = Yielding(math.inf, floor)
        self._stepped = now
        self._carried: deque[tuple[float, float]] = deque(((now, 0.0),))
        self._planned = 0.0
        self._told: tuple[float, bool] | None = None

    @property
    def making_way(self) -> bool:
        return self._yielding.making_way

    @property
    def rate(self) -> float:
        """The total rate now."""
        return self._yielding.rate

    def heard(self, address: str, trip_seconds: float, at: float) -> None:
        """A probe came back."""
        self._yielding.delay.add(address, trip_seconds, at)

    def set_ceiling(self, rate: float) -> None:
        """The budget, which holds however free the line is."""
        self._yielding.ceiling = rate

    def step(self, now: float, carried: int) -> tuple[float, bool] | None:
        """Compute the rate, from the bytes ``carried`` for us so far. Returns news for the plan:
        what the line has for us, and whether we are held below it at the moment; None: no change
        worth planning for."""
        seconds, self._stepped = now - self._stepped, now
        rate = self._yielding.step(now, self._own_rate(now, carried))
        if self._yielding.making_way:
            self.given_seconds += seconds
            self.given_bytes += self._yielding.given_up * seconds
        return self._news(rate, seconds)

    def _own_rate(self, now: float, carried: int) -> float:
        self._carried.append((now, carried))
        while len(self._carried) > 2 and self._carried[1][0] <= now - _OWN_RATE_SECONDS:
            self._carried.popleft()
        at, then = self._carried[0]
        return max((carried - then) / (now - at), 0.0) if now > at else 0.0

    def _news(self, rate: float, seconds: float) -> tuple[float, bool] | None:
        fading = self._planned * math.exp(-seconds / _PLAN_FOLLOWS_SECONDS)
        self._planned = max(rate, fading)
        held_back = rate < _HELD_BACK * self._planned
        told_rate, told_held_back = self._told or (0.0, not held_back)
        near = told_rate / _WORTH_PLANNING < self._planned < told_rate * _WORTH_PLANNING
        if near and held_back == told_held_back:
            return None
        self._told = (self._planned, held_back)
        return self._told
