"""Change rates from looks at uneven intervals: most likely (MLE), or most probable (MAP).

MLE, the root of

    Σ_changed τ / (e^{λτ} − 1) = Σ_unchanged τ

(Cho and Garcia-Molina, *Estimating frequency of change*, 2003), and with a Gamma(a, b) prior

    Σ_changed τ / (e^{λτ} − 1) + (a − 1)/λ = Σ_unchanged τ + b

The left sides fall with λ, so a bisection in the logarithm finds the root. The MLE is 0 where no
look saw a change and has no bound where all did; the MAP with a > 1 is always between."""

from __future__ import annotations

import math

import numpy as np

from headgate.recrawl.arrays import BoolArray, FloatArray

__all__ = ["map_rate", "mle_rate"]

_PRIOR_SHAPE = 1.5
_PRIOR_LOOKS = 0.5
"""b times the usual rate: the weight of the prior."""
_STEPS = 200


def mle_rate(gaps: FloatArray, changed: BoolArray) -> float:
    """The maximum-likelihood rate.

    >>> round(mle_rate(np.array([1.0, 1.0]), np.array([True, False])), 4)
    0.6931
    """
    if not changed.any():
        return 0.0
    if changed.all():
        return math.inf
    return _root(gaps[changed], 0.0, float(gaps[~changed].sum()))


def map_rate(gaps: FloatArray, changed: BoolArray, usual_rate: float) -> float:
    """The maximum a posteriori rate, with a prior around ``usual_rate``.

    >>> map_rate(np.array([]), np.array([], dtype=bool), usual_rate=2.0)
    2.0
    """
    watched = float(gaps[~changed].sum()) + _PRIOR_LOOKS / usual_rate
    return _root(gaps[changed], _PRIOR_SHAPE - 1, watched)


def _root(changed_gaps: FloatArray, shape: float, watched: float) -> float:
    """λ with Σ τ/(e^{λτ} − 1) + shape/λ = watched; each of at most n + 1 terms is below 1/λ."""
    high = (len(changed_gaps) + shape) / watched
    low = high * 1e-12
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        if high - low <= 1e-12 * high:
            break
        if _pull(changed_gaps, shape, middle) > watched:
            low = middle
        else:
            high = middle
    return high


def _pull(changed_gaps: FloatArray, shape: float, rate: float) -> float:
    with np.errstate(over="ignore"):
        return float((changed_gaps / np.expm1(rate * changed_gaps)).sum()) + shape / rate
