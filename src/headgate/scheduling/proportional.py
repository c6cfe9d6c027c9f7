"""PROBandwidth, PRODataAmount and Random: the line split without looking at the objective."""

from __future__ import annotations

import numpy as np

from headgate.model.plan import LATE_AFTER_SECONDS
from headgate.scheduling.allocation import breakpoint_sweep, is_sufficient, required_rates
from headgate.scheduling.arrays import FloatArray

__all__ = ["pro_bandwidth", "pro_data_amount", "random_shares"]


# PROBandwidth and PRODataAmount: the line split in proportion, without looking at the objective.
#
#     PROBandwidth    v_i = U v'_i / sum_k v'_k   with  v'_i = D_i / t*_i      (Eq. 13, 14)
#     PRODataAmount   v_i = U D_i / sum_k D_k                                  (Eq. 16)
#
# Zhu et al. 2020, after Fei et al. 2010. PROBandwidth stretches or shortens all deadlines by one
# factor (Eq. 15), so it meets them all exactly when the line is wide enough. PRODataAmount ends all
# sites together.
#
# Where the paper is silent: a site without deadline counts with the latest deadline there is, an
# overdue one with a deadline of one second; when no site has a deadline, any common one gives the
# same shares, those of PRODataAmount. Departure: caps, by the sweep; what a capped site cannot take
# goes to the others in the same proportion.


OVERDUE_COUNTS_AS_SECONDS = 1.0


def pro_bandwidth(
    work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray | None = None
) -> FloatArray:
    """Rates per site, in proportion to what each deadline needs.

    >>> pro_bandwidth(np.array([100.0, 100.0]), np.array([10.0, 5.0]), 60.0)
    array([20., 40.])
    """
    return _in_proportion(work / _stand_in_deadlines(deadlines), budget, caps)


def pro_data_amount(
    work: FloatArray,
    deadlines: FloatArray,  # noqa: ARG001 - every allocation is called alike
    budget: float,
    caps: FloatArray | None = None,
) -> FloatArray:
    """Rates per site, in proportion to its bytes; deadlines play no part.

    >>> pro_data_amount(np.array([100.0, 300.0]), np.array([10.0, 5.0]), 60.0)
    array([15., 45.])
    """
    return _in_proportion(work, budget, caps)


def _stand_in_deadlines(deadlines: FloatArray) -> FloatArray:
    # What is left of a deadline after subtracting times may be a rounding error above zero: such a
    # site is overdue, and dividing by the error would give it the whole line.
    overdue = deadlines <= LATE_AFTER_SECONDS
    known = np.where(overdue, OVERDUE_COUNTS_AS_SECONDS, deadlines)
    has_deadline = np.isfinite(known)
    latest = known[has_deadline].max() if has_deadline.any() else 1.0
    return np.where(has_deadline, known, latest)


def _in_proportion(shares: FloatArray, budget: float, caps: FloatArray | None) -> FloatArray:
    ceilings = np.full(len(shares), np.inf) if caps is None else caps
    return breakpoint_sweep(shares, np.zeros(len(shares)), ceilings, budget)


def random_shares(
    work: FloatArray,
    deadlines: FloatArray,
    budget: float,
    caps: FloatArray | None,
    rng: np.random.Generator,
) -> FloatArray:
    """Random: each deadline's need first, the rest of the line by lot.

        v_i = D_i / t*_i + (U - sum_k D_k / t*_k) w_i / sum_k w_k,   w_i uniform on (0, 1]

    Zhu et al. 2020, the second benchmark of section 4.1. Where the paper is silent: when the line
    is too narrow for all deadlines, the whole of it is given by lot. Departure: caps, by the sweep.

    Rates per site.

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
