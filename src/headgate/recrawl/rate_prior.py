"""The prior of change rates in a collection: the mean of its pages' posteriors.

    prior = (Σ posteriors of the pages + 20 · prior of a new collection) / (pages + 20)

Each site's part of the sum is stored, so that a visit updates only its own. The prior in use is
renewed every 200 visits: if it changed with each visit, sites would not be comparable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headgate.recrawl.arrays import FloatArray, as_floats
from headgate.recrawl.rate_grid import RateGrid

__all__ = ["RatePrior"]

_USUAL_PAGES = 20.0
"""The weight of the prior of a new collection, in pages."""
_VISITS = 200


@dataclass(slots=True)
class RatePrior:
    """Sites go by name; a site's weights are the sum of its pages' posteriors."""

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
