"""The rate of each running site: by the plan, then lent on while a site cannot use it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from headgate.control.site_estimate import SiteWatch
from headgate.crawling.progress import Progress
from headgate.scheduling.replan import (
    CrawlState,
    begin,
    deadlines_ahead,
    open_next,
    serve_in_order,
    set_rates,
    warm_up,
)

__all__ = ["RateSetter"]

_SLOW = 0.05
"""Part of an equal share: a slower server does not occupy a crawler."""
_MOST_LENT = 200
"""Most sites open beyond the number of crawlers while others are idle: memory is bounded."""


class RateSetter(msgspec.Struct):
    """The rate of each running site: by the planner, then adjusted by observations.

    The planner's rates go by priority, deadlines and caps (scheduling/replan.py). Sites of which
    little is known get a small rate (`in_want`), what caps leave over is offered to all running
    sites, and what some leave unused is lent to others (`lent_rates`).

    Works on the planner's state, which its owner updates; ``watched`` has every unfinished
    site.
    """

    state: CrawlState
    watched: Mapping[str, SiteWatch]
    loans: Mapping[str, float] = msgspec.field(default_factory=dict)
    """What sites have beyond the planner's rates, from what others leave unused."""
    ends: Mapping[str, float] = msgspec.field(default_factory=dict)
    """Predicted ends of sites by the last decision, as far as known."""

    def refresh(
        self, reports: Sequence[Progress], told: Mapping[str, float], equal_share: float
    ) -> None:
        """After a look: update the planner's state of these sites. ``told``: their rates."""
        state = self.state
        slow = _SLOW * state.capacity.rate_at(state.now) / state.slots
        running = frozenset(state.running)
        lent = sum(self._lends(name) for name in running)
        for report in reports:
            if report.site in state.sites:
                lends = report.site in running and self._lends(report.site)
                may_lend = lends or (report.site in running and lent < _MOST_LENT)
                self.watched[report.site].refresh(state.sites[report.site], equal_share)
                self._note_idleness(report, told.get(report.site, 0.0), slow, may_lend=may_lend)
                lent += (report.site in running and self._lends(report.site)) - lends

    def rates(self, budget: float, *, weigh: bool) -> dict[str, float]:
        """The rates of the sites that run from now on; others are started if there is room. Without
        ``weigh``, deadlines are ignored and sites are served in order."""
        state = self.state
        if not weigh:
            serve_in_order(state)
            warm_up(state)
            return self._with_the_rest(self._planned(), budget)
        if deadlines_ahead(state):
            from headgate.scheduling.order_repair import mend

            mend(state)
        set_rates(state)
        self.ends = self._foreseen_ends()
        warm_up(state)
        return self._with_the_rest(self._with_glimpses(budget), budget)

    def unlimited(self) -> dict[str, float]:
        """Without a limit as many sites run as there are crawlers, in the order of the plan."""
        free = self.state.free_crawlers
        while self.state.waiting and free > 0:
            name = self.state.waiting.popleft()
            self.state.running.append(name)
            free -= not self._lends(name)
        self.ends, self.loans = {}, {}
        return dict.fromkeys(self.state.running, math.inf)

    def lend_nothing(self) -> None:
        self.loans = {}

    def with_loans(self, rates: dict[str, float], budget: float) -> dict[str, float]:
        """Lend what some sites left unused at the last look to others."""
        busy = self._busy(rates)
        speeds = {site: self.watched[site].speed for site in busy}
        unused = {site: part for site in busy if (part := speeds[site].unused(rates[site])) > 0}
        if worth_lending(sum(unused.values()), budget):
            open_next(self.state)
            for site in self.state.running[len(rates) :]:
                rates[site], speeds[site] = 0.0, self.watched[site].speed
        room = {site: min(s.cap, s.most, budget) - rates[site] for site, s in speeds.items()}
        self.loans = lent_rates(unused, room, budget)
        return {site: rate + self.loans.get(site, 0.0) for site, rate in rates.items()}

    def _note_idleness(
        self, report: Progress, rate: float, slow_cap: float, *, may_lend: bool
    ) -> None:
        """``slow_cap``: bytes per second below which a server is too slow to wait for."""
        site = self.state.sites[report.site]
        # A site without a rate waits for us: its robots.txt, say, cannot arrive.
        waits = report.pausing and (site.idle or rate > 0)
        slow = site.cap < slow_cap
        site.idle = may_lend and waits
        site.slow = may_lend and slow

    def _lends(self, name: str) -> bool:
        """Whether a running site does not occupy a crawler."""
        site = self.state.sites[name]
        return site.idle or site.slow

    def _busy(self, names: Sequence[str] | Mapping[str, float]) -> list[str]:
        return [name for name in names if not self.state.sites[name].idle]

    def _planned(self) -> dict[str, float]:
        return {name: self.state.sites[name].rate for name in self.state.running}

    def _foreseen_ends(self) -> Mapping[str, float]:
        """Not for a single site: its rate says as much, and NumPy need not be loaded."""
        if len(self.state.sites) <= 1:
            return {}
        from headgate.scheduling.completion_times import foreseen_ends

        return foreseen_ends(self.state)

    def _with_glimpses(self, budget: float) -> dict[str, float]:
        if self.state.can_guard:
            little_known = self._little_known([*self.state.running, *self.state.waiting])
            wanting = in_want(self._planned(), little_known, budget)
            begin(self.state, [name for name in self.state.waiting if name in wanting])
        rates = self._planned()
        return with_glimpses(rates, self._little_known(list(rates)), budget)

    def _little_known(self, names: Sequence[str]) -> list[str]:
        """Sites with a wide range, and those of given size without a page so far, unless time is
        just enough."""
        busy = self._busy(names)
        unseen = [name for name in busy if self.watched[name].unseen]
        if unseen and self.state.is_tight(busy):
            unseen = []
        return [name for name in busy if self.watched[name].vague or name in unseen]

    def _with_the_rest(self, rates: dict[str, float], budget: float) -> dict[str, float]:
        """Caps are mostly estimates. What they leave of the budget is offered to the running sites,
        up to the user's own bounds, so that faster servers are found and nothing is wasted."""
        busy = self._busy(rates)
        rest = budget - sum(rates[site] for site in busy)
        served = sorted(
            (site for site in busy if rates[site] > 0),
            key=lambda site: self.watched[site].speed.most - rates[site],
        )
        more = dict(rates)
        for place, site in enumerate(served):
            if rest <= 0:
                break
            room = self.watched[site].speed.most - rates[site]
            part = min(rest / (len(served) - place), room)
            more[site] += part
            rest -= part
        return more


