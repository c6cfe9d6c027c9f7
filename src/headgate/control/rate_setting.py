"""The rate of each running site: by the planner, then adjusted by observations.

The planner's rates go by priority, deadlines and caps (planning/replan.py). Sites of which little
is known get a small rate (glimpses.py), what caps leave over is offered to all running sites, and
what some leave unused is lent to others (lending.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from headgate.control.glimpses import in_want, with_glimpses
from headgate.control.lending import lent_rates, worth_lending
from headgate.control.site_watch import SiteWatch
from headgate.crawling.progress import Progress
from headgate.planning.replan import (
    CrawlState,
    begin,
    deadlines_ahead,
    open_next,
    serve_in_order,
    set_rates,
    warm_up,
)

__all__ = ["RateSetting"]

_SLOW = 0.05
"""Part of an equal share: a slower server does not occupy a crawler."""
_MOST_LENT = 200
"""Most sites open beyond the number of crawlers while others are idle: memory is bounded."""


class RateSetting(msgspec.Struct):
    """Works on the planner's state, which its owner updates; ``watched`` has every unfinished
    site."""

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
            from headgate.planning.mending import mend

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
        return dict.fromkeys(self.state.running, math.inf)

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
        from headgate.planning.foreseen import foreseen_ends

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
