"""What is known of each page of a site at a moment: its rate, whether it changed, what a look costs
and is worth.

Where a sitemap or feed told of a change at m, it came then with probability p (`kept_site`) and
nothing else is known of it; with u = now − m and τ since the last look, the general value of a look
(`look_value`) becomes p·(τu − u²/2) for age and p·(τ − u) for freshness, and the rest of the
probability goes by the page's rate. A page without a copy counts as one not looked at for a year;
so does, for the value of a look, one whose links must be read again.

A *flapping* page (`page_histories`) would be looked at as often as allowed and never be fresh, so
it counts as one that changes once a day. Shortly after another a look comes within an hour, or
within four times the site's ``min_interval`` where that is shorter; the day is scaled alike.

Each answer is for one moment, or for several with a row for each.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray, as_floats
from headgate.features.keep.recrawl.kept_site import DAY_SECONDS, KeptSite
from headgate.features.keep.recrawl.look_value import (
    look_weight,
    mean_ages,
    mean_changed,
    mean_changed_twice,
    mean_values,
)
from headgate.features.keep.recrawl.page_histories import is_flapping, rate_probabilities
from headgate.model.keeping import Staleness

__all__ = ["Moments", "PageEstimates"]

_NO_COPY_DAYS = 365.0

Moments: TypeAlias = float | FloatArray
"""Seconds since 1970."""


class PageEstimates:
    """Of one site's pages; as good as the site's arrays were when it was made."""

    def __init__(self, site: KeptSite) -> None:
        self.site = site
        grid = site.terms.grid
        self._grid = grid
        histories = site.pages.histories
        self.probabilities = rate_probabilities(grid, histories, site.prior)
        """Of the rates, a row per page."""
        flaps = is_flapping(histories, site.terms.shortly)
        if flaps.any():
            daily = np.zeros(len(grid))
            daily[int(np.abs(np.log(grid.rates / grid.speed)).argmin())] = 1.0
            self.probabilities[flaps] = daily

    @property
    def mean_rates(self) -> FloatArray:
        """Changes per day."""
        return as_floats(self.probabilities @ self._grid.rates)

    def since(self, at: Moments) -> FloatArray:
        """Days since the copy was like the page."""
        known_at = self.site.pages.known_at
        days = np.maximum(_aside(at) - known_at, 0.0) / DAY_SECONDS
        return as_floats(np.where(known_at > 0, days, _NO_COPY_DAYS / self._grid.speed))

    def probability_changed(self, at: Moments) -> FloatArray:
        changed = mean_changed(self._grid, self.probabilities, self.since(at))
        if self._any_told:
            trust = self.site.trust.probability
            changed = np.where(self._told(at), trust + (1 - trust) * changed, changed)
        return as_floats(changed)

    def expected_age(self, at: Moments) -> FloatArray:
        """Days for which the copies have been out of date, on average."""
        return mean_ages(self._grid, self.probabilities, self.since(at))

    def cost(self, at: Moments) -> FloatArray:
        """Bytes of a look at each page on a connection that is open."""
        return self._bytes(self.probability_changed(at))

    def charge(self, at: Moments) -> FloatArray:
        """Of these bytes, those that would be saved by waiting longer (`look_value`): a change is
        sent once, sooner or later, unless another one comes before."""
        since = self.since(at)
        twice = mean_changed_twice(self._grid, self.probabilities, since)
        if self._any_told:
            trust = self.site.trust.probability
            once = mean_changed(self._grid, self.probabilities, since)
            twice = np.where(self._told(at), trust * once + (1 - trust) * twice, twice)
        return self._bytes(as_floats(twice))

    def _bytes(self, sent: FloatArray) -> FloatArray:
        """``sent``: the probability that a page comes whose server has validators."""
        pages, costs = self.site.pages, self.site.costs
        return as_floats(costs.request + np.where(pages.validators, sent, 1.0) * pages.sizes)

    def value(self, staleness: Staleness, at: Moments) -> FloatArray:
        """Of a look at each page, importance in."""
        unread = self.site.pages.links_unknown
        since = as_floats(np.where(unread, _NO_COPY_DAYS / self._grid.speed, self.since(at)))
        values = mean_values(staleness, self._grid, self.probabilities, since)
        if self._any_told:
            trust = self.site.trust.probability
            stale = (_aside(at) - self.site.pages.told_at) / DAY_SECONDS
            known = since * stale - stale**2 / 2 if staleness is Staleness.AGE else since - stale
            values = np.where(self._told(at), trust * known + (1 - trust) * values, values)
        importances = self.site.pages.importances * self.site.terms.importance
        return as_floats(values * look_weight(importances))

    @property
    def _any_told(self) -> bool:
        return bool((self.site.pages.told_at > self.site.pages.known_at).any())

    def _told(self, at: Moments) -> BoolArray:
        pages = self.site.pages
        told = (pages.known_at > 0) & (pages.told_at > pages.known_at)
        return np.asarray(told & (pages.told_at <= _aside(at)), dtype=np.bool_)


def _aside(at: Moments) -> Any:
    """One moment, or a column of several."""
    return at[:, None] if isinstance(at, np.ndarray) else at
