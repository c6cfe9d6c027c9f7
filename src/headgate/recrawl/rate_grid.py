"""The grid of possible change rates of a page.

    λ_k = 1/3000 per day · r^k,   r = 12000^(1/31),   k = 0 … cells − 1

32 cells reach four changes a day. If pages may be fetched more often than once an hour, more
frequent changes can be seen, so for a ``min_interval`` of s hours, s < 1, the top is at 4/s a day
and the usual rate is 1/s times as high. A grid with more cells has all rates of one with fewer, so
all sites share one prior. Looks are stored (`look_history`), not cells, so the interval can change
without loss.
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
"""Standard deviation of the logarithm."""
_HOUR = 3600.0
_SHORTEST = 0.1
"""Seconds; nothing is fetched more often."""


@dataclass(frozen=True, slots=True, eq=False)
class RateGrid:
    """``speed`` is 1 for pages that may be fetched at most once an hour, 2 for twice, ..."""

    speed: float = 1.0
    rates: FloatArray = field(init=False)
    """Changes per day."""
    usual: FloatArray = field(init=False)
    """The prior for a new collection: lognormal around a change in two months."""

    def __post_init__(self) -> None:
        cells = _CELLS + math.ceil(math.log(self.speed) / _STEP - 1e-9)
        rates = _SLOWEST * np.exp(_STEP * np.arange(cells))
        spread = np.log(rates / (_USUAL_RATE * self.speed)) / _USUAL_SPREAD
        weights = np.exp(-0.5 * spread**2)
        object.__setattr__(self, "rates", rates)
        object.__setattr__(self, "usual", weights / weights.sum())

    @classmethod
    def for_interval(cls, min_interval: float) -> RateGrid:
        """For pages that are not fetched again within ``min_interval`` seconds.

        >>> len(RateGrid.for_interval(86_400.0)), len(RateGrid.for_interval(5.0))
        (32, 54)
        """
        return _grid(max(_HOUR / max(min_interval, _SHORTEST), 1.0))

    def __len__(self) -> int:
        return len(self.rates)


@cache
def _grid(speed: float) -> RateGrid:
    return RateGrid(speed)
