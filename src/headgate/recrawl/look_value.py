"""What a look at a page is worth now: the index of the pull policy.

The cost of staleness a(s) at a time s after the last look gives a look at τ the value

    V(τ) = μ · [ τ·a(τ) − ∫₀^τ a(s) ds ]

per unit of its cost c. For known rates, looking at the page with the largest V/c whenever there is
room approaches the optimal periodic schedule (its condition is V_i(τ_i)/c_i = ν for all pages
looked at, see `periodic`), without knowing the capacity and without intervals to adapt. The rate is
not known, so V is averaged over what the looks so far leave possible (`rate_posterior`).

With the **age** as a(s), V grows without bound: no page is forgotten. With **freshness** a page
that changes faster than it could be followed is given up: best for the mean freshness, and hard on
such pages. Age is the default; `headgate lab freshness` shows both on real changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.model.keeping import Staleness
from headgate.recrawl.arrays import FloatArray, as_floats

__all__ = ["look_value"]

_SMALL = 1e-2


def look_value(staleness: Staleness, rate: Any, since: Any) -> FloatArray:
    """For importance 1; ``since`` the last look. Rates are positive.

    >>> look_value(Staleness.FRESHNESS, 2.0, np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.297]
    >>> look_value(Staleness.AGE, 2.0, np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.3515]
    """
    rate = as_floats(rate)
    x = rate * since
    decay = np.exp(-x)
    if staleness is Staleness.FRESHNESS:
        exact = 1 - (1 + x) * decay
        series = x**2 * (1 / 2 - x / 3 + x**2 / 8)
        return as_floats(np.where(x < _SMALL, series, exact) / rate)
    exact = x**2 / 2 + x * decay - (1 - decay)
    series = x**3 * (1 / 3 - x / 8 + x**2 / 30)
    return as_floats(np.where(x < _SMALL, series, exact) / rate**2)
