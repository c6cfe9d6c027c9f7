"""The board's arrays: a row for each site, and computations over all of them.

Rows of dropped sites are reused, so memory grows with the collection only.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray, as_floats
from headgate.features.keep.recrawl.kept_site import SiteTerms
from headgate.features.keep.recrawl.site_outlook import KNOTS_SECONDS, Outlook, interpolated
from headgate.features.keep.status import Fresh

__all__ = ["SiteRows", "collection_freshness"]

_PROMISE_SLACK = 0.05
"""Share of the promised time."""
_VISIT_SLACK = 2.0
"""In units of the time of a visit."""
_SLICE = 0.05
"""Share of the shortest promise."""
_SHORTEST_SLICE = 10.0
"""Seconds."""


@dataclass(slots=True)
class SiteRows:
    """Times are seconds since 1970."""

    there: BoolArray
    known: BoolArray
    """It was visited."""
    blocked: npt.NDArray[np.int_]
    """Visits running at its hosts."""
    paused_until: FloatArray
    promised: FloatArray
    """Seconds; infinite: nothing."""
    ripe: FloatArray
    """Seconds from a look until the next one for the promise may be made."""
    promise_begins: FloatArray
    """When the first page may be fetched for the promise."""
    importance: FloatArray
    speed: FloatArray
    due: FloatArray
    """When its turn is due by the policy's order; 0 if the policy has no turns."""
    unseen: npt.NDArray[np.int_]
    """Pages that may be fetched and never were."""
    begins: FloatArray
    curves: FloatArray
    """Value of the best visit, at the knots of `site_outlook` from ``begins`` on; the next two
    likewise."""
    fresh: FloatArray
    ages: FloatArray
    pages: npt.NDArray[np.int_]
    """Pages that may be fetched at all."""
    oldest: FloatArray
    visit_seconds: FloatArray
    """Of a look at every page."""

    @classmethod
    def empty(cls, places: int) -> SiteRows:
        def zeros() -> FloatArray:
            return np.zeros(places)

        def knots() -> FloatArray:
            return np.zeros((places, len(KNOTS_SECONDS)))

        return cls(
            np.zeros(places, bool),
            np.zeros(places, bool),
            blocked=np.zeros(places, np.int_),
            paused_until=zeros(),
            promised=np.full(places, np.inf),
            ripe=zeros(),
            promise_begins=np.full(places, -np.inf),
            importance=np.ones(places),
            speed=np.ones(places),
            due=zeros(),
            unseen=np.zeros(places, np.int_),
            begins=zeros(),
            curves=knots(),
            fresh=knots(),
            ages=knots(),
            pages=np.zeros(places, np.int_),
            oldest=np.full(places, np.inf),
            visit_seconds=zeros(),
        )

    def __len__(self) -> int:
        return len(self.there)

    def doubled(self) -> SiteRows:
        more = SiteRows.empty(len(self))
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
        self.promise_begins[place] = outlook.promise_begins

    def clear(self, place: int) -> None:
        empty = SiteRows.empty(1)
        for each in fields(self):
            getattr(self, each.name)[place] = getattr(empty, each.name)[0]

    def presses_at(self) -> FloatArray:
        """When the promise of each site becomes urgent; infinite: never."""
        spare = np.maximum(_VISIT_SLACK * self.visit_seconds, _PROMISE_SLACK * self.promised)
        spare[np.isinf(spare)] = 0.0
        left = self.promised - self.visit_seconds - spare
        urgent = self.oldest + np.maximum(left, self.ripe)
        return as_floats(np.maximum(urgent, self.promise_begins))

    def promise_slice(self) -> float:
        """Most seconds of a visit for a promise. A promise is for each page: if all of a large site
        were fetched because of its oldest page, pages of other sites would be late for nothing."""
        return max(_SLICE * float(self.promised.min(initial=np.inf)), _SHORTEST_SLICE)

    def slack(self, now: float) -> FloatArray:
        visit = np.minimum(self.visit_seconds, self.promise_slice())
        return as_floats(self.oldest + self.promised - now - visit)

    def values(self, now: float) -> FloatArray:
        """The value of the best visit to each site now."""
        since = (now - self.begins) * self.speed
        ready = self.known & (since >= 0)
        return as_floats(np.where(ready, interpolated(self.curves, np.maximum(since, 0.0)), 0.0))


def collection_freshness(rows: SiteRows, now: float) -> Fresh | None:
    """Expected freshness of a whole collection, in one pass over the board's arrays.

    Each site's outlook has two curves: mean freshness and age of its pages if none is fetched. They
    are linear between their knots and constant after the last. Sites that were never visited, or
    none of whose pages may be fetched, are left out.

    None: nothing is known of any page.
    """
    known = np.flatnonzero(rows.known & (rows.pages > 0) & np.isfinite(rows.begins))
    if not len(known):
        return None
    pages = rows.pages[known]
    since = np.maximum(now - rows.begins[known], 0.0) * rows.speed[known]
    fresh, age = _at(since, rows.fresh[known]), _at(since, rows.ages[known])
    order = np.argsort(age)
    passed = np.cumsum(pages[order]) / pages.sum()
    return Fresh(
        float(np.average(fresh, weights=pages)),
        float(np.average(fresh, weights=pages * rows.importance[known])),
        float(np.average(age, weights=pages)),
        float(age[order][int(np.searchsorted(passed, 0.95))]),
    )


def _at(since: FloatArray, curves: FloatArray) -> FloatArray:
    """The value of each row's curve at its own time, as by `numpy.interp`."""
    rows, last = np.arange(len(curves)), len(KNOTS_SECONDS) - 2
    left = np.minimum(np.searchsorted(KNOTS_SECONDS, since, side="right") - 1, last)
    width = KNOTS_SECONDS[left + 1] - KNOTS_SECONDS[left]
    place = np.minimum((since - KNOTS_SECONDS[left]) / width, 1.0)
    low, high = curves[rows, left], curves[rows, left + 1]
    return as_floats(low + place * (high - low))
