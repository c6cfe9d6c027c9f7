"""The board's arrays: a row for each site, and computations over all of them.

Rows of dropped sites are reused, so memory grows with the collection only.
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
    importance: FloatArray
    speed: FloatArray
    due: FloatArray
    """When its turn is due by the policy's order; 0 if the policy has no turns."""
    unseen: npt.NDArray[np.int_]
    """Pages that may be fetched and never were."""
    begins: FloatArray
    curves: FloatArray
    """Value of the best visit, at the knots of `value_curve` from ``begins`` on; the next two
    likewise."""
    fresh: FloatArray
    ages: FloatArray
    pages: npt.NDArray[np.int_]
    """Pages that may be fetched at all."""
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
        """When the promise of each site becomes urgent; infinite: never."""
        spare = np.maximum(_VISIT_SLACK * self.visit_seconds, _PROMISE_SLACK * self.promised)
        spare[np.isinf(spare)] = 0.0
        left = self.promised - self.visit_seconds - spare
        return as_floats(self.oldest + np.maximum(left, self.ripe))

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
