"""The budget over time as planning sees it: constant pieces, the last one without end.

A capacity answers two questions, one the inverse of the other: how many bytes can pass by time t,
and when have so many bytes passed. Every rate is finite, the last one positive, so everything
ends. Lookups cost O(log pieces).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from headgate.planning.arrays import FloatArray

__all__ = ["Capacity"]


@dataclass(frozen=True, slots=True, eq=False)
class Capacity:
    """``rates[k]`` holds from ``starts[k]`` to ``starts[k + 1]``; ``starts[0]`` is 0."""

    starts: FloatArray
    rates: FloatArray
    passed: FloatArray
    """Bytes that can have passed at ``starts[k]``."""

    @classmethod
    def of(cls, pieces: Iterable[tuple[float, float]]) -> Capacity:
        """From (start, rate) pairs in order of time.

        >>> capacity = Capacity.of([(0, 100), (10, 0), (20, 50)])
        >>> float(capacity.bytes_by(25)), float(capacity.time_of(1100))
        (1250.0, 22.0)
        """
        starts, rates = (np.array(column, dtype=np.float64) for column in zip(*pieces, strict=True))
        if starts[0] != 0 or (np.diff(starts) <= 0).any():
            raise ValueError("pieces must start at 0 and go forward in time")
        if not np.isfinite(rates).all() or (rates < 0).any() or rates[-1] <= 0:
            raise ValueError("rates must be finite and not negative, the last one positive")
        passed = np.concatenate(([0.0], np.cumsum(np.diff(starts) * rates[:-1])))
        return cls(starts, rates, passed)

    @classmethod
    def constant(cls, rate: float) -> Capacity:
        return cls.of([(0.0, rate)])

    @property
    def pieces(self) -> list[tuple[float, float]]:
        """(start, rate), in order of time."""
        return list(zip(self.starts.tolist(), self.rates.tolist(), strict=True))

    @property
    def is_constant(self) -> bool:
        return len(self.rates) == 1

    @property
    def peak(self) -> float:
        return float(self.rates.max())

    @property
    def mean_rate(self) -> float:
        """The mean over all pieces that end; the rate itself when constant."""
        if self.is_constant:
            return float(self.rates[0])
        return float(self.passed[-1] / self.starts[-1])

    def rate_at(self, time: float) -> float:
        return float(self.rates[self._piece_at(time)])

    def next_turn(self, time: float) -> float:
        """When the rate changes next after ``time``; infinity when never."""
        following = self._piece_at(time) + 1
        return float(self.starts[following]) if following < len(self.starts) else np.inf

    def bytes_by(self, time: float | FloatArray) -> FloatArray:
        piece = np.maximum(np.searchsorted(self.starts, time, side="right") - 1, 0)
        bytes_: FloatArray = self.passed[piece] + (time - self.starts[piece]) * self.rates[piece]
        return bytes_

    def time_of(self, bytes_: float | FloatArray) -> FloatArray:
        """The earliest time by which so many bytes have passed."""
        # The piece in which the amount is reached: the last one that starts with fewer bytes.
        piece = np.maximum(np.searchsorted(self.passed, bytes_, side="left") - 1, 0)
        missing = np.asarray(bytes_ - self.passed[piece], dtype=np.float64)
        rate = self.rates[piece]
        wait = np.divide(missing, rate, out=np.zeros_like(missing), where=rate > 0)
        time: FloatArray = self.starts[piece] + wait
        return time

    def scaled(self, factor: float) -> Capacity:
        return Capacity(self.starts, self.rates * factor, self.passed * factor)

    def at_most(self, rate: float) -> Capacity:
        """The same budget where a line carries no more than ``rate``, which is above 0."""
        pieces = zip(self.starts, np.minimum(self.rates, rate), strict=True)
        return Capacity.of(pieces)

    def from_time(self, time: float) -> Capacity:
        """The same budget seen from a later moment."""
        piece = self._piece_at(time)
        later = zip(self.starts[piece + 1 :], self.rates[piece + 1 :], strict=True)
        return Capacity.of([(0.0, self.rates[piece]), *((at - time, rate) for at, rate in later)])

    def delayed(self, seconds: float) -> Capacity:
        """The same budget, so many seconds later; until it begins its first rate holds."""
        starts = np.concatenate(([0.0], self.starts[1:] + seconds))
        return Capacity.of(zip(starts, self.rates, strict=True))

    def _piece_at(self, time: float) -> int:
        return max(int(np.searchsorted(self.starts, time, side="right")) - 1, 0)
