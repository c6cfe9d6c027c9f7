"""The breakpoint sweep behind every constant-rate allocation.

Find theta with  sum_i clip(a_i theta, lo_i, hi_i) = U  and return the clipped rates. The sum is
piecewise linear and does not fall; its pieces change where a site leaves its floor (lo_i / a_i)
or reaches its ceiling (hi_i / a_i). Sorting these breakpoints and summing slopes finds the piece
that reaches U: O(n log n).
"""

from __future__ import annotations

import numpy as np

from headgate.planning.arrays import FloatArray

__all__ = ["breakpoint_sweep"]


def breakpoint_sweep(
    slope: FloatArray, floor: FloatArray, ceiling: FloatArray, total: float
) -> FloatArray:
    """Rates ``clip(slope * theta, floor, ceiling)`` that sum to ``total``.

    Slopes are positive and ``floor <= ceiling``. A total below the sum of floors gives the floors,
    one above the sum of ceilings the ceilings: the caller decides what that means.

    >>> unbounded = np.full(2, np.inf)
    >>> breakpoint_sweep(np.array([1.0, 3.0]), np.array([30.0, 0.0]), unbounded, 100.0)
    array([30., 70.])
    """
    if total <= floor.sum():
        return floor.copy()
    if total >= ceiling.sum():
        return ceiling.copy()
    theta = _theta(slope, floor, ceiling, total)
    return np.clip(slope * theta, floor, ceiling)


def _theta(slope: FloatArray, floor: FloatArray, ceiling: FloatArray, total: float) -> float:
    leaves_floor = floor / slope
    meets_ceiling = ceiling / slope
    bounded = np.isfinite(meets_ceiling)
    points = np.concatenate((leaves_floor, meets_ceiling[bounded]))
    changes = np.concatenate((slope, -slope[bounded]))
    order = np.argsort(points)
    points = points[order]
    slopes = np.cumsum(changes[order])
    reached = floor.sum() + np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(points))))
    piece = max(int(np.searchsorted(reached, total)) - 1, 0)
    # The running sums lose digits over a million sites; within the piece found it is known which
    # sites are free, so theta follows from fresh sums.
    middle = (points[piece] + points[piece + 1]) / 2 if piece + 1 < len(points) else np.inf
    at_floor = leaves_floor >= middle
    at_ceiling = bounded & (meets_ceiling <= middle)
    free = ~(at_floor | at_ceiling)
    if not free.any():  # the piece is a point: every site sits on a bound there
        return float(points[piece])
    left = total - floor[at_floor].sum() - ceiling[at_ceiling].sum()
    return float(left / slope[free].sum())
