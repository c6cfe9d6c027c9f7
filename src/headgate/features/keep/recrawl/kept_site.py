"""A site that is kept fresh, with its pages in arrays: the input of decisions about a visit.

Filled from the site's memory for one visit and freed after it; the board of all sites
(`scheduler`) has only the `Outlook` of a site. Times are seconds since 1970; rates are per day, as
everywhere in this room.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray
from headgate.features.keep.recrawl.page_histories import Histories, no_histories
from headgate.features.keep.recrawl.rates import RateGrid

__all__ = ["DAY_SECONDS", "KeptSite", "LastmodTrust", "LookCosts", "SitePages", "SiteTerms"]

_TRUSTED, _DOUBTED = 0.9, 0.5
_FEW = 4
"""A site with fewer dates is trusted."""


@dataclass(frozen=True, slots=True)
class LastmodTrust:
    """Whether the dates of change in a site's sitemaps and feeds (lastmod) can be trusted.

    A page with a date after the last look has changed with probability 0.9; with 0.5 at a site
    where more than half of such dates were wrong.

    How many reported changes looks confirmed, and how many not.
    """

    right: int = 0
    wrong: int = 0

    @property
    def probability(self) -> float:
        """Probability that a page has changed if it is reported to.

        >>> LastmodTrust(right=3, wrong=1).probability, LastmodTrust(right=2, wrong=3).probability
        (0.9, 0.5)
        """
        told = self.right + self.wrong
        return _DOUBTED if told >= _FEW and 2 * self.wrong > told else _TRUSTED

    def after_looks(self, *, told: BoolArray, changed: BoolArray) -> LastmodTrust:
        """Updated after looks; ``told``: which pages were reported as changed."""
        right = int((told & changed).sum())
        return LastmodTrust(self.right + right, self.wrong + int(told.sum()) - right)


# The site and its pages.


DAY_SECONDS, HOUR_SECONDS = 86_400.0, 3600.0
_RIPE = 0.5
"""Share of the promised time."""
_SHORTLY = 4.0


@dataclass(frozen=True, slots=True)
class SiteTerms:
    """The user's settings for a site, in seconds."""

    importance: float = 1.0
    fresh_within: float | None = None
    """Every page is fetched at least this often; None: nothing is promised."""
    min_interval: float = HOUR_SECONDS
    """No page is fetched again sooner."""
    hosts: tuple[str, ...] = ()
    """A host never has two visits at a time."""

    @property
    def ripe(self) -> float:
        """Seconds from a look until the next one for the promise may be made; 0: no promise."""
        if self.fresh_within is None:
            return 0.0
        return max(_RIPE * self.fresh_within, self.min_interval)

    @property
    def shortly(self) -> float:
        """Seconds: a change within this time after a look is a sign of flapping, not of news."""
        return min(HOUR_SECONDS, _SHORTLY * self.min_interval)

    @property
    def grid(self) -> RateGrid:
        return RateGrid.for_interval(self.min_interval)


@dataclass(frozen=True, slots=True)
class LookCosts:
    """Costs in addition to a page's own bytes, as learned from the site's servers."""

    connection: float = 6_000.0
    request: float = 600.0
    look_seconds: float = 0.5
    """Mean time of a look, waits and transfer included."""


@dataclass(slots=True)
class SitePages:
    """One element per page in every array."""

    asked: FloatArray
    """Time of the last look, whatever the answer; 0: never."""
    known_at: FloatArray
    """When the copy was last known to be equal to the page; 0: there is no copy."""
    sizes: FloatArray
    """Bytes of the last full answer."""
    validators: BoolArray
    """Whether an unchanged page is answered with 304, without a body."""
    histories: Histories
    importances: FloatArray
    """Factors to the site's own."""
    not_before: FloatArray
    """Not fetched before this time: pages that are gone, failed or redirect; infinite: never."""
    told_at: FloatArray
    """When it changed according to a sitemap or feed; ignored unless after ``known_at``."""
    links_unknown: BoolArray
    """Whether its links must be read again: it is due as soon as it may be fetched, like a page
    without a copy."""

    @classmethod
    def unasked(cls, count: int, *, size: float = 20_000.0) -> SitePages:
        return cls(
            np.zeros(count),
            np.zeros(count),
            sizes=np.full(count, size),
            validators=np.zeros(count, bool),
            histories=no_histories(count),
            importances=np.ones(count),
            not_before=np.zeros(count),
            told_at=np.zeros(count),
            links_unknown=np.zeros(count, bool),
        )

    def __len__(self) -> int:
        return len(self.asked)


@dataclass(slots=True)
class KeptSite:
    """One site for a visit. ``prior`` is the collection's, on the site's grid."""

    terms: SiteTerms
    pages: SitePages
    prior: FloatArray
    costs: LookCosts = field(default_factory=LookCosts)
    trust: LastmodTrust = field(default_factory=LastmodTrust)
    turn_began: float = 0.0
    """For policies with turns: pages fetched since are done."""
