"""Algorithms 1 to 3 of Zhu et al. 2020 as printed: fix one site at a time, then allocate anew.

An oracle for the sweep, written from the paper and without any of the code it judges. Without
caps it is exact. ``one_pass_with_caps`` extends it in the obvious way, which is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable


class AllocationFailsError(Exception):
    """The paper's "bandwidth allocation fails"."""


def algorithm_1(work: list[float], deadlines: list[float], budget: float) -> list[float]:
    """M-MAXT; a deadline of infinity is the paper's 0, no constraint."""
    return _fix_one_by_one(work, deadlines, budget, lambda d: d, lambda t, limit: t > limit)


def algorithm_2(work: list[float], deadlines: list[float], budget: float) -> list[float]:
    """M-SUMT."""
    return _fix_one_by_one(work, deadlines, budget, math.sqrt, lambda t, limit: t > limit)


def algorithm_3(work: list[float], deadlines: list[float], budget: float) -> list[float]:
    """M-STET; overdue sites count from time 0 and are never served beyond their need."""
    limits = [math.inf if limit <= 0 else limit for limit in deadlines]
    return _fix_one_by_one(work, limits, budget, math.sqrt, lambda t, limit: t < limit < math.inf)


def one_pass_with_caps(
    work: list[float], floors: list[float], caps: list[float], budget: float
) -> list[float]:
    """M-SUMT with caps, any site outside its bounds fixed on the bound: not always optimal."""
    rates = [0.0] * len(work)
    free = list(range(len(work)))
    while True:
        left = budget - sum(rates)
        roots = sum(math.sqrt(work[i]) for i in free)
        tried = {i: left * math.sqrt(work[i]) / roots for i in free}
        bound = {i: min(max(rate, floors[i]), caps[i]) for i, rate in tried.items()}
        outside = [i for i in free if bound[i] != tried[i]]
        if not outside:
            return [tried.get(i, rate) for i, rate in enumerate(rates)]
        rates[outside[0]] = bound[outside[0]]
        free.remove(outside[0])


def _fix_one_by_one(
    work: list[float],
    deadlines: list[float],
    budget: float,
    weight: Callable[[float], float],
    to_be_fixed: Callable[[float, float], bool],
) -> list[float]:
    remaining = sorted(range(len(work)), key=lambda i: deadlines[i])
    rates = [0.0] * len(work)
    left = budget
    while True:
        total = sum(weight(work[i]) for i in remaining)
        times = {i: work[i] * total / (left * weight(work[i])) for i in remaining}
        found = next((i for i in remaining if to_be_fixed(times[i], deadlines[i])), None)
        if found is None:
            break
        rates[found] = work[found] / deadlines[found]
        left -= rates[found]
        remaining.remove(found)
        if left <= 0:
            raise AllocationFailsError
    for i in remaining:
        rates[i] = left * weight(work[i]) / total
    return rates
