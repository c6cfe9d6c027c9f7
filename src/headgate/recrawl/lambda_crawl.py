"""LambdaCrawl: look rates by which every page is fetched.

A copy that missed k changes costs the harmonic number H(k); with looks at rate ρ that is
μ ln((ρ + λ)/ρ) on average, which grows without bound as ρ falls. The optimum under Σ ρ_i ≤ R is

    ρ_i = [ −λ_i + √(λ_i² + 4 μ_i λ_i/ν) ] / 2

(Kolobov, Peres, Lu and Horvitz, *Staying up to date with online content changes using reinforcement
learning for scheduling*, NeurIPS 2019). If servers signal every change, look after it with
probability p_i = min(1, μ_i/(ν λ_i)). Both ν by bisection.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headgate.recrawl.arrays import FloatArray, as_floats

__all__ = ["lambda_crawl_probabilities", "lambda_crawl_rates"]

_STEPS = 200


def lambda_crawl_rates(rates: FloatArray, importances: FloatArray, capacity: float) -> FloatArray:
    """Looks per day at each page, ``capacity`` in all.

    >>> lambda_crawl_rates(np.ones(2), np.ones(2), 4.0).round(6).tolist()
    [2.0, 2.0]
    """

    def at(price: float) -> FloatArray:
        return as_floats((np.sqrt(rates**2 + 4 * importances * rates / price) - rates) / 2)

    return _within(at, capacity)


def lambda_crawl_probabilities(
    rates: FloatArray, importances: FloatArray, capacity: float
) -> FloatArray:
    """Probability of a look after a change, if every change is signalled; all 1 if the capacity
    suffices."""

    def at(price: float) -> FloatArray:
        return as_floats(np.minimum(1.0, importances / (price * rates)))

    if float(rates.sum()) <= capacity:
        return np.ones_like(rates)
    return as_floats(_within(lambda price: at(price) * rates, capacity) / rates)


def _within(at: Callable[[float], FloatArray], capacity: float) -> FloatArray:
    """``at(price)`` for the price at which it sums up to the capacity; it falls with the price."""
    low, high = 1e-30, 1e30
    for _ in range(_STEPS):
        middle = float(np.sqrt(low * high))
        if float(at(middle).sum()) > capacity:
            low = middle
        else:
            high = middle
    return at(high)
