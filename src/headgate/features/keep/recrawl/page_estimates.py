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

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray, as_floats
from headgate.features.keep.recrawl.kept_site import DAY_SECONDS, KeptSite
from headgate.features.keep.recrawl.page_histories import is_flapping, rate_probabilities
from headgate.features.keep.recrawl.rates import RateGrid
from headgate.model.keeping import Staleness

__all__ = [
    "FOR_ALL",
    "Moments",
    "PageEstimates",
    "expected_age",
    "look_value",
    "mean_age",
    "mean_ages",
    "mean_changed",
    "mean_changed_twice",
    "mean_freshness",
    "mean_values",
    "probability_changed",
]

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


# How stale a copy is, for a page that changes by a Poisson process of rate λ.
#
# A copy made ``s`` ago is out of date with probability 1 − e^{−λs}, and has been so for
# s − (1 − e^{−λs})/λ on average (Cho and Garcia-Molina, 2003). With a look every τ, the means over
# time are
#
#     freshness  F(λ, τ) = (1 − e^{−λτ}) / (λτ)
#     age        A(λ, τ) = τ/2 − 1/λ + (1 − e^{−λτ}) / (λ²τ)


_SMALL = 1e-3
_SMALL_FOR_TWO = 1e-2
"""Below, differences of nearly equal numbers are replaced by their series."""


def probability_changed(rate: Any, since: Any) -> FloatArray:
    """Probability that the page has changed since the last look.

    >>> float(probability_changed(1.0, 0.0))
    0.0
    """
    return as_floats(-np.expm1(-as_floats(rate) * since))


def probability_changed_twice(rate: Any, since: Any) -> FloatArray:
    """Probability of two changes or more since the last look: 1 − (1 + λs)·e^{−λs}.

    >>> float(probability_changed_twice(2.0, 1.0).round(4))
    0.594
    """
    x = as_floats(rate) * since
    series = x**2 * (1 / 2 - x / 3 + x**2 / 8)
    return as_floats(np.where(x < _SMALL_FOR_TWO, series, 1 - (1 + x) * np.exp(-x)))


def expected_age(rate: Any, since: Any) -> FloatArray:
    """For how long the copy has been out of date, on average; 0 for one that is not."""
    rate, since = np.broadcast_arrays(as_floats(rate), as_floats(since))
    x = rate * since
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = since + np.expm1(-x) / rate
    return as_floats(np.where(x < _SMALL, since * (x / 2 - x**2 / 6 + x**3 / 24), exact))


def mean_freshness(rate: Any, period: Any) -> FloatArray:
    """Share of the time for which the copy is fresh.

    >>> round(float(mean_freshness(1.0, 1.0)), 4)
    0.6321
    """
    x = as_floats(rate) * period
    with np.errstate(divide="ignore", invalid="ignore"):
        return as_floats(np.where(x < _SMALL, 1 - x / 2 + x**2 / 6, -np.expm1(-x) / x))


def mean_age(rate: Any, period: Any) -> FloatArray:
    """Mean over time of `expected_age`."""
    rate, period = np.broadcast_arrays(as_floats(rate), as_floats(period))
    x = rate * period
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = period / 2 - 1 / rate - np.expm1(-x) / (rate * x)
    return as_floats(np.where(x < _SMALL, period * (x / 6 - x**2 / 24 + x**3 / 120), exact))


# Functions of rate and time since the last look, averaged over pages' posteriors by tables.
#
# Value, age and probability of change are smooth in the logarithm of the time. So they are
# tabulated once for all rates of a grid at 128 times, from a second to 27 years. The averages of
# pages at those times are one matrix product; linear interpolation in log-log is within half a per
# cent (tested). A site of 10,000 pages at nine times takes some ten milliseconds, instead of a
# second by the formulas.


_TIMES = np.geomspace(1e-5, 1e4, 128)
"""Days."""
_LOG_TIMES = np.log(_TIMES)
_STEP = float(_LOG_TIMES[1] - _LOG_TIMES[0])
_LEAST = 1e-300
_PAGES_AT_ONCE = 4096


def mean_changed(grid: RateGrid, probabilities: FloatArray, since: FloatArray) -> FloatArray:
    """Probability that each page has changed; ``since`` in days, a column per page."""
    return averaged(_table(grid, probability_changed), probabilities, since)


def mean_changed_twice(grid: RateGrid, probabilities: FloatArray, since: FloatArray) -> FloatArray:
    """Probability that each page has changed at least twice."""
    return averaged(_table(grid, probability_changed_twice), probabilities, since)


def mean_ages(grid: RateGrid, probabilities: FloatArray, since: FloatArray) -> FloatArray:
    """Days for which each copy has been out of date."""
    return averaged(_table(grid, expected_age), probabilities, since)


