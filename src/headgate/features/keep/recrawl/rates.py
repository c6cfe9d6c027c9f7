"""Change rates of pages: the grid of possible ones, the posterior of a page, and the prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray, as_floats

__all__ = ["BECOMES_ANOTHER", "RateGrid", "RatePrior", "look_likelihood", "transition"]

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
    """The grid of possible change rates of a page.

        λ_k = 1/3000 per day · r^k,   r = 12000^(1/31),   k = 0 … cells − 1

    32 cells reach four changes a day. If pages may be fetched more often than once an hour, more
    frequent changes can be seen, so for a ``min_interval`` of s hours, s < 1, the top is at 4/s a
    day and the usual rate is 1/s times as high. A grid with more cells has all rates of one with
    fewer, so all sites share one prior. Looks are stored (`look_history`), not cells, so the
    interval can change without loss.

    ``speed`` is 1 for pages that may be fetched at most once an hour, 2 for twice, ...
    """

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


@lru_cache(64)
def _grid(speed: float) -> RateGrid:
    return RateGrid(speed)


# The posterior of a page's change rate, given the looks at it: a probability for each rate.
#
# A look shows whether the page changed since the one before, not how often. With λ_k the rates
# (`RateGrid`) and τ the time between two looks, each look updates the probabilities p:
#
#     p_k ← p_k · (1 − e^{−λ_k τ}  if changed,  e^{−λ_k τ}  if not) / Σ
#     p_k ← (1 − ε) · p_k + ε · prior_k
#
# The first line is Bayes' rule. By the second, old looks are forgotten: real pages change in
# bursts, so at every look a page gets, with probability ε, a new rate from the prior of the
# collection (`RatePrior`). That is the exact filter of a hidden Markov model. A page that changed
# at every look and then does not gets a lower rate after a few looks, and one surprise does not
# undo what many looks showed. ε was chosen on one half of real changes and checked on the other
# (`headgate lab freshness`).
#
# Compared with maximum likelihood, there is no root to find, one look is enough for a sensible
# rate, and decisions can be averaged over what is unknown.


BECOMES_ANOTHER = 0.03
"""ε: the probability at each look."""


def look_likelihood(rates: FloatArray, gaps: FloatArray, changed: bool | BoolArray) -> FloatArray:
    """Likelihood of looks, ``gaps`` days after the ones before: a row each, a column per rate."""
    surely = -np.expm1(-rates * gaps[:, None])
    return as_floats(np.where(np.atleast_1d(changed)[:, None], surely, 1 - surely))


def transition(prior: FloatArray) -> FloatArray:
    """The transition matrix of the hidden Markov model. Probabilities times a look's likelihood,
    times this, are those after the look, up to a factor.

    >>> prior, rates = np.array([0.5, 0.5]), np.array([0.01, 1.0])
    >>> seen = look_likelihood(rates, np.array([1.0]), True)
    >>> after = (prior * seen) @ transition(prior)
    >>> (after / after.sum()).round(3).tolist()
    [[0.03, 0.97]]
    """
    return as_floats((1 - BECOMES_ANOTHER) * np.eye(len(prior)) + BECOMES_ANOTHER * prior)


_USUAL_PAGES = 20.0
"""The weight of the prior of a new collection, in pages."""
_VISITS = 200


@dataclass(slots=True)
class RatePrior:
    """The prior of change rates in a collection: the mean of its pages' posteriors.

        prior = (Σ posteriors of the pages + 20 · prior of a new collection) / (pages + 20)

    Each site's part of the sum is stored, so that a visit updates only its own. The prior in use is
    renewed every 200 visits: if it changed with each visit, sites would not be comparable.

    Sites go by name; a site's weights are the sum of its pages' posteriors.
    """

    visits: int = 0
    _sums: dict[str, FloatArray] = field(default_factory=dict)
    _in_use: FloatArray = field(default_factory=lambda: np.zeros(0))
    _pages_in_use: float = 0.0

    def counted(self, site: str, weights: FloatArray) -> None:
        """Set a site's weights; used from the next `renew` on."""
        self._sums[site] = weights

    def visited(self, site: str, weights: FloatArray) -> bool:
        """Set a site's weights after a visit; True if the prior was renewed."""
        self.counted(site, weights)
        self.visits += 1
        if self.visits % _VISITS:
            return False
        self.renew()
        return True

    def forget(self, site: str) -> None:
        self._sums.pop(site, None)

    def renew(self) -> None:
        total = np.zeros(max(map(len, self._sums.values()), default=0))
        for weights in self._sums.values():
            total[: len(weights)] += weights
        self._in_use, self._pages_in_use = total, float(total.sum())

    def probabilities(self, grid: RateGrid) -> FloatArray:
        """The prior for pages of a site with this grid."""
        total = _USUAL_PAGES * grid.usual
        shared = min(len(total), len(self._in_use))
        total[:shared] += self._in_use[:shared]
        return as_floats(total / (self._pages_in_use + _USUAL_PAGES))
