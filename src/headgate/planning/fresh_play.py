"""Promises of freshness on a timetable, played in the order that a keeper has: the page due soonest
first.

Near the bound, which cycle that order comes to depends on little things for ever. So it is played
from looks that were first due together, from looks spread over time, and with parts of two sizes.
Cost: a step per look at a part of a site, 40,000 for each.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from heapq import heapify, heapreplace

from headgate.planning.arrays import FloatArray
from headgate.planning.budget_over_time import WEEK_SECONDS
from headgate.planning.capacity import Capacity

__all__ = ["played_lateness"]

_PLAYED_SECONDS = 4 * WEEK_SECONDS
_MOST_STEPS, _MOST_PARTS = 40_000, 100


def played_lateness(periods: FloatArray, work: FloatArray, capacity: Capacity) -> float:
    """Largest lateness of any page in the last two of four weeks, in seconds; at most 0: none is
    late. ``periods`` are the promised times, each once, ``work`` the bytes of a round for each."""
    if not len(periods):
        return 0.0
    looks = float((_PLAYED_SECONDS / periods).sum())
    most = int(min(max(_MOST_STEPS / looks, 1), _MOST_PARTS))
    return max(
        _played(periods, work, capacity, parts, together=together)
        for parts in {most, max(most * 4 // 5, 1)}
        for together in (False, True)
    )


def _played(
    periods: FloatArray, work: FloatArray, capacity: Capacity, parts: int, *, together: bool
) -> float:
    """A round is visited in parts one after the other, which are due ``together`` at first."""
    starts, passed, rates = (
        column.tolist() for column in (capacity.starts, capacity.passed, capacity.rates)
    )
    sizes = (work / parts).tolist()
    queue = [
        (period if together else period * (part + 1) / parts, number, period)
        for number, period in enumerate(periods.tolist())
        for part in range(parts)
    ]
    heapify(queue)
    now = sent = 0.0
    worst = -math.inf
    while now < _PLAYED_SECONDS:
        due, number, period = queue[0]
        sent += sizes[number]
        piece = max(bisect_left(passed, sent) - 1, 0)
        now = starts[piece] + (sent - passed[piece]) / rates[piece]
        if now > _PLAYED_SECONDS / 2:
            worst = max(worst, now - due)
        heapreplace(queue, (now + period, number, period))
    # A part is looked at as a whole, its first page sooner than its last.
    return worst - float((periods / parts).max())
