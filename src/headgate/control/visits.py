"""Estimates the bytes of the next visit, as a range, from earlier ones.

A first visit transfers everything, later ones mostly find pages unchanged, so the first says little
of the others. Of those the weighted median counts, with newer visits weighing more, and interrupted
or disturbed ones less. The range is the spread of the visits, and never less than a single visit
can tell.

If the site's pages are remembered, the visit lies between finding all of them unchanged and
transferring all of them again; that also gives an estimate for a second visit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from headgate.model.size_range import SizeRange

__all__ = ["PastVisit", "Remembered", "next_visit"]

_VISITS_LOOKED_AT = 7
_NEWER = 0.8
"""Weight of a visit relative to the next newer one."""
_DISTURBED, _BROKEN_OFF = 0.25, 0.1
"""Weight of such a visit relative to an undisturbed one."""
_MANY_ERRORS = 0.05
"""Part of a visit's pages."""
_UNCHANGED_BYTES = 500.0
"""Wire bytes of a 304 response."""
_CHANGED = 0.1
"""Assumed share of changed pages among those that can be revalidated, before any such visit."""
_PAGES_CHANGE = 1.1
_TYPICAL_BYTES = 10_000.0
_LEAST_SPREAD, _MOST_SPREAD = 0.1, 3.0
_ONE_VISIT = 0.5
"""The spread of a single visit, in natural logarithms; it falls with their number."""


class PastVisit(msgspec.Struct, frozen=True):
    """What an earlier run measured of a site."""

    wire_bytes: float
    seconds: float
    complete: bool
    alpha: float | None = None
    pages: int = 0
    troubles: int = 0
    """Temporary failures: no answer, or a server error."""
    first: bool = False
    """Nothing was known of the site before it."""

    @property
    def weight(self) -> float:
        if not self.complete:
            return _BROKEN_OFF
        return _DISTURBED if self.troubles > _MANY_ERRORS * max(self.pages, 1) else 1.0


class Remembered(msgspec.Struct, frozen=True):
    """What the collection knows of a site's pages."""

    pages: int
    never_asked: int = 0
    """Of the pages, those never fetched."""
    sized: int = 0
    """Of the pages, those of known size, ..."""
    sized_bytes: float = 0.0
    """... and their total size."""
    revalidatable: int = 0
    """Of the pages, those with a validator for conditional requests."""

    @property
    def mean_bytes(self) -> float:
        return self.sized_bytes / self.sized if self.sized else _TYPICAL_BYTES

    @property
    def bounds(self) -> SizeRange:
        """Nothing changed, a little, everything; each with all pages never fetched, and a margin,
        since pages come, go and grow."""
        whole = self.pages * self.mean_bytes
        sure = (self.pages - self.revalidatable) * self.mean_bytes
        least = sure + self.revalidatable * min(_UNCHANGED_BYTES, self.mean_bytes)
        likely = least + _CHANGED * (whole - least)
        return SizeRange(least / _PAGES_CHANGE, likely, whole * _PAGES_CHANGE)


def next_visit(visits: Sequence[PastVisit], memory: Remembered | None) -> SizeRange | None:
    """The bytes of the next visit; None: unknown. ``visits`` has the newest first."""
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
    """The estimate from visits within the bounds of the known pages, plus all new ones."""
    bounds, new = memory.bounds, memory.never_asked * memory.mean_bytes
    likely = min(max(told.likely + new, bounds.low), bounds.high)
    return SizeRange(
        min(max(told.low + new, bounds.low), likely),
        likely,
        max(min(told.high + new, bounds.high), likely),
    )


def _after_the_first(visit: PastVisit) -> SizeRange:
    """It is not known yet whether the server answers conditional requests."""
    least = min(visit.pages * _UNCHANGED_BYTES, visit.wire_bytes)
    return SizeRange(least, visit.wire_bytes, visit.wire_bytes * math.exp(_ONE_VISIT))


def _weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    half = sum(weights) / 2
    for value, weight in sorted(zip(values, weights, strict=True)):
        half -= weight
        if half <= 0:
            return value
    return max(values)
