"""How stale a copy is, for a page that changes by a Poisson process of rate λ.

A copy made ``s`` ago is out of date with probability 1 − e^{−λs}, and has been so for
s − (1 − e^{−λs})/λ on average (Cho and Garcia-Molina, 2003). With a look every τ, the means over
time are

    freshness  F(λ, τ) = (1 − e^{−λτ}) / (λτ)
    age        A(λ, τ) = τ/2 − 1/λ + (1 − e^{−λτ}) / (λ²τ)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.recrawl.arrays import FloatArray, as_floats

__all__ = [
    "expected_age",
    "mean_age",
    "mean_freshness",
    "probability_changed",
    "probability_changed_twice",
]

_SMALL = 1e-3
_SMALL_FOR_TWO = 1e-2
"""Below, differences of nearly equal numbers are replaced by their series."""


def probability_changed(rate: Any, since: Any) -> FloatArray:
    """Probability that the page has changed since the last look.

    >>> float(probability_changed(1.0, 0.0))
    0.0
    """
    return as_floats(-np.expm1(-as_floats(rate) * since))


def probability_changed_twice(rate: Any, since: Any) -> FloatArray:
    """Probability of two changes or more since the last look: 1 − (1 + λs)·e^{−λs}.

    >>> float(probability_changed_twice(2.0, 1.0).round(4))
    0.594
    """
    x = as_floats(rate) * since
    series = x**2 * (1 / 2 - x / 3 + x**2 / 8)
    return as_floats(np.where(x < _SMALL_FOR_TWO, series, 1 - (1 + x) * np.exp(-x)))


def expected_age(rate: Any, since: Any) -> FloatArray:
    """For how long the copy has been out of date, on average; 0 for one that is not."""
    rate, since = np.broadcast_arrays(as_floats(rate), as_floats(since))
    x = rate * since
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = since + np.expm1(-x) / rate
    return as_floats(np.where(x < _SMALL, since * (x / 2 - x**2 / 6 + x**3 / 24), exact))


def mean_freshness(rate: Any, period: Any) -> FloatArray:
    """Share of the time for which the copy is fresh.

    >>> round(float(mean_freshness(1.0, 1.0)), 4)
    0.6321
    """
    x = as_floats(rate) * period
    with np.errstate(divide="ignore", invalid="ignore"):
        return as_floats(np.where(x < _SMALL, 1 - x / 2 + x**2 / 6, -np.expm1(-x) / x))


def mean_age(rate: Any, period: Any) -> FloatArray:
    """Mean over time of `expected_age`."""
    rate, period = np.broadcast_arrays(as_floats(rate), as_floats(period))
    x = rate * period
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = period / 2 - 1 / rate - np.expm1(-x) / (rate * x)
    return as_floats(np.where(x < _SMALL, period * (x / 6 - x**2 / 24 + x**3 / 120), exact))
