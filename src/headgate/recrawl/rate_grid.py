"""The rates that are held possible for a page: cells of one lattice, from slow to fast.

    λ_k = 1/3000 per day · r^k,   r = 12000^(1/31),   k = 0 … cells − 1

32 cells reach four changes a day. Where pages may be asked more often than once an hour they may
also be seen to change more often, so for a ``min_interval`` of s hours, s < 1, the top is at 4/s a
day and the rate that is usual is 1/s times as high. The lattice does not move: a grid with more
cells has all rates of one with fewer, so sites of all speeds make one prior, and slow pages of a
fast site are known as well as any. What is stored of a page are its looks (`look_history`), not
cells, so another interval loses nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from headgate.recrawl.arrays import FloatArray

__all__ = ["RateGrid"]

_SLOWEST, _FASTEST = 1 / 3000, 4.0
"""Changes per day."""
_CELLS = 32
_STEP = math.log(_FASTEST / _SLOWEST) / (_CELLS - 1)
_USUAL_RATE = 1 / 60
_USUAL_SPREAD = 1.6
"""Of the logarithm."""
_HOUR = 3600.0
_SHORTEST = 0.1
"""Seconds; nothing is asked more often."""


@dataclass(frozen=True, slots=True, eq=False)
class RateGrid:
    """``speed`` is 1 for pages that may be asked once an hour at the most, 2 for twice, ..."""

    speed: float = 1.0
    rates: FloatArray = field(init=False)
    """Changes per day."""
    usual: FloatArray = field(init=False)
    """Probabilities, before anything is known of a collection: lognormal around a change in two
    months."""

    def __post_init__(self) -> None:
        cells = _CELLS + math.ceil(math.log(self.speed) / _STEP - 1e-9)
        rates = _SLOWEST * np.exp(_STEP * np.arange(cells))
        spread = np.log(rates / (_USUAL_RATE * self.speed)) / _USUAL_SPREAD
        weights = np.exp(-0.5 * spread**2)
        object.__setattr__(self, "rates", rates)
        object.__setattr__(self, "usual", weights / weights.sum())

    @classmethod
    def for_interval(cls, min_interval: float) -> RateGrid:
        """For pages that are not asked again within so many seconds.

        >>> len(RateGrid.for_interval(86_400.0)), len(RateGrid.for_interval(5.0))
        (32, 54)
        """
        return _grid(max(_HOUR / max(min_interval, _SHORTEST), 1.0))

    def __len__(self) -> int:
        return len(self.rates)


@cache
def _grid(speed: float) -> RateGrid:
    return RateGrid(speed)