# Lends unused parts of sites' rates to other sites, from one look to the next.
#
# It takes seconds to see how fast a server is; until then a site may hold a rate that it cannot
# use, and the line would be idle. So what sites left unused at the last look goes, in order, to
# those that used all they had, or had nothing. The rates then add up to more than the budget, but
# the total still holds; as soon as a site uses its own rate again, it is no longer lent.


_WORTH_LENDING = 0.05
"""Part of the budget; less is not worth a change of rates."""


def worth_lending(rate: float, budget: float) -> bool:
    return rate >= _WORTH_LENDING * budget


def lent_rates(
    unused: Mapping[str, float], room: Mapping[str, float], budget: float
) -> dict[str, float]:
    """The loan of each site in bytes per second. ``unused`` is what sites leave of their rates,
    ``room`` what others could use in addition to theirs, in order.

    >>> lent_rates({"slow": 40.0}, {"a": 30.0, "slow": 90.0, "b": 50.0}, 100.0)
    {'a': 30.0, 'b': 10.0}
    """
    left = sum(unused.values())
    lent: dict[str, float] = {}
    for site, most in room.items():
        part = min(most, left) if site not in unused else 0.0
        if worth_lending(part, budget):
            lent[site] = part
            left -= part
    return lent


# A small rate for sites of which too little is known, while others have the rest of the line.
#
# A deadline may depend on a site of which no page was fetched yet, or whose size is very uncertain.
# Parked until its likely bytes are due, it would show too late that there are more. So it gets a
# small part of the line, which the others give up in proportion; its pages are stored like all
# others, and nothing is fetched twice.


_PART = 0.03
"""Part of the budget for each such site."""
_AT_ONCE = 4
"""A trickle for hundreds would show nothing of any, and each page of one that is due late is taken
from those that are due soon."""


def with_glimpses(
    rates: Mapping[str, float], little_known: Sequence[str], budget: float
) -> dict[str, float]:
    """Rates with the same sum in which the first of ``little_known`` have their small rate.

    >>> rates = with_glimpses({"a": 60.0, "b": 40.0, "c": 0.0}, ["b", "c"], 100.0)
    >>> {site: round(rate, 1) for site, rate in rates.items()}
    {'a': 58.2, 'b': 38.8, 'c': 3.0}
    """
    waiting = in_want(rates, little_known, budget)
    if not waiting:
        return dict(rates)
    trickle = _PART * budget
    missing = sum(max(trickle - rates[site], 0.0) for site in waiting)
    given = sum(rate for site, rate in rates.items() if site not in waiting)
    if given <= missing:
        return dict(rates)
    kept = 1.0 - missing / given
    return {
        site: max(rate, trickle) if site in waiting else rate * kept for site, rate in rates.items()
    }


def in_want(rates: Mapping[str, float], little_known: Sequence[str], budget: float) -> list[str]:
    """The sites that should have a small rate and have less; ``little_known`` is by priority."""
    return [site for site in little_known if rates.get(site, 0.0) < _PART * budget][:_AT_ONCE]
