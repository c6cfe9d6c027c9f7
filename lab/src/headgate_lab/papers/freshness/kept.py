"""Headgate's own board, estimator and index in the replay, as in `headgate keep`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.kept_site import DAY_SECONDS, KeptSite, SitePages, SiteTerms
from headgate.features.keep.recrawl.page_policies import ByIndex, PagePolicy
from headgate.features.keep.recrawl.rates import RatePrior
from headgate.features.keep.recrawl.scheduler import VisitScheduler
from headgate.features.keep.recrawl.site_outlook import outlook_of
from headgate.features.keep.recrawl.visit_choice import chosen_visit
from headgate.model.keeping import Staleness
from headgate_lab.papers.freshness.replay import COSTS, STEP_DAYS, PageLook, Web
from headgate_lab.worlds.looked_pages import Look, take_in

__all__ = ["Kept"]

_FIRST_DAY = 1e9
"""In seconds since 1970: any moment will do."""


@dataclass(slots=True)
class Kept:
    """The policy's sites are the web's."""

    policy: PagePolicy
    board: VisitScheduler
    prior: RatePrior
    sites: dict[str, KeptSite]
    numbers: dict[str, npt.NDArray[np.int_]]
    """Of each site's pages in the replay."""
    at: str = ""
    """The site that is visited."""
    moment: float = field(default=_FIRST_DAY)

    @classmethod
    def of(cls, web: Web, staleness: Staleness) -> Kept:
        terms = SiteTerms(min_interval=STEP_DAYS * DAY_SECONDS)
        kept = cls(ByIndex(staleness), VisitScheduler(), RatePrior(), {}, {})
        for number in np.unique(web.sites).tolist():
            name = str(number)
            pages = np.flatnonzero(web.sites == number)
            kept.numbers[name] = pages
            arrays = SitePages.unasked(len(pages))
            arrays.asked[:] = arrays.known_at[:] = _FIRST_DAY
            arrays.sizes = web.sizes[pages]
            arrays.validators = web.validators[pages]
            arrays.importances = web.importances[pages]
            prior = kept.prior.probabilities(terms.grid)
            kept.sites[name] = KeptSite(terms, arrays, prior, COSTS)
            outlook = outlook_of(kept.sites[name], kept.policy, _FIRST_DAY)
            kept.prior.counted(name, np.array(outlook.rate_weights))
            kept.board.put(name, terms, outlook)
        return kept

    def next_pages(self, now: float) -> Sequence[int]:
        self.moment = _FIRST_DAY + now * DAY_SECONDS
        while (task := self.board.next_task(self.moment)) is not None:
            site = self.sites[task.site]
            site.prior = self.prior.probabilities(site.terms.grid)
            visit = chosen_visit(site, self.policy, self.moment)
            if visit is not None:
                self.at = task.site
                self.board.begin(self.at, self.moment)
                found: list[int] = self.numbers[self.at][visit.pages].tolist()
                return found
            # By the prior of now its pages may wait longer.
            self.board.remember(task.site, outlook_of(site, self.policy, self.moment))
        return ()

    def looked(self, looks: Sequence[PageLook]) -> None:
        site, numbers = self.sites[self.at], self.numbers[self.at]
        places = np.searchsorted(numbers, [look.page for look in looks]).tolist()
        found = [
            Look(place, self.moment, look.changed)
            for place, look in zip(places, looks, strict=True)
        ]
        take_in(site, found)
        outlook = outlook_of(site, self.policy, self.moment)
        self.prior.visited(self.at, np.array(outlook.rate_weights))
        self.board.remember(self.at, outlook)
        self.board.end(self.at, self.moment)
