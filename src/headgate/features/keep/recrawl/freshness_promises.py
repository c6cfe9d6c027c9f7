"""Can all promises of freshness be kept together?

A site of b bytes promises a look at every page in each P. Its pages can be looked at one by one, so
every window of length x must carry at least ⌊x/P⌋·b bytes for it: with S(x) the least that the
budget lets pass in any window of length x, promises hold together if

    Σ_i ⌊x/P_i⌋ · b_i ≤ S(x)   for all x,   b_i/P_i ≤ max_rate_i,   Σ_i b_i/P_i ≤ quota per second

It is the demand bound of periodic tasks (Baruah, Rosier and Howell, 1990), with the supply of a
timetable's worst hours (Shin and Lee, 2003). For a constant budget C the first is Σ b_i/P_i ≤ C,
and going round the pages at that pace keeps them: the answer is exact. With a timetable, what
breaks the bound cannot hold, whoever decides; what does not is played for four weeks
(`played_lateness`), and holds if no page is late then. The **bearable** part of the bound, at most
1, is what these promises may come to, all larger or smaller alike, and hold when played.

When there is more to do than the bound allows, that order makes all late alike, so the lateness is
the least L with which promises of P_i + L would hold; else it is the one played.

Windows are checked at multiples of the P_i up to three weeks, and 2,000 of each at the most; a week
is the timetable's period. Cost O(promised times · windows · pieces), and some ten plays.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heapreplace

import numpy as np

from headgate.features.keep.status import KeepPlan, PromisedSite
from headgate.model.budget import Budget, Period, Quota
from headgate.model.timetable import Timetable
from headgate.model.units import BytesPerSecond, Seconds
from headgate.scheduling.arrays import FloatArray
from headgate.scheduling.capacity import WEEK_SECONDS, Capacity, budget_capacity

__all__ = ["keep_plan"]

_WEEKS = 7
_LONGEST_WINDOW = 3 * WEEK_SECONDS
_MOST_MULTIPLES = 2000
_WHOLE = 1 + 1e-9
_JUST_LESS = 1 - 1e-6
_DRAWS = 400
_BEARABLE_STEPS = 6
_FOUR_OF_FIVE = 1.2816
"""Standard deviations within which four of five values of a normal distribution lie."""
_PERIOD_SECONDS = {Period.DAY: 86_400.0, Period.MONTH: 31 * 86_400.0}
_LONGEST_LATENESS = 100 * 365 * 86_400.0


def keep_plan(
    sites: Sequence[PromisedSite],
    others: int,
    budget: Budget,
    start: datetime,
    rng: np.random.Generator,
) -> KeepPlan:
    """From ``start`` on, an aware moment: timetables are unrolled from there."""
    supply = _Supply.from_budget(budget, start)
    promises = _Promises.from_sites(sites)
    scale = supply.scale_for(promises)
    slow = [_needs_more(site) for site in sites]
    alone = [
        site.name
        for site, too_slow in zip(sites, slow, strict=True)
        if too_slow or supply.scale_for(_Promises.from_sites([site])) > _WHOLE
    ]
    holds = not any(slow) and _kept(promises, supply)
    guessed = _guessed(sites)
    bearable = _bearable(promises, supply) if guessed or not holds else 1.0
    if holds:
        bearable = max(bearable, scale)
    elif scale <= _WHOLE:
        bearable = min(bearable, scale * _JUST_LESS)
    return KeepPlan(
        sites=tuple(sites),
        others=others,
        holds=holds,
        probability=_probability(sites, supply, bearable, rng) if guessed else float(holds),
        load=promises.mean_rate / supply.mean_rate,
        scale=math.inf if any(slow) or not bearable else scale / (1.0 if holds else bearable),
        lateness=Seconds(0.0 if holds else _late(sites, promises, supply)),
        impossible=tuple(alone),
        give_up=() if holds else _give_up(sites, alone, supply, bearable),
        least_bandwidth=_least_bandwidth(budget, promises),
    )


def _least_bandwidth(budget: Budget, promises: _Promises) -> BytesPerSecond | None:
    bandwidth, quota = budget.bandwidth, budget.quota
    within = quota is None or promises.mean_rate <= _mean_rate(quota) * _WHOLE
    if isinstance(bandwidth, Timetable) or math.isinf(bandwidth) or not within:
        return None
    return BytesPerSecond(promises.mean_rate)


def _mean_rate(quota: Quota) -> float:
    return quota.bytes / _PERIOD_SECONDS[quota.period]


def _needs_more(site: PromisedSite) -> bool:
    """Whether it needs more than its server gives."""
    return site.max_rate is not None and site.rate > site.max_rate * _WHOLE


def _slowness(site: PromisedSite) -> float:
    """Seconds by which its server alone makes a promise late."""
    if site.max_rate is None:
        return 0.0
    return max(site.size.likely / site.max_rate - site.fresh_within, 0.0)


@dataclass(frozen=True, slots=True)
class _Promises:
    """Bytes by promised time; those with the same time as one."""

    periods: FloatArray
    work: FloatArray

    @classmethod
    def from_sites(cls, sites: Sequence[PromisedSite]) -> _Promises:
        periods, which = np.unique(
            [float(site.fresh_within) for site in sites], return_inverse=True
        )
        sizes = np.array([float(site.size.likely) for site in sites])
        return cls(periods, np.bincount(which, sizes, minlength=len(periods)).astype(np.float64))

    @property
    def mean_rate(self) -> float:
        return float((self.work / self.periods).sum())

    def larger(self, factor: float) -> _Promises:
        return _Promises(self.periods, self.work * factor)

    def later(self, seconds: float) -> _Promises:
        return _Promises(self.periods + seconds, self.work)


@dataclass(frozen=True, slots=True)
class _Windows:
    """What windows of some lengths must carry for promised times, and what they can."""

    counts: FloatArray
    """Looks that each window, a row, must hold of each promised time."""
    least: FloatArray

    def scale_for(self, work: FloatArray) -> float:
        demand = self.counts @ work
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(demand > 0, demand / self.least, 0.0)
        return float(ratios.max(initial=0.0))


@dataclass(frozen=True, slots=True)
class _Supply:
    capacity: Capacity
    mean_rate: float
    """Over a timetable's week, cut to the quota."""

    @classmethod
    def from_budget(cls, budget: Budget, start: datetime) -> _Supply:
        capacity = budget_capacity(budget, start, _WEEKS)
        mean = float(capacity.bytes_by(WEEK_SECONDS)) / WEEK_SECONDS
        quota = budget.quota
        if quota is not None:
            mean = min(mean, _mean_rate(quota))
        return cls(capacity, mean)

    def scale_for(self, promises: _Promises) -> float:
        """The factor on the supply that the promises need."""
        on_average = promises.mean_rate / self.mean_rate
        return max(on_average, self.windows(promises.periods).scale_for(promises.work))

    def windows(self, periods: FloatArray) -> _Windows:
        """At the lengths at which the demand steps up; none where the budget never turns."""
        if self.capacity.is_constant:
            return _Windows(np.zeros((0, len(periods))), np.zeros(0))
        multiples = [
            period * np.arange(1, min(int(_LONGEST_WINDOW / period), _MOST_MULTIPLES) + 1)
            for period in periods
        ]
        lengths = np.unique(np.concatenate([*multiples, np.zeros(0)]))
        return _Windows(np.floor(lengths[:, None] / periods * (1 + 1e-12)), self._least(lengths))

    def _least(self, lengths: FloatArray) -> FloatArray:
        """What passes in the poorest window of each length: it begins where a rate begins, or ends
        where one ends."""
        passed = self.capacity.bytes_by
        least = np.full(len(lengths), np.inf)
        for turn in self.capacity.starts[self.capacity.starts <= _WEEKS * WEEK_SECONDS / 2]:
            before = np.maximum(turn - lengths, 0.0)
            after = passed(turn + lengths) - passed(turn)
            least = np.minimum(least, np.minimum(after, passed(before + lengths) - passed(before)))
        return least


