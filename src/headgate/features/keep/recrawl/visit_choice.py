"""Chooses the pages of a visit: the page that is due, and others that are worth a request.

A connection costs bytes and time, so a page that is not worth a visit of its own may be worth a
request on an open one. The best page pays for the connection; ν is what its look is worth per byte.
Every other page of the site with V/C of at least half of ν is fetched as well, the best first, up
to the limit of bytes. (Other policies than the index have other values, see `page_policies`.)

A visit for a promise fetches the pages unseen for longest, of those for which half of the promised
time has passed, as many as its time allows: so pages of a site stay together and share a
connection, and none is fetched more than twice as often as promised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import BoolArray
from headgate.features.keep.recrawl.kept_site import KeptSite
from headgate.features.keep.recrawl.page_estimates import PageEstimates
from headgate.features.keep.recrawl.page_policies import PagePolicy, Worth

__all__ = ["ChosenPages", "best_visit", "chosen_visit", "pages_left", "promised_visit"]


@dataclass(frozen=True, slots=True)
class ChosenPages:
    pages: npt.NDArray[np.int_]
    """Indices of the pages, in the order of requests."""
    expected_bytes: float
    expected_seconds: float


def chosen_visit(
    site: KeptSite, policy: PagePolicy, now: float, most_bytes: float = math.inf
) -> ChosenPages | None:
    """None: no page may be fetched yet. The best page is fetched even beyond ``most_bytes``."""
    known = PageEstimates(site)
    ready = policy.ready(known) <= now
    return best_visit(site, policy.riding, policy.worth(known, now), ready, most_bytes)


def best_visit(
    site: KeptSite, riding: float, worth: Worth, ready: BoolArray, most_bytes: float = math.inf
) -> ChosenPages | None:
    """The best visit with pages that are ``ready``; ``riding`` is the policy's."""
    if not ready.any():
        return None
    best = int(np.argmax(np.where(ready, worth.opening, -np.inf)))
    along = ready & (worth.along >= riding * worth.opening[best])
    along[best] = False
    others = np.flatnonzero(along)
    order = np.concatenate(([best], others[np.argsort(-worth.along[others], kind="stable")]))
    passed = site.costs.connection + np.cumsum(worth.cost[order])
    fits = max(int(np.searchsorted(passed, most_bytes, side="right")), 1)
    return _visit(site, order[:fits], float(passed[fits - 1]))


def pages_left(site: KeptSite, policy: PagePolicy, now: float, asked: npt.NDArray[np.int_]) -> bool:
    """Whether pages are ready now that a visit does not fetch."""
    ready = policy.ready(PageEstimates(site)) <= now
    ready[asked] = False
    return bool(ready.any())


def promised_visit(
    site: KeptSite, now: float, most_seconds: float = math.inf
) -> ChosenPages | None:
    """A visit for the site's promise; None: no page is due. The page unseen for longest is fetched
    even beyond ``most_seconds``."""
    if site.terms.fresh_within is None:
        return None
    pages = site.pages
    due = np.flatnonzero((now - pages.asked >= site.terms.ripe) & (pages.not_before <= now))
    if not len(due):
        return None
    fits = max(most_seconds / max(site.costs.look_seconds, 1e-9), 1.0)
    order = due[np.argsort(pages.asked[due], kind="stable")][: int(min(fits, len(due)))]
    cost = PageEstimates(site).cost(now)[order]
    return _visit(site, order, site.costs.connection + float(cost.sum()))


def _visit(site: KeptSite, pages: npt.NDArray[np.int_], expected_bytes: float) -> ChosenPages:
    return ChosenPages(pages, expected_bytes, len(pages) * site.costs.look_seconds)
