"""Constant rates for sites that start together: M-MAXT, M-STET and M-SUMT, from one sweep."""

from __future__ import annotations

import numpy as np

from headgate.model.errors import PlanningError
from headgate.scheduling.arrays import FloatArray

__all__ = [
    "breakpoint_sweep",
    "is_sufficient",
    "m_maxt",
    "m_stet",
    "m_sumt",
    "required_rate",
    "required_rates",
]


def m_maxt(
    work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray | None = None
) -> FloatArray:
    """M-MAXT: constant rates that minimise the last site's end.

        min max_i D_i / v_i   subject to   D_i / v_i <= t*_i,  v_i <= c_i,  sum_i v_i <= U

    Zhu et al. 2020, Algorithm 1: sites with deadlines before the common end T get D_i / t*_i, all
    others end together at T. Departures from the paper: caps; and where a cap alone determines T,
    the bandwidth left over is handed out so that the sum of execution times is least.

    Rates per site; refuses when the deadlines can't be met by constant rates.

    >>> m_maxt(np.array([100.0, 300.0]), np.array([2.0, np.inf]), 110.0)
    array([50., 60.])
    """
    if not is_sufficient(work, deadlines, budget, caps):
        raise PlanningError("M-MAXT needs bandwidth for all deadlines; use M-STET")
    floors = required_rates(work, deadlines)
    rates = breakpoint_sweep(work, floors, np.full(len(work), np.inf), budget)
    if caps is None:
        return rates
    slowest = float((work / caps).max(initial=0.0))
    if float((work / rates).max(initial=0.0)) >= slowest * (1 - RELATIVE_TOLERANCE):
        return np.minimum(rates, caps)
    return spread_by_root(work, np.maximum(floors, work / slowest), budget, caps)


def m_stet(
    work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray | None = None
) -> FloatArray:
    """M-STET: constant rates that minimise total lateness when deadlines can't all be met.

        min sum_i max(0, D_i / v_i - t*_i)   subject to   v_i <= c_i,  sum_i v_i <= U

    Zhu et al. 2020, Algorithm 3: v_i = min(D_i / t*_i, theta sqrt(D_i)); no site is served beyond
    its deadline's need. Sites without deadline and overdue ones count from time 0 (Eq. 2 with t* =
    0), so that none starves. Departures from the paper: caps; and what is left when every deadline
    is met or every cap reached is handed out as M-SUMT would.

    Rates per site.

    >>> m_stet(np.array([100.0, 100.0]), np.array([10.0, 2.0]), 40.0)
    array([10., 30.])
    """
    enough = required_rates(work, deadlines)
    enough[enough == 0] = np.inf
    if caps is not None:
        enough = np.minimum(enough, caps)
    rates = breakpoint_sweep(np.sqrt(work), np.zeros(len(work)), enough, budget)
    if rates.sum() < budget:
        return spread_by_root(work, rates, budget, caps)
    return rates


# M-SUMT: constant rates that minimise the sum of execution times.
#
#     min sum_i D_i / v_i   subject to   D_i / v_i <= t*_i,  v_i <= c_i,  sum_i v_i <= U
#
# Zhu et al. 2020, Algorithm 2, gives v_i = max(D_i / t*_i, theta sqrt(D_i)) by fixing one site at a
# time; the sweep finds the same theta at once and stays exact with caps, where fixing does not.
# Departure from the paper: caps.


def m_sumt(
    work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray | None = None
) -> FloatArray:
    """Rates per site; refuses when the deadlines can't be met by constant rates.

    >>> m_sumt(np.array([1.0, 4.0, 9.0]), np.full(3, np.inf), 60.0).round(9)
    array([10., 20., 30.])
    """
    if not is_sufficient(work, deadlines, budget, caps):
        raise PlanningError("M-SUMT needs bandwidth for all deadlines; use M-STET")
    return spread_by_root(work, required_rates(work, deadlines), budget, caps)


def spread_by_root(
    work: FloatArray, floors: FloatArray, budget: float, caps: FloatArray | None
) -> FloatArray:
    """The rates above given floors that make the sum of execution times least: Eq. 12."""
    ceilings = np.full(len(work), np.inf) if caps is None else np.maximum(caps, floors)
    return breakpoint_sweep(np.sqrt(work), floors, ceilings, budget)


def breakpoint_sweep(
    slope: FloatArray, floor: FloatArray, ceiling: FloatArray, total: float
) -> FloatArray:
    """The breakpoint sweep behind every constant-rate allocation.

    Find theta with  sum_i clip(a_i theta, lo_i, hi_i) = U  and return the clipped rates. The sum is
    piecewise linear and does not fall; its pieces change where a site leaves its floor (lo_i / a_i)
    or reaches its ceiling (hi_i / a_i). Sorting these breakpoints and summing slopes finds the
    piece that reaches U: O(n log n).

    Rates ``clip(slope * theta, floor, ceiling)`` that sum to ``total``.

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


# Zhu 2020, Eq. 1: is the line wide enough for all deadlines at constant rates?


RELATIVE_TOLERANCE = 1e-12


def required_rates(work: FloatArray, deadlines: FloatArray) -> FloatArray:
    """The least constant rate per site, D_i / t*_i; 0 without a deadline, infinity when overdue."""
    overdue = deadlines <= 0
    return np.where(overdue, np.inf, work / np.where(overdue, 1.0, deadlines))


def required_rate(work: FloatArray, deadlines: FloatArray) -> float:
    """Eq. 1, the least total rate if every site starts at once and never changes its rate."""
    return float(required_rates(work, deadlines).sum())


def is_sufficient(
    work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray | None = None
) -> bool:
    """Whether constant rates can meet all deadlines and give every site something.

    The paper's fail rule with its edge settled: needing exactly the budget is enough, unless a
    site without deadline would be left with nothing.
    """
    floors = required_rates(work, deadlines)
    if caps is not None and (floors > caps * (1 + RELATIVE_TOLERANCE)).any():
        return False
    needed = float(floors.sum())
    if np.isinf(deadlines).any():
        return needed < budget * (1 - RELATIVE_TOLERANCE)
    return needed <= budget * (1 + RELATIVE_TOLERANCE)
