"""The change rate of Avrachenkov, Patil and Thoppe for looks at random (Poisson) times.

    λ̂ = r (X + ½) / (n − X + ½),   X of n looks at rate r saw a change

By the law of large numbers the share of looks that see a change goes to λ/(λ + r) (*Online
algorithms for estimating change rates of web pages*, 2020). Only sums are stored of a page.
"""

from __future__ import annotations

__all__ = ["lln_rate"]


def lln_rate(looks: int, changes: int, look_rate: float) -> float:
    """Looks at random times, ``look_rate`` of them per day.

    >>> lln_rate(10, 5, 2.0)
    2.0
    """
    return look_rate * (changes + 0.5) / (looks - changes + 0.5)
