"""A collection kept in virtual time, by the real board and estimates, with a simple model of the
line.

Some visits run at once, beside those for promises, for which others are parked; the one due soonest
has the whole line until it is done. Pages change by Poisson processes and cost what `LookCosts`
says. Nothing is fetched, so months take minutes, and what decisions cost can be measured alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import FloatArray
from headgate.features.keep.recrawl.kept_site import DAY_SECONDS, KeptSite
from headgate.features.keep.recrawl.policies import KeepPolicy
from headgate.features.keep.recrawl.rates import RatePrior
from headgate.features.keep.recrawl.scheduler import DueVisit, VisitScheduler, Why
from headgate.features.keep.recrawl.site_order import VisitOf
from headgate.features.keep.recrawl.site_outlook import outlook_of
from headgate.features.keep.recrawl.visit_choice import chosen_visit, pages_left, promised_visit
from headgate_lab.worlds.looked_pages import Look, take_in

__all__ = ["KeptWorld", "Tally"]


@dataclass(slots=True)
class Tally:
    """Of what was done."""

    visits: dict[Why, int] = field(default_factory=lambda: dict.fromkeys(Why, 0))
    looks: int = 0
    sent: float = 0.0
    late: list[float] = field(default_factory=list)
    """Seconds after its promise, of each look at a page with one; negative: before."""


@dataclass(slots=True)
class _Visit:
    task: DueVisit
    pages: npt.NDArray[np.int_]
    costs: FloatArray
    done: int = 0
    """Pages looked at."""
    left: float = 0.0
    """Bytes of the next one."""
    looks: list[Look] = field(default_factory=list)

    @property
    def order(self) -> float:
        return math.inf if self.task.due is None else self.task.due


@dataclass(slots=True)
class KeptWorld:
    """``rates`` are changes per day of each site's pages."""

    sites: dict[str, KeptSite]
    rates: dict[str, FloatArray]
    policy: KeepPolicy
    bytes_per_second: float
    now: float
    rng: np.random.Generator
    slots: int = 5
    board: VisitScheduler = field(init=False)
    prior: RatePrior = field(default_factory=RatePrior)
    tally: Tally = field(default_factory=Tally)
    _visits: list[_Visit] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.board = VisitScheduler(self.policy.order)
        for name, site in self.sites.items():
            outlook = outlook_of(site, self.policy.pages, self.now)
            self.prior.counted(name, np.array(outlook.rate_weights, np.float32))
            self.board.put(name, site.terms, outlook)
        self.prior.renew()

    def run(self, until: float) -> None:
        while self.now < until:
            self._begin_visits()
            if not self._visits:
                self.now = min(max(self.board.next_moment(self.now), self.now + 1.0), until)
                continue
            self._transfer(min(until, self._asks_again()))

    def _asks_again(self) -> float:
        ready = self.board.next_promise if self._is_full() else self.board.next_moment
        return max(ready(self.now), self.now + 60.0)

    def _is_full(self) -> bool:
        """As for a keeper (`headgate.features.keep.visits`): what is promised has the line
        alone."""
        promised = any(visit.task.why is Why.PROMISE for visit in self._visits)
        return promised or len(self._visits) >= self.slots

    def _begin_visits(self) -> None:
        while (task := self.board.next_task(self.now)) is not None:
            if task.why is not Why.PROMISE and self._is_full():
                return
            site = self.sites[task.site]
            site.prior = self.prior.probabilities(site.terms.grid)
            site.turn_began = self.board.order.turn_began(task.site, self.now)
            visit = None
            if task.why is Why.PROMISE:
                visit = promised_visit(site, self.now, task.most_seconds)
            if visit is None:
                spare = self.board.next_promise(self.now) - self.now
                most = spare * self.bytes_per_second
                visit = chosen_visit(site, self.policy.pages, self.now, most)
            if visit is None:
                self.board.order.end(task.site, self.now, VisitOf.ALL)
                site.turn_began = 0.0
                self.board.remember(task.site, outlook_of(site, self.policy.pages, self.now))
                continue
            self.board.begin(task.site, self.now)
            self.tally.visits[task.why] += 1
            changed = self._changed(task.site, visit.pages)
            self._visits.append(self._opened(task, visit.pages, changed))

    def _changed(self, name: str, pages: npt.NDArray[np.int_]) -> npt.NDArray[np.bool_]:
        since = (self.now - self.sites[name].pages.known_at[pages]) / DAY_SECONDS
        chance = -np.expm1(-self.rates[name][pages] * since)
        return np.asarray(self.rng.random(len(pages)) < chance)

    def _opened(
        self, task: DueVisit, pages: npt.NDArray[np.int_], changed: npt.NDArray[np.bool_]
    ) -> _Visit:
        site = self.sites[task.site]
        sent = changed | ~site.pages.validators[pages]
        costs = site.costs.request + np.where(sent, site.pages.sizes[pages], 0.0)
        costs[0] += site.costs.connection
        looks = [Look(int(p), 0.0, bool(c)) for p, c in zip(pages, changed, strict=True)]
        return _Visit(task, pages, costs=costs, done=0, left=float(costs[0]), looks=looks)

    def _transfer(self, until: float) -> None:
        """The line carries the visit due soonest until it is done, or something else may begin."""
        visit = min(self._visits, key=lambda each: each.order)
        while visit.done < len(visit.pages):
            seconds = visit.left / self.bytes_per_second
            if self.now + seconds > until:
                visit.left -= (until - self.now) * self.bytes_per_second
                self.now = until
                return
            self.now += seconds
            look = visit.looks[visit.done]
            visit.looks[visit.done] = Look(look.page, self.now, look.changed)
            visit.done += 1
            if visit.done < len(visit.pages):
                visit.left = float(visit.costs[visit.done])
        self._end(visit)

    def _end(self, visit: _Visit) -> None:
        name = visit.task.site
        site = self.sites[name]
        promised = site.terms.fresh_within
        if promised is not None:
            asked = site.pages.asked
            self.tally.late += [
                float(look.at - asked[look.page]) - promised for look in visit.looks
            ]
        take_in(site, visit.looks)
        left = pages_left(site, self.policy.pages, self.now, visit.pages)
        site.turn_began = 0.0
        self.tally.looks += len(visit.pages)
        self.tally.sent += float(visit.costs.sum())
        outlook = outlook_of(site, self.policy.pages, self.now)
        self.prior.visited(name, np.array(outlook.rate_weights, np.float32))
        self.board.remember(name, outlook)
        self.board.end(name, self.now, VisitOf.PART if left else VisitOf.ALL)
        self._visits.remove(visit)
