"""Published estimates of a page's change rate, which the product does not use."""

from __future__ import annotations

import math

import numpy as np

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray

__all__ = ["cho_rate", "last_modified_rate", "lln_rate", "map_rate", "mle_rate", "naive_rate"]


def cho_rate(looks: int, changes: int, interval: float) -> float:
    """Cho's change rate for looks at even intervals.

        λ̂ = −ln((n − X + ½) / (n + ½)) / I,   X of n looks, I apart, saw a change

    From the probability that nothing changed in an interval, with a correction that keeps it finite
    when every look saw a change and makes it nearly unbiased (Cho and Garcia-Molina, *Estimating
    frequency of change*, 2003).

    Looks at even intervals.

    >>> round(cho_rate(10, 5, 2.0), 4)
    0.3233
    """
    return -math.log((looks - changes + 0.5) / (looks + 0.5)) / interval


def last_modified_rate(looks: int, changes: int, quiet_time: float) -> float:
    """Cho's change rate with Last-Modified dates.

        λ̂ = [ (X − 1) − X / (N ln(1 − X/N)) ] / T

    X of N looks found a change; T is the time that is known to be without one: from the last change
    to the look, or from look to look where nothing changed (Cho and Garcia-Molina, *Estimating
    frequency of change*, 2003, section 5).

    ``quiet_time`` is T.

    >>> last_modified_rate(10, 0, 30.0)
    0.0
    >>> round(last_modified_rate(10, 5, 10.0), 4)
    0.4721
    """
    if changes == 0:
        return 0.0
    if changes == looks:
        return (changes - 1) / quiet_time
    correction = changes / (looks * math.log(1 - changes / looks))
    return (changes - 1 - correction) / quiet_time


# Change rates from looks at uneven intervals: most likely (MLE), or most probable (MAP).
#
# MLE, the root of
#
#     Σ_changed τ / (e^{λτ} − 1) = Σ_unchanged τ
#
# (Cho and Garcia-Molina, *Estimating frequency of change*, 2003), and with a Gamma(a, b) prior
#
#     Σ_changed τ / (e^{λτ} − 1) + (a − 1)/λ = Σ_unchanged τ + b
#
# The left sides fall with λ, so a bisection in the logarithm finds the root. The MLE is 0 where no
# look saw a change and has no bound where all did; the MAP with a > 1 is always between.


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


def lln_rate(looks: int, changes: int, look_rate: float) -> float:
    """The change rate of Avrachenkov, Patil and Thoppe for looks at random (Poisson) times.

        λ̂ = r (X + ½) / (n − X + ½),   X of n looks at rate r saw a change

    By the law of large numbers the share of looks that see a change goes to λ/(λ + r) (*Online
    algorithms for estimating change rates of web pages*, 2020). Only sums are stored of a page.

    Looks at random times, ``look_rate`` of them per day.

    >>> lln_rate(10, 5, 2.0)
    2.0
    """
    return look_rate * (changes + 0.5) / (looks - changes + 0.5)


def naive_rate(looks: int, changes: int, interval: float) -> float:
    """The naive change rate: changes seen per time observed.

        λ̂ = X / (n·I),   X of n looks, I apart, saw a change

    Biased: several changes between two looks count as one. At λI = 1 the estimate is 0.63 of the
    rate (Cho and Garcia-Molina, *Estimating frequency of change*, 2003).

    Looks at even intervals.

    >>> naive_rate(10, 5, 2.0)
    0.25
    """
    return changes / (looks * interval)