def mean_values(
    staleness: Staleness, grid: RateGrid, probabilities: FloatArray, since: FloatArray
) -> FloatArray:
    """Value of a look at each page."""
    return averaged(_table(grid, _VALUES[staleness]), probabilities, since)


def averaged(table: FloatArray, probabilities: FloatArray, since: FloatArray) -> FloatArray:
    """``table`` has a row per rate and a column per time, ``probabilities`` a row per page; the
    last axis of ``since`` and of the result is that of the pages."""
    found = np.empty(np.shape(since))
    for start in range(0, probabilities.shape[0], _PAGES_AT_ONCE):
        block = slice(start, start + _PAGES_AT_ONCE)
        found[..., block] = _block(table, probabilities[block], since[..., block])
    return found


def _block(table: FloatArray, probabilities: FloatArray, since: FloatArray) -> FloatArray:
    means = np.log(np.maximum(probabilities @ table, _LEAST))
    place = (np.log(np.maximum(since, _TIMES[0])) - _LOG_TIMES[0]) / _STEP
    left = np.minimum(place.astype(np.int_), len(_TIMES) - 2)
    pages = np.arange(len(means))
    low, high = means[pages, left], means[pages, left + 1]
    return as_floats(np.where(since > 0, np.exp(low + (place - left) * (high - low)), 0.0))


@lru_cache(320)
def _table(grid: RateGrid, of: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
    return of(grid.rates[:, None], _TIMES[None, :])


_VALUES: dict[Staleness, Callable[[FloatArray, FloatArray], FloatArray]] = {
    Staleness.AGE: lambda rate, since: look_value(Staleness.AGE, rate, since),
    Staleness.FRESHNESS: lambda rate, since: look_value(Staleness.FRESHNESS, rate, since),
}


# What a look at a page is worth now, and what it is charged: the index of the pull policy.
#
# Copies cost a(s) at a time s after the last look. Whoever looks every τ pays, over time,
#
#     [ ∫₀^τ a(s) ds + ν·c(τ) ] / τ
#
# where c(τ) are the bytes of a look and ν is what a byte is worth. At the best τ the derivative is
# zero, which is to say V(τ) / C(τ) = ν with
#
#     V(τ) = w · [ τ·a(τ) − ∫₀^τ a(s) ds ]        what a look is worth, w the page's weight
#     C(τ) = c(τ) − τ·c'(τ)                       what it is charged
#
# ν is the same for all pages, so looking at the page with the largest V/C whenever there is room
# approaches the optimal periodic schedule (a test compares them), without knowing the capacity and
# without intervals to adapt. The rate is not known, so both are averaged over what the looks so
# far leave possible (`rates`).
#
# **The weight.** Made small is a mix of two means: of all pages by importance μ, and, with a share
# of κ, of all pages alike. So w = (1 − κ)·μ + κ. With μ alone, what important pages gain is paid by
# the others, whose copies may then be older than if all pages were looked at in turn; a small κ
# prevents that, since the last looks at important pages gain little.
#
# **The charge.** A page whose server has no validators is sent at every look, so C = c. Where it
# has, a request of b bytes brings the page's S bytes only if it changed: c = b + S·(1 − e^{−λτ}). A
# change has to be fetched once, sooner or later; bytes are saved by waiting only where a second one
# comes before the look: C = b + S·(1 − (1 + λτ)·e^{−λτ}), with the probability of two changes or
# more. To charge c itself would look too seldom at pages for which looking is cheap.
#
# With the **age** as a(s), V grows without bound: no page is forgotten. With **freshness** a page
# that changes faster than it could be followed is given up: best for the mean freshness, and hard
# on such pages. Age is the default; `headgate lab freshness` shows both on real changes.


FOR_ALL = 0.2
"""κ: chosen on real changes among 0, 0.1, 0.2 and 0.3."""
_SMALL_WEIGHT = 1e-2


def look_value(staleness: Staleness, rate: Any, since: Any) -> FloatArray:
    """For importance 1; ``since`` the last look. Rates are positive.

    >>> look_value(Staleness.FRESHNESS, 2.0, np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.297]
    >>> look_value(Staleness.AGE, 2.0, np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.3515]
    """
    rate = as_floats(rate)
    if staleness is Staleness.FRESHNESS:
        return as_floats(probability_changed_twice(rate, since) / rate)
    x = rate * since
    decay = np.exp(-x)
    exact = x**2 / 2 + x * decay - (1 - decay)
    series = x**3 * (1 / 3 - x / 8 + x**2 / 30)
    return as_floats(np.where(x < _SMALL_WEIGHT, series, exact) / rate**2)


def look_weight(importance: Any) -> FloatArray:
    """That the value of a look at a page is multiplied with; 1 for an importance of 1.

    >>> look_weight(np.array([0.0, 1.0, 2.0])).tolist()
    [0.2, 1.0, 1.8]
    """
    return as_floats((1 - FOR_ALL) * as_floats(importance) + FOR_ALL)
