"""The naive change rate: changes seen per time observed.

    λ̂ = X / (n·I),   X of n looks, I apart, saw a change

Biased: several changes between two looks count as one. At λI = 1 the estimate is 0.63 of the rate
(Cho and Garcia-Molina, *Estimating frequency of change*, 2003)."""

from __future__ import annotations

__all__ = ["naive_rate"]


def naive_rate(looks: int, changes: int, interval: float) -> float:
    """Looks at even intervals.

    >>> naive_rate(10, 5, 2.0)
    0.25
    """
    return changes / (looks * interval)
