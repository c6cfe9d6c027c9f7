"""The outlook of a site: what its next visit is worth, over time.

Computed from the site's memory after a visit and stored in the catalog, so that the board decides
without reading any page. All numbers are plain Python floats and ints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray, as_floats
from headgate.features.keep.recrawl.kept_site import DAY_SECONDS, KeptSite
from headgate.features.keep.recrawl.page_estimates import PageEstimates
from headgate.features.keep.recrawl.page_policies import PagePolicy, Worth
from headgate.features.keep.recrawl.visit_choice import best_visit

__all__ = ["KNOTS_SECONDS", "Outlook", "interpolated", "outlook_of"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """Times are seconds since 1970. Curves have a number for each knot of `KNOTS_SECONDS`, from
    ``begins`` on; the knots are closer by the speed of the site's grid."""

    begins: float
    """When the first of its pages may be fetched; infinite: none may."""
    values: tuple[float, ...]
    """The value of the best visit."""
    fresh: tuple[float, ...]
    """Mean probability that a copy is fresh, if no page is fetched."""
    ages: tuple[float, ...]
    """Mean seconds for which copies have been out of date."""
    pages: int
    """Pages that these two curves are about: those that may be fetched at all, without those that
    were requested and gave nothing to copy."""
    oldest_look: float
    """Of pages fetched before that may be fetched again within the promise; infinite: none."""
    expected_bytes: float
    """Of the best visit at ``begins``."""
    expected_seconds: float
    promise_bytes: float
    """Of a look at every page."""
    promise_seconds: float
    rate_weights: tuple[float, ...]
    """Sum of its pages' posteriors (`rates`)."""
    unseen: int
    """Pages that may be fetched and never were."""
    promise_begins: float = -math.inf
    """When the first of the pages fetched before may be fetched again for the promise."""


def outlook_of(site: KeptSite, policy: PagePolicy, now: float) -> Outlook:
    """Compute the outlook after a visit."""
    pages, costs = site.pages, site.costs
    known = PageEstimates(site)
    ready = policy.ready(known)
    begins = max(now, float(ready.min())) if len(pages) else np.inf
    weights = _plain(known.probabilities.sum(axis=0))
    promised = _in_promise(site, now)
    oldest = float(pages.asked[promised].min()) if promised.any() else np.inf
    ripe = np.maximum(pages.asked + site.terms.ripe, pages.not_before)[promised]
    promise_begins = float(ripe.min()) if promised.any() else np.inf
    seconds = costs.look_seconds * int(promised.sum())
    if not np.isfinite(begins):
        nothing = (0.0,) * len(KNOTS_SECONDS)
        return Outlook(
            np.inf,
            nothing,
            fresh=nothing,
            ages=nothing,
            pages=0,
            oldest_look=oldest,
            expected_bytes=0,
            expected_seconds=0,
            promise_bytes=0,
            promise_seconds=0,
            rate_weights=weights,
            unseen=0,
            promise_begins=promise_begins,
        )
    moments = begins + KNOTS_SECONDS / site.terms.grid.speed
    open_ = ready <= moments[:, None]
    worth = policy.worth(known, moments)
    told = (pages.known_at > 0) | (pages.asked == 0)
    fresh = 1 - _mean(known.probability_changed(moments)[:, told])
    ages = _mean(known.expected_age(moments)[:, told]) * DAY_SECONDS
    first = Worth(worth.opening[0], worth.along[0], worth.cost[0])
    visit = best_visit(site, policy.riding, first, open_[0])
    assert visit is not None, "a page is ready when the curve begins"
    all_pages = known.cost(now + (site.terms.fresh_within or 0.0))[promised]
    return Outlook(
        begins=begins,
        values=_plain(np.where(open_, worth.opening, 0.0).max(axis=1)),
        fresh=_plain(fresh),
        ages=_plain(ages),
        pages=int((np.isfinite(ready) & told).sum()),
        oldest_look=oldest,
        expected_bytes=visit.expected_bytes,
        expected_seconds=visit.expected_seconds,
        promise_bytes=float(all_pages.sum()) + costs.connection,
        promise_seconds=seconds,
        rate_weights=weights,
        unseen=int((np.isfinite(ready) & (pages.asked == 0)).sum()),
        promise_begins=promise_begins,
    )


def _in_promise(site: KeptSite, now: float) -> BoolArray:
    pages = site.pages
    within = site.terms.fresh_within or 0.0
    return (pages.asked > 0) & (pages.not_before <= np.maximum(now, pages.asked + within))


def _mean(curves: FloatArray) -> FloatArray:
    """Of all pages at each moment; of none, 0."""
    return as_floats(curves.sum(axis=1) / max(curves.shape[1], 1))


def _plain(numbers: FloatArray) -> tuple[float, ...]:
    return tuple(numbers.tolist())


# The value of a site's next visit as a function of time, in nine numbers.
#
# The knots are when the visit may first be made, and 1 h, 6 h, 1, 3, 10, 30, 100 and 300 days
# later. Values are interpolated linearly in log-log, between the first two knots in plain terms,
# and extrapolated with the last slope. So the board compares sites without reading their pages:
# 100,000 sites are one pass over an array.


KNOTS_SECONDS: FloatArray = (
    np.array([0.0, 1 / 24, 0.25, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]) * 86_400.0
)
_LOG_KNOTS = np.log(KNOTS_SECONDS[1:])
_LAST_PIECE = len(KNOTS_SECONDS) - 2
_LEAST = 1e-300


def interpolated(curves: FloatArray, since: FloatArray) -> FloatArray:
    """The value of each row of ``curves``, ``since`` seconds after it begins; not negative.

    >>> cubic = (KNOTS_SECONDS[None, :] / 86_400) ** 3
    >>> interpolated(cubic, np.array([5 * 86_400.0])).round(6).tolist()
    [125.0]
    """
    rows = np.arange(len(curves))
    piece = np.clip(np.searchsorted(KNOTS_SECONDS, since, side="right") - 1, 1, _LAST_PIECE)
    left, right = curves[rows, piece], curves[rows, piece + 1]
    width = _LOG_KNOTS[piece] - _LOG_KNOTS[piece - 1]
    place = (np.log(np.maximum(since, KNOTS_SECONDS[1])) - _LOG_KNOTS[piece - 1]) / width
    low = np.log(np.maximum(left, _LEAST))
    later = np.exp(low + place * (np.log(np.maximum(right, _LEAST)) - low))
    first = curves[:, 0] + (curves[:, 1] - curves[:, 0]) * (since / KNOTS_SECONDS[1])
    return as_floats(np.where(since < KNOTS_SECONDS[1], np.maximum(first, 0.0), later))
