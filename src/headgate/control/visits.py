"""What earlier visits tell of the next one: how many bytes it will take, as a range.

A first visit moves everything, later ones mostly ask whether something changed: the first says
little of the others. Among those the middle counts, the newest most; a visit that was broken off
or disturbed by errors counts less, so that one of them does not decide. The range is what the
visits differ by, and never less than one visit can tell.

Where the site's pages are remembered, the visit lies between asking for all of them in vain and
moving all of them anew; that also tells of a second visit, before there was one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headgate.model.size_range import SizeRange

__all__ = ["PastVisit", "Remembered", "next_visit"]

_VISITS_LOOKED_AT = 7
_NEWER = 0.8
"""The weight of a visit, of that of the next newer one."""
_DISTURBED, _BROKEN_OFF = 0.25, 0.1
"""The weight of such a visit, of that of an undisturbed one."""
_MANY_ERRORS = 0.05
"""Of a visit's pages."""
_UNCHANGED_BYTES = 500.0
"""On the line, to hear that a page has not changed."""
_CHANGED = 0.1
"""Of pages that can say so, until visits have told."""
_PAGES_CHANGE = 1.1
_TYPICAL_BYTES = 10_000.0
_LEAST_SPREAD, _MOST_SPREAD = 0.1, 3.0
_ONE_VISIT = 0.5
"""The spread of a single visit's word, in natural logarithms; it falls with their number."""


@dataclass(frozen=True, slots=True)
class PastVisit:
    """What an earlier run measured of a site."""

    wire_bytes: float
    seconds: float
    complete: bool
    alpha: float | None = None
    pages: int = 0
    troubles: int = 0
    """Fetches that failed for the moment: no answer, or a server's error."""
    first: bool = False
    """Nothing was known of the site before it."""

    @property
    def weight(self) -> float:
        if not self.complete:
            return _BROKEN_OFF
        return _DISTURBED if self.troubles > _MANY_ERRORS * max(self.pages, 1) else 1.0


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the collection knows of a site's pages."""

    pages: int
    never_asked: int = 0
    """Of them."""
    sized: int = 0
    """Of them: their sizes are known, ..."""
    sized_bytes: float = 0.0
    """... all together."""
    revalidatable: int = 0
    """Of them: can say that they have not changed."""

    @property
    def mean_bytes(self) -> float:
        return self.sized_bytes / self.sized if self.sized else _TYPICAL_BYTES

    @property
    def bounds(self) -> SizeRange:
        """Nothing changed, a little, everything; each with all that was never asked for, and a
        little beyond, for pages come, go and grow."""
        whole = self.pages * self.mean_bytes
        sure = (self.pages - self.revalidatable) * self.mean_bytes
        least = sure + self.revalidatable * min(_UNCHANGED_BYTES, self.mean_bytes)
        likely = least + _CHANGED * (whole - least)
        return SizeRange(least / _PAGES_CHANGE, likely, whole * _PAGES_CHANGE)


def next_visit(visits: Sequence[PastVisit], memory: Remembered | None) -> SizeRange | None:
    """The bytes of the next visit; None: nothing can be told of it. ``visits``: the newest first"""
    later = [visit for visit in visits[:_VISITS_LOOKED_AT] if not visit.first]
    told = _by_visits(later) if any(visit.complete for visit in later) else None
    if memory is not None and memory.pages:
        return memory.bounds if told is None else _within(told, memory)
    if told is not None:
        return told
    firsts = [visit for visit in visits if visit.first and visit.complete]
    return _after_the_first(firsts[0]) if firsts else None


def _by_visits(visits: Sequence[PastVisit]) -> SizeRange:
    weights = [visit.weight * _NEWER**age for age, visit in enumerate(visits)]
    sizes = [math.log(max(visit.wire_bytes, 1.0)) for visit in visits]
    middle = _weighted_median(sizes, weights)
    apart = _weighted_median([abs(size - middle) for size in sizes], weights)
    number = sum(weight / max(weights) for weight in weights)
    spread = 2 * apart + max(_ONE_VISIT / number, _LEAST_SPREAD)
    spread = min(spread, _MOST_SPREAD)
    return SizeRange(math.exp(middle - spread), math.exp(middle), math.exp(middle + spread))


def _within(told: SizeRange, memory: Remembered) -> SizeRange:
    """As visits told, as far as the pages that are known allow it, and all that is new."""
    bounds, new = memory.bounds, memory.never_asked * memory.mean_bytes
    likely = min(max(told.likely + new, bounds.low), bounds.high)
    return SizeRange(
        min(max(told.low + new, bounds.low), likely),
        likely,
        max(min(told.high + new, bounds.high), likely),
    )


def _after_the_first(visit: PastVisit) -> SizeRange:
    """Nobody knows yet what its server says to a question whether something has changed."""
    least = min(visit.pages * _UNCHANGED_BYTES, visit.wire_bytes)
    return SizeRange(least, visit.wire_bytes, visit.wire_bytes * math.exp(_ONE_VISIT))


def _weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    half = sum(weights) / 2
    for value, weight in sorted(zip(values, weights, strict=True)):
        half -= weight
        if half <= 0:
            return value
    return max(values)
