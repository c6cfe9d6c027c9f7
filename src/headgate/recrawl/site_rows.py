"""The board's arrays: a place for each site, and what a pass over all of them finds.

Places of sites that were dropped are used again, so nothing grows with time but the collection.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from headgate.recrawl.arrays import BoolArray, FloatArray, as_floats
from headgate.recrawl.kept_site import SiteTerms
from headgate.recrawl.site_outlook import Outlook
from headgate.recrawl.value_curve import KNOTS_SECONDS, interpolated

__all__ = ["SiteRows"]

_PROMISE_SLACK = 0.05
"""Of the promised time."""
_VISIT_SLACK = 2.0
"""Times the seconds of a visit."""
_SLICE = 0.05
"""Of the shortest promise."""
_SHORTEST_SLICE = 10.0
"""Seconds."""


@dataclass(slots=True)
class SiteRows:
    """Moments are seconds since 1970."""

    there: BoolArray
    known: BoolArray
    """It was visited."""
    blocked: npt.NDArray[np.int_]
    """Visits under way at its hosts."""
    paused_until: FloatArray
    promised: FloatArray
    """Seconds; infinite: nothing."""
    ripe: FloatArray
    """Seconds after which a look for the promise may be made."""
    importance: FloatArray
    speed: FloatArray
    due: FloatArray
    """Its turn by the policy's order; where there are none, long ago."""
    unseen: npt.NDArray[np.int_]
    """Pages that may be asked and never were."""
    begins: FloatArray
    curves: FloatArray
    """What the best visit to each is worth, at the knots of `value_curve` from ``begins`` on; so
    are the next two."""
    fresh: FloatArray
    ages: FloatArray
    pages: npt.NDArray[np.int_]
    """That may be asked at all."""
    oldest: FloatArray
    visit_seconds: FloatArray
    """Of a look at every page."""

    @classmethod
    def of(cls, places: int) -> SiteRows:
        def zeros() -> FloatArray:
            return np.zeros(places)

        def knots() -> FloatArray:
            return np.zeros((places, len(KNOTS_SECONDS)))

        return cls(
            np.zeros(places, bool), np.zeros(places, bool), np.zeros(places, np.int_),
            zeros(), np.full(places, np.inf), zeros(), np.ones(places), np.ones(places), zeros(),
            np.zeros(places, np.int_), zeros(), knots(), knots(), knots(),
            np.zeros(places, np.int_), np.full(places, np.inf), zeros(),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.there)

    def doubled(self) -> SiteRows:
        more = SiteRows.of(len(self))
        pairs = [(getattr(self, each.name), getattr(more, each.name)) for each in fields(self)]
        return SiteRows(*(np.concatenate(pair) for pair in pairs))

    def set_terms(self, place: int, terms: SiteTerms) -> None:
        self.there[place] = True
        self.promised[place] = np.inf if terms.fresh_within is None else terms.fresh_within
        self.ripe[place] = terms.ripe
        self.importance[place] = terms.importance
        self.speed[place] = terms.grid.speed

    def set_outlook(self, place: int, outlook: Outlook) -> None:
        self.known[place] = True
        self.begins[place] = outlook.begins
        self.unseen[place] = outlook.unseen
        self.curves[place] = outlook.values
        self.fresh[place] = outlook.fresh
        self.ages[place] = outlook.ages
        self.pages[place] = outlook.pages
        self.oldest[place] = outlook.oldest_look
        self.visit_seconds[place] = outlook.promise_seconds

    def clear(self, place: int) -> None:
        empty = SiteRows.of(1)
        for each in fields(self):
            getattr(self, each.name)[place] = getattr(empty, each.name)[0]

    def presses_at(self) -> FloatArray:
        """When the promise of each goes before everything else; infinite: never."""
        spare = np.maximum(_VISIT_SLACK * self.visit_seconds, _PROMISE_SLACK * self.promised)
        spare[np.isinf(spare)] = 0.0
        left = self.promised - self.visit_seconds - spare
        return as_floats(self.oldest + np.maximum(left, self.ripe))

    def promise_slice(self) -> float:
        """Seconds that one visit for a promise may take. Pages are promised one by one: while all
        of a large site was looked at for its oldest page, others' would become late for nothing."""
        return max(_SLICE * float(self.promised.min(initial=np.inf)), _SHORTEST_SLICE)

    def slack(self, now: float) -> FloatArray:
        visit = np.minimum(self.visit_seconds, self.promise_slice())
        return as_floats(self.oldest + self.promised - now - visit)

    def values(self, now: float) -> FloatArray:
        """Of the best visit to each, if it was made now."""
        since = (now - self.begins) * self.speed
        ready = self.known & (since >= 0)
        return as_floats(np.where(ready, interpolated(self.curves, np.maximum(since, 0.0)), 0.0))
