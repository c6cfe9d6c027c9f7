"""M-STET: constant rates that minimise total lateness when deadlines can't all be met.

    min sum_i max(0, D_i / v_i - t*_i)   subject to   v_i <= c_i,  sum_i v_i <= U

Zhu et al. 2020, Algorithm 3: v_i = min(D_i / t*_i, theta sqrt(D_i)); no site is served beyond its
deadline's need. Sites without deadline and overdue ones count from time 0 (Eq. 2 with t* = 0), so
that none starves. Departures from the paper: caps; and what is left when every deadline is met or
every cap reached is handed out as M-SUMT would.
"""

from __future__ import annotations

import numpy as np

from headgate.planning.arrays import FloatArray
from headgate.planning.sufficiency import required_rates
from headgate.planning.sumt import spread_by_root
from headgate.planning.sweep import breakpoint_sweep

__all__ = ["m_stet"]


def m_stet(
    work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray | None = None
) -> FloatArray:
    """Rates per site.

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
