"""What a look at a page is worth now, and what it is charged: the index of the pull policy.

Copies cost a(s) at a time s after the last look. Whoever looks every τ pays, over time,

    [ ∫₀^τ a(s) ds + ν·c(τ) ] / τ

where c(τ) are the bytes of a look and ν is what a byte is worth. At the best τ the derivative is
zero, which is to say V(τ) / C(τ) = ν with

    V(τ) = w · [ τ·a(τ) − ∫₀^τ a(s) ds ]        what a look is worth, w the page's weight
    C(τ) = c(τ) − τ·c'(τ)                       what it is charged

ν is the same for all pages, so looking at the page with the largest V/C whenever there is room
approaches the optimal periodic schedule (see `periodic`), without knowing the capacity and without
intervals to adapt. The rate is not known, so both are averaged over what the looks so far leave
possible (`rate_posterior`).

**The weight.** Made small is a mix of two means: of all pages by importance μ, and, with a share of
κ, of all pages alike. So w = (1 − κ)·μ + κ. With μ alone, what important pages gain is paid by the
others, whose copies may then be older than if all pages were looked at in turn; a small κ prevents
that, since the last looks at important pages gain little.

**The charge.** A page whose server has no validators is sent at every look, so C = c. Where it has,
a request of b bytes brings the page's S bytes only if it changed: c = b + S·(1 − e^{−λτ}). A change
has to be fetched once, sooner or later; bytes are saved by waiting only where a second one comes
before the look: C = b + S·(1 − (1 + λτ)·e^{−λτ}), with the probability of two changes or more. To
charge c itself would look too seldom at pages for which looking is cheap.

With the **age** as a(s), V grows without bound: no page is forgotten. With **freshness** a page
that changes faster than it could be followed is given up: best for the mean freshness, and hard on
such pages. Age is the default; `headgate lab freshness` shows both on real changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.model.keeping import Staleness
from headgate.recrawl.arrays import FloatArray, as_floats
from headgate.recrawl.staleness import probability_changed_twice

__all__ = ["FOR_ALL", "look_value", "look_weight"]

FOR_ALL = 0.2
"""κ: chosen on real changes among 0, 0.1, 0.2 and 0.3."""
_SMALL = 1e-2


def look_value(staleness: Staleness, rate: Any, since: Any) -> FloatArray:
    """For importance 1; ``since`` the last look. Rates are positive.

    >>> look_value(Staleness.FRESHNESS, 2.0, np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.297]
    >>> look_value(Staleness.AGE, 2.0, np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.3515]
    """
    rate = as_floats(rate)
    if staleness is Staleness.FRESHNESS:
        return as_floats(probability_changed_twice(rate, since) / rate)
    x = rate * since
    decay = np.exp(-x)
    exact = x**2 / 2 + x * decay - (1 - decay)
    series = x**3 * (1 / 3 - x / 8 + x**2 / 30)
    return as_floats(np.where(x < _SMALL, series, exact) / rate**2)


def look_weight(importance: Any) -> FloatArray:
    """That the value of a look at a page is multiplied with; 1 for an importance of 1.

    >>> look_weight(np.array([0.0, 1.0, 2.0])).tolist()
    [0.2, 1.0, 1.8]
    """
    return as_floats((1 - FOR_ALL) * as_floats(importance) + FOR_ALL)
