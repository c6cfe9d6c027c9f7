"""Estimates a server's speed from what it delivers of what was granted.

A site that uses its whole grant may be able to do more, so its cap rises by half at each look until
the server, not the grant, is the bottleneck. A site that leaves part of its grant unused at three
looks in a row is at its limit: its cap falls to a little above what came, so that others get the
rest. A user's max_rate is never exceeded.
"""

from __future__ import annotations

import math

import msgspec

__all__ = ["SpeedWatch"]

_USED_UP = 0.9
_RAISE = 1.5
_HEADROOM = 1.15
_LOOKS = 3
_REMEMBERED = 0.5 ** (1 / 20)
_LEAST_CAP = 1_000.0
"""Bytes per second: no cap falls below."""


class SpeedWatch(msgspec.Struct):
    """The speed of one site's server. ``cap`` never exceeds ``most``."""

    cap: float
    most: float = math.inf
    seen: float = 0.0
    """The recent maximum, which decays with a half-life of 20 looks."""
    _slow_looks: int = 0
    _came: float = 0.0
    """At the last look."""
    _fastest_of_slow: float = 0.0

    def look(self, came: float, granted: float, *, busy: bool) -> float:
        """Update and return the cap; rates are in bytes per second.

        ``busy``: there was work all the time, so a low rate is the server's doing.
        """
        self.seen, self._came = max(_REMEMBERED * self.seen, came), came
        if granted <= 0 or not busy:
            self._slow_looks = 0
        elif came >= _USED_UP * granted:
            self._slow_looks = 0
            if granted >= 0.99 * self.cap:
                self.cap = min(max(self.cap * _RAISE, came), self.most)
        else:
            self._note_slow(came)
        return self.cap

    def unused(self, rate: float) -> float:
        """What it will leave of a rate if it continues as at the last look."""
        return max(rate - _HEADROOM * self._came, 0.0) if self._slow_looks else 0.0

    def conclude(self) -> None:
        """Lower the cap after a slow look at once, since there will be no other for a while."""
        if self._slow_looks:
            self.cap = min(max(self._fastest_of_slow * _HEADROOM, _LEAST_CAP), self.cap, self.most)
            self._slow_looks = 0

    def _note_slow(self, came: float) -> None:
        self._fastest_of_slow = max(came, self._fastest_of_slow if self._slow_looks else 0.0)
        self._slow_looks += 1
        if self._slow_looks >= _LOOKS:
            self.conclude()
