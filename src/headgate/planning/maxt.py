"""M-MAXT: constant rates that minimise the last site's end.

    min max_i D_i / v_i   subject to   D_i / v_i <= t*_i,  v_i <= c_i,  sum_i v_i <= U

Zhu et al. 2020, Algorithm 1: sites with deadlines before the common end T get D_i / t*_i, all
others end together at T. Departures from the paper: caps; and where a cap alone determines T, the
bandwidth left over is handed out so that the sum of execution times is least.
"""

from __future__ import annotations

import numpy as np

from headgate.model.errors import PlanningError
from headgate.planning.arrays import FloatArray
from headgate.planning.sufficiency import RELATIVE_TOLERANCE, is_sufficient, required_rates
from headgate.planning.sumt import spread_by_root
from headgate.planning.sweep import breakpoint_sweep

__all__ = ["m_maxt"]


def m_maxt(
    work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray | None = None
) -> FloatArray:
    """Rates per site; refuses when the deadlines can't be met by constant rates.

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
