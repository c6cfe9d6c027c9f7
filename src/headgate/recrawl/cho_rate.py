"""Cho's change rate for looks at even intervals.

    λ̂ = −ln((n − X + ½) / (n + ½)) / I,   X of n looks, I apart, saw a change

From the probability that nothing changed in an interval, with a correction that keeps it finite
when every look saw a change and makes it nearly unbiased (Cho and Garcia-Molina, *Estimating
frequency of change*, 2003)."""

from __future__ import annotations

import math

__all__ = ["cho_rate"]


def cho_rate(looks: int, changes: int, interval: float) -> float:
    """Looks at even intervals.

    >>> round(cho_rate(10, 5, 2.0), 4)
    0.3233
    """
    return -math.log((looks - changes + 0.5) / (looks + 0.5)) / interval
