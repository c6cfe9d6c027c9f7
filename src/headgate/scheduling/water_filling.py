"""Can all deadlines be met? Exactly, with caps and a budget that changes over time.

Water-filling (the normal form of Beaumont, Bonichon, Eyraud-Dubois and Marchal, IPDPS 2012): cut
time at the deadlines and at the budget's turns, take the sites by deadline, and pour each into
the time before its deadline so that what is left of the budget stays as level as its cap allows:
site i takes clip(r_k - z, 0, c_i) in interval k, where r_k is what earlier sites left there and z
makes its bytes come out. All deadlines can be met if and only if no z falls below 0.

Why it is exact also under a timetable: the sites that follow may use all the same intervals, so
what they can still get depends only on the multiset of leftovers, and is most when these are most
even; clip(z, r_k - c_i, r_k) is the most even leftover there is.

Exact when sites may share time freely (preemption, no more sites than crawlers); with fewer
crawlers, "no" is still proven and "yes" is necessary only.

Cost: O(n * levels), levels being the distinct leftovers: few, as every pour makes many equal.
"""

from __future__ import annotations

import bisect
import math
import operator
from dataclasses import dataclass

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from headgate.scheduling.arrays import FloatArray, IntArray
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.problem import Problem, Schedule, ScheduleBuilder
from headgate.scheduling.tardiness import edd_order

__all__ = [
    "deadlines_can_be_met",
    "least_budget_scale",
    "relaxed",
    "water_filling_rates",
    "water_filling_schedule",
]

_TOLERANCE = 1e-9
_RELAXED_WITHIN = 1e-6
"""Precision of relaxed deadlines, relative to the lateness."""


@dataclass(frozen=True, slots=True)
class _Pour:
    """The result of pouring all sites, or up to the first that did not fit."""

    levels: list[float]
    """The level z of each site poured, in order of deadline."""
    missing: float
    """Bytes the first site that did not fit could not place; 0: all fit."""
    exhausted: float
    """Bytes that the intervals now empty of budget had: what a larger budget would widen."""


def deadlines_can_be_met(problem: Problem) -> bool:
    """Whether some schedule meets every deadline, slots aside."""
    order = _by_deadline(problem)
    caps = problem.caps[order]
    available = problem.capacity.bytes_by(problem.deadlines[order])
    if (np.cumsum(problem.work[order]) * (1 - _TOLERANCE) > available).any():
        return False
    if (caps >= problem.capacity.peak).all():
        return True  # one after the other, in the order of deadlines
    return _pour(problem, order, problem.capacity).missing == 0


def least_budget_scale(problem: Problem) -> float | None:
    """The least factor on the whole budget at which all deadlines can be met, slots aside.

    None when caps forbid it at any factor. Newton from below: the bytes that can be placed are a
    concave function of the factor, and the exhausted intervals give its slope.
    """
    order = _by_deadline(problem)
    if not len(order):
        return 0.0
    deadlines = problem.deadlines[order]
    if (problem.work[order] > problem.caps[order] * deadlines * (1 + _TOLERANCE)).any():
        return None
    available = problem.capacity.bytes_by(deadlines)
    if (available <= 0).any():
        return None
    scale = float((np.cumsum(problem.work[order]) / available).max())
    while (pour := _pour(problem, order, problem.capacity.scaled(scale))).missing:
        if pour.exhausted <= 0:
            return None  # no interval lacks budget: a cap under a paused timetable forbids it
        scale += pour.missing / (pour.exhausted / scale)
    return scale


def relaxed(problem: Problem, late: FloatArray) -> Problem | None:
    """Deadlines later by the least part of ``late`` seconds, the same part for all, that lets
    them be met; None: not even by all of it."""
    if not deadlines_can_be_met(_later(problem, late)):
        return None
    low, high = 0.0, 1.0
    while high - low > _RELAXED_WITHIN:
        middle = (low + high) / 2
        if deadlines_can_be_met(_later(problem, middle * late)):
            high = middle
        else:
            low = middle
    return _later(problem, high * late)


