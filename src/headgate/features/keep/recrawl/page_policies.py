"""Page policies: which pages of a site a visit fetches, by Headgate's index or published policies.

A policy says from when on each page may be fetched, what a visit for it is worth, and which other
pages are fetched along with it. Times are seconds since 1970.

    index      V per byte that a look is charged (`page_estimates`), connection included; along with
    it
               what is worth half as much per byte on an open connection
    uniform    the page unseen for longest, and those unseen nearly as long
    nutch      each page has its interval; all that are due
    channel    every page at every visit (FIXED, IIR, ICR: when is decided by groups of sites,
               `priority_groups`)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headgate.features.keep.recrawl.arrays import FloatArray, as_floats
from headgate.features.keep.recrawl.kept_site import DAY_SECONDS
from headgate.features.keep.recrawl.page_estimates import Moments, PageEstimates
from headgate.features.keep.recrawl.page_histories import nutch_intervals
from headgate.model.keeping import Staleness

__all__ = ["ByIndex", "ByNutch", "PagePolicy", "Uniform", "WholeChannel", "Worth"]

RIDING = 0.5
"""Share of ν; of 0.25, 0.5 and 1, ages on real changes are least at 0.5."""
_NEARLY = 0.9
_LONGEST_WAIT = DAY_SECONDS
"""Longest wait for a page that seems to change seldom; less if pages may be fetched more than once
an hour."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Of each page; a row per time, if there are several."""

    opening: FloatArray
    """Value of a visit for this page."""
    along: FloatArray
    """Value of fetching it on a visit for another page."""
    cost: FloatArray
    """Bytes, on a connection that is open."""


class PagePolicy(Protocol):
    @property
    def riding(self) -> float:
        """Pages worth at least this share of the visit's first page are fetched along with it."""
        ...

    def ready(self, known: PageEstimates) -> FloatArray:
        """When each page may be fetched; infinite: never."""
        ...

    def worth(self, known: PageEstimates, at: Moments) -> Worth:
        """Above 0 for every page that is ready."""
        ...


def _allowed(known: PageEstimates, waits: FloatArray | float) -> FloatArray:
    pages = known.site.pages
    waits = np.where(pages.links_unknown, known.site.terms.min_interval, waits)
    again = np.where(pages.asked > 0, pages.asked + waits, 0.0)
    return as_floats(np.maximum(pages.not_before, again))


@dataclass(frozen=True, slots=True)
class ByIndex:
    """The default. A page waits for half its mean time between changes, but at most a day, which
    saves servers needless requests if the budget is ample."""

    staleness: Staleness = Staleness.AGE
    riding: float = RIDING

    def ready(self, known: PageEstimates) -> FloatArray:
        terms = known.site.terms
        seldom = np.minimum(DAY_SECONDS / 2 / known.mean_rates, _LONGEST_WAIT / terms.grid.speed)
        return _allowed(known, np.maximum(seldom, terms.min_interval))

    def worth(self, known: PageEstimates, at: Moments) -> Worth:
        value, charge = known.value(self.staleness, at), known.charge(at)
        opening = value / (charge + known.site.costs.connection)
        return Worth(as_floats(opening), as_floats(value / charge), known.cost(at))


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every page as often as any other."""

    riding: float = _NEARLY

    def ready(self, known: PageEstimates) -> FloatArray:
        return _allowed(known, known.site.terms.min_interval)

    def worth(self, known: PageEstimates, at: Moments) -> Worth:
        return Worth(known.since(at), known.since(at), known.cost(at))


@dataclass(frozen=True, slots=True)
class ByNutch:
    """Apache Nutch's adaptive schedule with its defaults, the longest due first."""

    riding: float = 0.0

    def ready(self, known: PageEstimates) -> FloatArray:
        return _allowed(known, self._waits(known))

    def worth(self, known: PageEstimates, at: Moments) -> Worth:
        overdue = known.since(at) * DAY_SECONDS - self._waits(known)
        worth = as_floats(np.maximum(overdue, 0.0) + 1.0)
        return Worth(worth, worth, known.cost(at))

    def _waits(self, known: PageEstimates) -> FloatArray:
        terms = known.site.terms
        days = nutch_intervals(known.site.pages.histories, terms.grid.speed)
        return as_floats(np.maximum(days * DAY_SECONDS, terms.min_interval))


@dataclass(frozen=True, slots=True)
class WholeChannel(Uniform):
    """A turn fetches all pages that may be fetched, once each."""

    riding: float = 0.0

    def ready(self, known: PageEstimates) -> FloatArray:
        asked, began = known.site.pages.asked, known.site.turn_began
        had_theirs = (asked >= began) & (began > 0)
        return as_floats(np.where(had_theirs, np.inf, super(WholeChannel, self).ready(known)))
