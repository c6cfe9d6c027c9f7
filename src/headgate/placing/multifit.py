"""MULTIFIT on machines of unequal speed (Friesen and Langston 1983): at most 1.4 times the optimum,
1.382 by Chen (1991).

The makespan c is searched by halving. For each, the sites go, the longest first, to the first
machine that has room for them within c · speed, the slowest machine first: a slow one takes what it
can, so that the fast ones keep room for what only they can take. O(n · m) a step."""

from __future__ import annotations

import numpy as np

from headgate.placing.lpt import lpt
from headgate.placing.partition import (
    ENOUGH,
    FloatArray,
    Owners,
    longest_first,
    lower_bound,
    makespan,
)

__all__ = ["multifit"]

_STEPS = 30
_ROUNDING = 1 + 1e-12


def multifit(work: FloatArray, speeds: FloatArray) -> Owners:
    """
    >>> multifit(np.array([3.0, 3.0, 2.0, 2.0, 2.0]), np.array([1.0, 1.0])).tolist()
    [0, 0, 1, 1, 1]
    """
    found = lpt(work, speeds)
    low, high = lower_bound(work, speeds), makespan(found, work, speeds)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        fitted = _first_fit(work, speeds, middle)
        if fitted is None:
            low = middle
        else:
            found, high = fitted, min(middle, makespan(fitted, work, speeds))
        if high <= low * ENOUGH:
            break
    return found


def _first_fit(work: FloatArray, speeds: FloatArray, end: float) -> Owners | None:
    slowest_first = np.argsort(speeds, kind="stable")
    room = end * speeds[slowest_first] * _ROUNDING
    owners = np.zeros(len(work), dtype=np.int_)
    for site in longest_first(work):
        place = int(np.argmax(room >= work[site]))
        if work[site] > room[place]:
            return None
        owners[site] = slowest_first[place]
        room[place] -= work[site]
    return owners