def _later(problem: Problem, seconds: FloatArray) -> Problem:
    return structs.replace(problem, deadlines=problem.deadlines + seconds)


def water_filling_schedule(problem: Problem) -> Schedule | None:
    """A schedule that meets all deadlines when every site has a crawler; None: there is none.

    O((n + intervals) * n).
    """
    reservations = _reserve(problem)
    if reservations is None:
        return None
    builder = ScheduleBuilder(len(problem))
    urgency = edd_order(problem.work, problem.deadlines)
    remaining = problem.work.copy()
    time = 0.0
    while (remaining > 0).any():
        rates = reservations.rates(problem, remaining > 0, urgency, time)
        turn = min(reservations.next_bound(time), problem.capacity.next_turn(time))
        ends = np.divide(remaining, rates, out=np.full(len(rates), np.inf), where=rates > 0)
        step = min(float(ends.min()), turn - time)
        until = turn if step == turn - time else time + step
        for site in np.flatnonzero(rates > 0):
            builder.add(int(site), time, until, float(rates[site]))
        remaining -= rates * step
        remaining[(ends <= step) | (remaining <= _TOLERANCE * problem.work)] = 0.0
        time = until
    return builder.build()


def water_filling_rates(problem: Problem, urgency: IntArray) -> FloatArray | None:
    """Initial rates that keep all deadlines within reach; None: they are not.

    What nobody reserved goes to the sites in order of ``urgency``.
    """
    reservations = _reserve(problem)
    if reservations is None:
        return None
    return reservations.rates(problem, np.ones(len(problem), dtype=np.bool_), urgency, 0.0)


@dataclass(frozen=True, slots=True)
class _Reservations:
    """A rate per interval and site that together meet all deadlines."""

    bounds: FloatArray
    reserved: FloatArray
    """One row per interval and a last one of zeros for the time after them."""

    def rates(
        self, problem: Problem, active: NDArray[np.bool_], urgency: IntArray, time: float
    ) -> FloatArray:
        """What is reserved now, and what is idle handed out by urgency up to the caps: bytes flow
        as early as they can, and a site ahead of its reservations only ends earlier."""
        interval = int(np.searchsorted(self.bounds, time, side="right")) - 1
        rates = np.where(active, self.reserved[interval], 0.0)
        room = np.where(active, problem.caps - rates, 0.0)[urgency]
        idle = max(problem.capacity.rate_at(time) - float(rates.sum()), 0.0)
        before = np.concatenate(([0.0], np.cumsum(np.minimum(room, idle))[:-1]))
        rates[urgency] += np.clip(idle - before, 0.0, room)
        return rates

    def next_bound(self, time: float) -> float:
        following = int(np.searchsorted(self.bounds, time, side="right"))
        return float(self.bounds[following]) if following < len(self.bounds) else np.inf


def _reserve(problem: Problem) -> _Reservations | None:
    order = _by_deadline(problem)
    pour = _pour(problem, order, problem.capacity)
    if pour.missing or len(problem) > problem.slots:
        return None
    bounds = _interval_bounds(problem, order)
    left = _rates_within(problem.capacity, bounds)
    reserved = np.zeros((len(bounds), len(problem)))
    for site, level in zip(order, pour.levels, strict=True):
        mine = np.flatnonzero(bounds[1:] <= problem.deadlines[site])
        reserved[mine, site] = np.clip(left[mine] - level, 0.0, problem.caps[site])
        left[mine] -= reserved[mine, site]
    return _Reservations(bounds, reserved)


def _by_deadline(problem: Problem) -> IntArray:
    with_deadline = np.flatnonzero(np.isfinite(problem.deadlines))
    return with_deadline[np.argsort(problem.deadlines[with_deadline], kind="stable")]