def _kept(promises: _Promises, supply: _Supply) -> bool:
    return supply.scale_for(promises) <= _WHOLE and _played(promises, supply) <= 0


def _played(promises: _Promises, supply: _Supply) -> float:
    """Lateness if played; nothing is late within the bound where the budget never turns."""
    if supply.capacity.is_constant:
        return 0.0
    return played_lateness(promises.periods, promises.work, supply.capacity)


def _bearable(promises: _Promises, supply: _Supply) -> float:
    scale = supply.scale_for(promises)
    if supply.capacity.is_constant or not 0 < scale < math.inf:
        return 1.0

    def holds(part: float) -> bool:
        return _played(promises.larger(part / scale), supply) <= 0

    if holds(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_BEARABLE_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _late(sites: Sequence[PromisedSite], promises: _Promises, supply: _Supply) -> float:
    within = supply.scale_for(promises) <= _WHOLE
    late = _played(promises, supply) if within else _lateness(promises, supply)
    return max(late, 0.0, *map(_slowness, sites))


def _lateness(promises: _Promises, supply: _Supply) -> float:
    def enough(seconds: float) -> bool:
        return supply.scale_for(promises.later(seconds)) <= _WHOLE

    return _least(enough, _LONGEST_LATENESS)


def _least(enough: Callable[[float], bool], most: float) -> float:
    if not enough(most):
        return math.inf
    low, high = 0.0, most
    while high - low > 1e-4 * high + 1e-3:
        middle = (low + high) / 2 if low else high / 16
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _give_up(
    sites: Sequence[PromisedSite], impossible: Sequence[str], supply: _Supply, bearable: float
) -> tuple[str, ...]:
    """First those that cannot be kept at all, then those that take most of the line."""
    ranked = sorted(sites, key=lambda site: (site.name not in impossible, -site.rate))
    for count in range(1, len(ranked) + 1):
        rest = ranked[count:]
        slow = any(_needs_more(site) for site in rest)
        if not slow and (
            not rest or supply.scale_for(_Promises.from_sites(rest)) <= bearable * _WHOLE
        ):
            return tuple(site.name for site in ranked[:count])
    raise AssertionError("no promise at all can be kept")


def _guessed(sites: Sequence[PromisedSite]) -> bool:
    return any(site.size.low < site.size.high for site in sites)


def _probability(
    sites: Sequence[PromisedSite], supply: _Supply, bearable: float, rng: np.random.Generator
) -> float:
    """That promises hold, with sizes drawn from their ranges: lognormal on either side. Draws are
    not played: ``bearable`` is that of the likely sizes."""
    likely, low, high = (
        np.array([getattr(site.size, name) for site in sites]) for name in ("likely", "low", "high")
    )
    times = np.array([float(site.fresh_within) for site in sites])
    rates = [math.inf if site.max_rate is None else site.max_rate for site in sites]
    windows = supply.windows(times)
    held = 0
    for draw in rng.standard_normal((_DRAWS, len(sites))):
        end = np.where(draw < 0, low, high)
        sizes = likely * np.exp(np.abs(draw) / _FOUR_OF_FIVE * np.log(end / likely))
        fits = bool((sizes / times <= np.array(rates) * _WHOLE).all())
        on_average = float((sizes / times).sum()) / supply.mean_rate
        held += fits and max(on_average, windows.scale_for(sizes)) <= bearable * _WHOLE
    return held / _DRAWS


_PLAYED_SECONDS = 4 * WEEK_SECONDS
_MOST_STEPS, _MOST_PARTS = 40_000, 100


def played_lateness(periods: FloatArray, work: FloatArray, capacity: Capacity) -> float:
    """Promises of freshness on a timetable, played in the order that a keeper has: the page due
    soonest first.

    Near the bound, which cycle that order comes to depends on little things for ever. So it is
    played from looks that were first due together, from looks spread over time, and with parts of
    two sizes. Cost: a step per look at a part of a site, 40,000 for each.

    Largest lateness of any page in the last two of four weeks, in seconds; at most 0: none is
    late. ``periods`` are the promised times, each once, ``work`` the bytes of a round for each.
    """
    if not len(periods):
        return 0.0
    looks = float((_PLAYED_SECONDS / periods).sum())
    most = int(min(max(_MOST_STEPS / looks, 1), _MOST_PARTS))
    return max(
        _play(periods, work, capacity, parts, together=together)
        for parts in {most, max(most * 4 // 5, 1)}
        for together in (False, True)
    )


def _play(
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
