"""M-SUMT: constant rates that minimise the sum of execution times.

    min sum_i D_i / v_i   subject to   D_i / v_i <= t*_i,  v_i <= c_i,  sum_i v_i <= U

Zhu et al. 2020, Algorithm 2, gives v_i = max(D_i / t*_i, theta sqrt(D_i)) by fixing one site at a
time; the sweep finds the same theta at once and stays exact with caps, where fixing does not.
Departure from the paper: caps.
"""

from __future__ import annotations

import numpy as np

from headgate.model.errors import PlanningError
from headgate.planning.arrays import FloatArray
from headgate.planning.sufficiency import is_sufficient, required_rates
from headgate.planning.sweep import breakpoint_sweep

__all__ = ["m_sumt", "spread_by_root"]


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
