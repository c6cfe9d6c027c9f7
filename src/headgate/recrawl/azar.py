"""The best rates of looks at random (Poisson) times, for freshness.

    max Σ μ_i ρ_i/(ρ_i + λ_i),   Σ ρ_i ≤ R:    ρ_i = max(0, √(μ_i λ_i/ν) − λ_i)

Sorted by μ/λ, the pages with ρ > 0 are a prefix with √ν = Σ√(μλ) / (R + Σλ) over it (Azar, Horvitz,
Lubetzky, Peres and Shahaf, *Tractable near-optimal policies for crawling*, 2018). O(n log n).
"""

from __future__ import annotations

import numpy as np

from headgate.recrawl.arrays import FloatArray, as_floats

__all__ = ["azar_rates"]


def azar_rates(rates: FloatArray, importances: FloatArray, capacity: float) -> FloatArray:
    """Looks per day at each page, ``capacity`` in all.

    >>> azar_rates(np.array([1.0, 1.0]), np.array([1.0, 1.0]), 4.0).tolist()
    [2.0, 2.0]
    """
    order = np.argsort(-importances / rates, kind="stable")
    roots = np.cumsum(np.sqrt(importances * rates)[order])
    prices = roots / (capacity + np.cumsum(rates[order]))
    # A page belongs to the prefix as long as its own √(μ/λ) is above the price with it in.
    active = np.sqrt(importances / rates)[order] > prices
    last = int(np.flatnonzero(active)[-1])
    return as_floats(np.maximum(np.sqrt(importances * rates) / prices[last] - rates, 0.0))
