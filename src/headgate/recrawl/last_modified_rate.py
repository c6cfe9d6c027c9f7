"""Cho's change rate with Last-Modified dates.

    λ̂ = [ (X − 1) − X / (N ln(1 − X/N)) ] / T

X of N looks found a change; T is the time that is known to be without one: from the last change to
the look, or from look to look where nothing changed (Cho and Garcia-Molina, *Estimating frequency
of change*, 2003, section 5)."""

from __future__ import annotations

import math

__all__ = ["last_modified_rate"]


def last_modified_rate(looks: int, changes: int, quiet_time: float) -> float:
    """``quiet_time`` is T.

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
