"""Random: each deadline's need first, the rest of the line by lot.

    v_i = D_i / t*_i + (U - sum_k D_k / t*_k) w_i / sum_k w_k,   w_i uniform on (0, 1]

Zhu et al. 2020, the second benchmark of section 4.1. Where the paper is silent: when the line is
too narrow for all deadlines, the whole of it is given by lot. Departure: caps, by the sweep.
"""

from __future__ import annotations

import numpy as np

from headgate.planning.arrays import FloatArray
from headgate.planning.sufficiency import is_sufficient, required_rates
from headgate.planning.sweep import breakpoint_sweep

__all__ = ["random_shares"]


def random_shares(
    work: FloatArray,
    deadlines: FloatArray,
    budget: float,
    caps: FloatArray | None,
    rng: np.random.Generator,
) -> FloatArray:
    """Rates per site.

    >>> work, deadlines = np.array([100.0, 100.0]), np.array([10.0, np.inf])
    >>> rates = random_shares(work, deadlines, 40.0, None, np.random.default_rng(1))
    >>> bool(rates[0] >= 10), round(float(rates.sum()), 9)
    (True, 40.0)
    """
    enough = is_sufficient(work, deadlines, budget, caps)
    floors = required_rates(work, deadlines) if enough else np.zeros(len(work))
    room = np.full(len(work), np.inf) if caps is None else np.maximum(caps - floors, 0.0)
    lots = 1.0 - rng.random(len(work))
    spare = max(budget - float(floors.sum()), 0.0)
    return floors + breakpoint_sweep(lots, np.zeros(len(work)), room, spare)
