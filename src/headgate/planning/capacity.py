"""The budget over time as planning sees it: constant pieces, the last one without end.

A capacity answers two questions, one the inverse of the other: how many bytes can pass by time t,
and when have so many bytes passed. Every rate is finite, the last one positive, so everything
ends. Lookups cost O(log pieces). A timetable of two years has thousands of pieces, and a running
crawl asks for the rest of it many times a second, so whole capacities are made in numpy alone.

Most budgets are constant. Such a one is a single number, and a small crawl is over before numpy
would be imported: arrays are made on first use.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate.planning.arrays import FloatArray

__all__ = ["NOTHING_LEFT", "Capacity"]

NOTHING_LEFT = 1e-9
"""Part of the budget too small to start a site with, and of a site's bytes too small to matter."""


class Capacity:
    """``rates[k]`` holds from ``starts[k]`` to ``starts[k + 1]``; ``starts[0]`` is 0. It does not
    change."""

    __slots__ = ("_columns", "_rate")

    def __init__(self, rate: float, columns: tuple[FloatArray, ...] | None = None) -> None:
        """``columns`` are starts, rates and cumulative bytes, with ``rate`` as the first rate;
        None: it is constant. They must be valid: `of` checks."""
        self._rate = rate
        self._columns = columns

    @classmethod
    def of(cls, pieces: Iterable[tuple[float, float]]) -> Capacity:
        """From (start, rate) pairs in order of time.

        >>> capacity = Capacity.of([(0, 100), (10, 0), (20, 50)])
        >>> float(capacity.bytes_by(25)), float(capacity.time_of(1100))
        (1250.0, 22.0)
        """
        starts, rates = zip(*pieces, strict=True)
        if starts[0] != 0 or any(b <= a for a, b in itertools.pairwise(starts)):
            raise ValueError("pieces must start at 0 and go forward in time")
        if not all(map(math.isfinite, rates)) or min(rates) < 0 or rates[-1] <= 0:
            raise ValueError("rates must be finite and not negative, the last one positive")
        return cls._of_columns(starts, rates)

    @classmethod
    def _of_columns(
        cls, starts: FloatArray | Sequence[float], rates: FloatArray | Sequence[float]
    ) -> Capacity:
        """From valid columns."""
        if len(rates) == 1:
            return cls(float(rates[0]))
        import numpy as np

        begin, rate = np.asarray(starts, np.float64), np.asarray(rates, np.float64)
        passed = np.zeros(len(begin))
        np.cumsum(np.diff(begin) * rate[:-1], out=passed[1:])
        return cls(float(rate[0]), (begin, rate, passed))

    @classmethod
    def constant(cls, rate: float) -> Capacity:
        return cls.of([(0.0, rate)])

    @property
    def starts(self) -> FloatArray:
        return self._made_columns()[0]

    @property
    def rates(self) -> FloatArray:
        return self._made_columns()[1]

    @property
    def passed(self) -> FloatArray:
        """Bytes that can have passed at ``starts[k]``."""
        return self._made_columns()[2]

    def _made_columns(self) -> tuple[FloatArray, ...]:
        if self._columns is not None:
            return self._columns
        import numpy as np

        return np.zeros(1), np.array([self._rate]), np.zeros(1)

    @property
    def pieces(self) -> list[tuple[float, float]]:
        """(start, rate), in order of time."""
        if self.is_constant:
            return [(0.0, self._rate)]
        return list(zip(self.starts.tolist(), self.rates.tolist(), strict=True))

    @property
    def is_constant(self) -> bool:
        return self._columns is None

    @property
    def peak(self) -> float:
        return self._rate if self.is_constant else float(self.rates.max())

    @property
    def mean_rate(self) -> float:
        """The mean over all pieces that end; the rate itself when constant."""
        if self.is_constant:
            return self._rate
        return float(self.passed[-1] / self.starts[-1])

    def rate_at(self, time: float) -> float:
        return self._rate if self.is_constant else float(self.rates[self._piece_at(time)])

    def next_turn(self, time: float) -> float:
        """When the rate changes next after ``time``; infinity when never."""
        if self.is_constant:
            return math.inf
        following = self._piece_at(time) + 1
        return float(self.starts[following]) if following < len(self.starts) else math.inf

    def bytes_by(self, time: float | FloatArray) -> FloatArray:
        import numpy as np

        piece = np.maximum(np.searchsorted(self.starts, time, side="right") - 1, 0)
        bytes_: FloatArray = self.passed[piece] + (time - self.starts[piece]) * self.rates[piece]
        return bytes_

    def time_of(self, bytes_: float | FloatArray) -> FloatArray:
        """The earliest time by which so many bytes have passed."""
        import numpy as np

        # The piece in which the amount is reached: the last one that starts with fewer bytes.
        piece = np.maximum(np.searchsorted(self.passed, bytes_, side="left") - 1, 0)
        missing = np.asarray(bytes_ - self.passed[piece], dtype=np.float64)
        rate = self.rates[piece]
        wait = np.divide(missing, rate, out=np.zeros_like(missing), where=rate > 0)
        time: FloatArray = self.starts[piece] + wait
        return time

    def scaled(self, factor: float) -> Capacity:
        if self.is_constant:
            return Capacity(self._rate * factor)
        columns = self.starts, self.rates * factor, self.passed * factor
        return Capacity(self._rate * factor, columns)

    def at_most(self, rate: float) -> Capacity:
        """The same budget on a line that carries at most ``rate``, which is above 0."""
        if not rate > 0:
            raise ValueError("a line carries something")
        if self.is_constant:
            return Capacity(min(self._rate, rate))
        return Capacity._of_columns(self.starts, self.rates.clip(max=rate))

    def from_time(self, time: float) -> Capacity:
        """The same budget, seen from a later time."""
        if self.is_constant:
            return self
        piece = self._piece_at(time)
        starts = self.starts[piece:] - time
        starts[0] = 0.0
        return Capacity._of_columns(starts, self.rates[piece:])

    def delayed(self, seconds: float) -> Capacity:
        """The same budget, so many seconds later; its first rate holds until then."""
        if self.is_constant:
            return self
        starts = self.starts + seconds
        starts[0] = 0.0
        return Capacity._of_columns(starts, self.rates)

    def before(self, time: float) -> list[tuple[float, float]]:
        """The pieces that start before a time."""
        return [(start, rate) for start, rate in self.pieces if start < time]

    def is_near(self, other: Capacity, seconds: float) -> bool:
        """Whether it has the same rates, with changes at most so many seconds earlier or later."""
        ours, theirs = self.pieces, other.pieces
        return [rate for _, rate in ours] == [rate for _, rate in theirs] and all(
            abs(start - another) <= seconds
            for (start, _), (another, _) in zip(ours, theirs, strict=True)
        )

    def until(self, time: float, then: Capacity) -> Capacity:
        """This budget up to a time after 0, and another from there on.

        >>> Capacity.constant(100.0).until(10.0, Capacity.of([(0, 5), (7, 9)])).pieces
        [(0.0, 100.0), (10.0, 5.0), (17.0, 9.0)]
        """
        pieces = [*self.before(time), *((start + time, rate) for start, rate in then.pieces)]
        starts, rates = zip(*pieces, strict=True)
        return Capacity._of_columns(starts, rates)

    def _piece_at(self, time: float) -> int:
        return max(int(self.starts.searchsorted(time, side="right")) - 1, 0)
