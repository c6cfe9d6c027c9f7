"""Equal shares: what sites of a spider get where no site file says anything of them.

Max-min fair: who cannot take an equal part leaves the rest of it to the others.
"""

from __future__ import annotations

import numpy as np

from headgate.planning.arrays import FloatArray
from headgate.planning.constant_rates import constant_rates
from headgate.planning.following import Following
from headgate.planning.policies import Policy

__all__ = ["equal_shares", "sharing_equally"]


def equal_shares(work: FloatArray, _: FloatArray, budget: float, caps: FloatArray) -> FloatArray:
    """
    >>> equal_shares(np.ones(3), np.ones(3), 90.0, np.array([np.inf, 10.0, np.inf]))
    array([40., 10., 40.])
    """
    rates, left = np.zeros(len(work)), budget
    by_cap = np.argsort(caps, kind="stable")
    for place, site in enumerate(by_cap):
        rates[site] = min(float(caps[site]), left / (len(work) - place))
        left -= rates[site]
    return rates


def sharing_equally() -> Following:
    """As the manager follows it."""
    policy = Policy("equal shares", lambda problem, _: constant_rates(problem, equal_shares))
    return Following(policy, np.random.default_rng(0))
