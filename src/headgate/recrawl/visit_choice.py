"""Which pages one visit to a site asks for: the page that is due, and those worth riding along.

A connection costs bytes and time, so a page that is not worth a visit of its own may be worth a
request on one. The best page pays for the connection; ν is what its look is worth per byte. Every
other page of the site with V/C of at least half of ν rides along, the best first, as far as the
bytes go. (Other policies than the index have other worths, see `page_policies`.)

A visit that keeps a promise asks for the pages longest unseen, as many as it has time for of those
that half of the promised time has passed for: so the pages of a site stay together and pay for one
connection, and none is asked twice as often as promised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.recrawl.arrays import BoolArray
from headgate.recrawl.kept_site import KeptSite
from headgate.recrawl.page_estimates import PageEstimates
from headgate.recrawl.page_policies import PagePolicy, Worth

__all__ = ["Visit", "best_visit", "chosen_visit", "pages_left", "promised_visit"]


@dataclass(frozen=True, slots=True)
class Visit:
    pages: npt.NDArray[np.int_]
    """Numbers of the pages, in the order to ask for them."""
    expected_bytes: float
    expected_seconds: float


def chosen_visit(
    site: KeptSite, policy: PagePolicy, now: float, most_bytes: float = math.inf
) -> Visit | None:
    """None: no page may be asked yet. The due page is asked whatever it costs."""
    known = PageEstimates(site)
    ready = policy.ready(known) <= now
    return best_visit(site, policy.riding, policy.worth(known, now), ready, most_bytes)


def best_visit(
    site: KeptSite, riding: float, worth: Worth, ready: BoolArray, most_bytes: float = math.inf
) -> Visit | None:
    """Among pages that are ``ready``; ``riding`` is the policy's."""
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
    """Whether more pages could be asked now than a visit asks for."""
    ready = policy.ready(PageEstimates(site)) <= now
    ready[asked] = False
    return bool(ready.any())


def promised_visit(site: KeptSite, now: float, most_seconds: float = math.inf) -> Visit | None:
    """For the site's promise; None: no page has to be asked. The page longest unseen is asked
    however long it takes."""
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


def _visit(site: KeptSite, pages: npt.NDArray[np.int_], expected_bytes: float) -> Visit:
    return Visit(pages, expected_bytes, len(pages) * site.costs.look_seconds)
