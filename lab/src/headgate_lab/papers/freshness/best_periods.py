"""The optimal periods of looks for known change rates, which the keeper's index must come near."""

from __future__ import annotations

import numpy as np

from headgate.features.keep.recrawl.arrays import FloatArray, as_floats
from headgate.features.keep.recrawl.page_estimates import look_value
from headgate.model.keeping import Staleness

__all__ = ["best_periods"]

_PERIOD_STEPS = 90
_LONGEST = 1e9
"""In units of 1/λ: as good as never."""


def best_periods(
    staleness: Staleness,
    rates: FloatArray,
    importances: FloatArray,
    costs: FloatArray,
    capacity: float,
    shortest: FloatArray | None = None,
) -> FloatArray:
    """The optimal period for each page, given change rates and capacity.

        max Σ μ_i F(λ_i, τ_i)   or   min Σ μ_i A(λ_i, τ_i),   with Σ c_i/τ_i ≤ R,  τ_i ≥ shortest_i

    for freshness (Cho and Garcia-Molina, *Effective page refresh policies*, 2003) and age. A look
    must be worth the same per cost everywhere: V(λ_i, τ_i)·μ_i/c_i = ν (`look_value`). V grows with
    τ, so ν is found by bisection, and each τ within it. For freshness, a page with μ/(cλ) ≤ ν is
    never fetched: its period is infinite. O(pages · steps²).

    ``capacity`` is cost per day; ``shortest`` bounds the periods, as politeness may.

    >>> one = np.ones(2)
    >>> best_periods(Staleness.FRESHNESS, one, one, one, capacity=4.0).round(6).tolist()
    [0.5, 0.5]
    """
    least = np.zeros_like(rates) if shortest is None else shortest
    low, high = -60.0, 60.0
    for _ in range(_PERIOD_STEPS):
        middle = (low + high) / 2
        periods = _periods(staleness, rates, np.exp(middle) * costs / importances, least)
        if float((costs / periods).sum()) > capacity:
            low = middle
        else:
            high = middle
    return _periods(staleness, rates, np.exp(high) * costs / importances, least)


def _periods(
    staleness: Staleness, rates: FloatArray, worth: FloatArray, shortest: FloatArray
) -> FloatArray:
    """The periods at which a look is worth ``worth``; infinite if it never is."""
    low, high = np.log(1e-9 / rates), np.log(_LONGEST / rates)
    for _ in range(_PERIOD_STEPS):
        middle = (low + high) / 2
        enough = look_value(staleness, rates, np.exp(middle)) >= worth
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    periods = np.exp(high)
    never = periods >= 0.99 * _LONGEST / rates
    return as_floats(np.maximum(np.where(never, np.inf, periods), shortest))
