"""A site that is kept fresh, with its pages in arrays: what is decided about a visit goes by this.

Filled from the site's memory for one visit and let go after it; the board of all sites
(`site_board`) knows a site by its `Outlook` only. Moments are seconds since 1970; rates stay per
day, as everywhere in this room.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headgate.recrawl.arrays import BoolArray, FloatArray
from headgate.recrawl.lastmod_trust import LastmodTrust
from headgate.recrawl.page_histories import Histories, no_histories
from headgate.recrawl.rate_grid import RateGrid

__all__ = ["DAY_SECONDS", "HOUR_SECONDS", "KeptSite", "LookCosts", "SitePages", "SiteTerms"]

DAY_SECONDS, HOUR_SECONDS = 86_400.0, 3600.0
_RIPE = 0.5
"""Of the promised time."""
_SHORTLY = 4.0


@dataclass(frozen=True, slots=True)
class SiteTerms:
    """What the user asks for; seconds."""

    importance: float = 1.0
    fresh_within: float | None = None
    """Every page is looked at once in so long; None: nothing is promised."""
    min_interval: float = HOUR_SECONDS
    """No page is asked again sooner."""
    hosts: tuple[str, ...] = ()
    """Two visits are never at one host."""

    @property
    def ripe(self) -> float:
        """Seconds after a look at which the next one may be made for the promise; 0: no promise."""
        if self.fresh_within is None:
            return 0.0
        return max(_RIPE * self.fresh_within, self.min_interval)

    @property
    def shortly(self) -> float:
        """Seconds: a look so soon after another tells of flapping, not of news."""
        return min(HOUR_SECONDS, _SHORTLY * self.min_interval)

    @property
    def grid(self) -> RateGrid:
        return RateGrid.for_interval(self.min_interval)


@dataclass(frozen=True, slots=True)
class LookCosts:
    """On the line beside a page's own bytes, as learned of the site's servers."""

    connection: float = 6_000.0
    request: float = 600.0
    look_seconds: float = 0.5
    """A look takes on average, waits and transfer included."""


@dataclass(slots=True)
class SitePages:
    """One place per page in every array; `SitePages.unasked` makes pages of which nothing is
    known."""

    asked: FloatArray
    """When last, whatever came; 0: never."""
    known_at: FloatArray
    """When a look last told whether the copy is like the page; 0: there is no copy."""
    sizes: FloatArray
    """Bytes of a whole answer on the line, as of the last one."""
    validators: BoolArray
    """Whether an unchanged page is answered without its bytes."""
    histories: Histories
    importances: FloatArray
    """Beside the site's own."""
    not_before: FloatArray
    """Asked again only then: gone pages, Retry-After; infinite: forbidden by robots.txt."""
    told_at: FloatArray
    """When a sitemap or feed says that it changed; 0, or not after ``known_at``: it says
    nothing."""

    @classmethod
    def unasked(cls, count: int, *, size: float = 20_000.0) -> SitePages:
        return cls(
            np.zeros(count), np.zeros(count), np.full(count, size), np.zeros(count, bool),
            no_histories(count), np.ones(count), np.zeros(count), np.zeros(count),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.asked)


@dataclass(slots=True)
class KeptSite:
    """One site at its visit. ``prior`` is the collection's, for the site's grid."""

    terms: SiteTerms
    pages: SitePages
    prior: FloatArray
    costs: LookCosts = field(default_factory=LookCosts)
    trust: LastmodTrust = field(default_factory=LastmodTrust)
    turn_began: float = 0.0
    """Where a policy has turns: pages asked since had their look."""