def _interval_bounds(problem: Problem, order: IntArray) -> FloatArray:
    last = float(problem.deadlines[order].max(initial=0.0))
    turns = problem.capacity.starts[problem.capacity.starts < last]
    bounds = np.sort(np.concatenate(([0.0], turns, np.maximum(problem.deadlines[order], 0.0))))
    # np.unique would load 26 ms of masked arrays just when a crawl begins.
    return bounds[np.concatenate(([True], bounds[1:] > bounds[:-1]))]


def _rates_within(capacity: Capacity, bounds: FloatArray) -> FloatArray:
    rates: FloatArray = capacity.rates[
        np.searchsorted(capacity.starts, bounds[:-1], side="right") - 1
    ]
    return rates.copy()


def _pour(problem: Problem, order: IntArray, capacity: Capacity) -> _Pour:
    bounds = _interval_bounds(problem, order)
    interval_rates = _rates_within(capacity, bounds).tolist()
    interval_lengths = np.diff(bounds).tolist()
    upto = np.searchsorted(bounds, problem.deadlines[order]).tolist()
    work, caps = problem.work[order].tolist(), problem.caps[order].tolist()
    leftovers = _Leftovers()
    levels: list[float] = []
    opened = 0
    for place in range(len(order)):
        while opened < upto[place]:
            leftovers.add(interval_rates[opened], interval_lengths[opened])
            opened += 1
        level = leftovers.take(work[place], caps[place])
        if level is None:
            return _Pour(levels, leftovers.missing, leftovers.exhausted)
        levels.append(level)
    return _Pour(levels, 0.0, 0.0)


class _Leftovers:
    """The multiset of budget left: rates from high to low, each with its length of time.

    Equal leftovers are one entry, since all that follows treats them alike. Plain lists: there are
    few entries, and a running crawl pours dozens of times a second.
    """

    __slots__ = ("exhausted", "lengths", "missing", "original", "rates")

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.lengths: list[float] = []
        self.original: list[float] = []
        """Bytes the entry's intervals had before anything was taken."""
        self.missing = 0.0
        self.exhausted = 0.0

    def add(self, rate: float, length: float) -> None:
        place = bisect.bisect_right(self.rates, -rate, key=operator.neg)
        self.rates.insert(place, rate)
        self.lengths.insert(place, length)
        self.original.insert(place, rate * length)

    def take(self, work: float, cap: float) -> float | None:
        """Take the bytes as evenly as the cap allows; the level, or None when they do not fit."""
        rates, lengths = self.rates, self.lengths
        most = sum(min(rate, cap) * length for rate, length in zip(rates, lengths, strict=True))
        if most < work * (1 - _TOLERANCE):
            self.missing = work - most
            self.exhausted = sum(
                had for had, rate in zip(self.original, rates, strict=True) if rate <= cap
            )
            return None
        level, above, full = self._level(work, cap)
        for place in range(full):
            rates[place] -= cap
        if above > full:
            rates[full:above] = [level]
            lengths[full:above] = [sum(lengths[full:above])]
            self.original[full:above] = [sum(self.original[full:above])]
        return level

    def _level(self, work: float, cap: float) -> tuple[float, int, int]:
        """z with sum_k len_k clip(r_k - z, 0, cap) = work, how many entries are higher than that,
        and how many give all they can. z falls from entry to entry until the bytes come out."""
        rates, lengths = self.rates, self.lengths
        above = full = 0
        level, slope, taken = rates[0], 0.0, 0.0
        while level > 0:
            opens = rates[above] if above < len(rates) else 0.0
            fills = rates[full] - cap if full < above else -math.inf
            point = max(opens, fills, 0.0)
            gain = slope * (level - point)
            if taken + gain >= work:
                level -= (work - taken) / slope if slope > 0 else 0.0
                break
            taken, level = taken + gain, point
            if point == opens and above < len(rates):
                slope += lengths[above]
                above += 1
            elif point == fills:
                full += 1
                slope = slope - lengths[full - 1] if full < above else 0.0
        return max(level, 0.0), above, full
