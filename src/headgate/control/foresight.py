"""When the sites of a crawl will end, by what is known of their sizes and their servers.

Each end has an earliest, a likely and a latest time: the same outlook (`planning.outlook`) for
sizes and speeds at their best, as foretold, and at their worst. With a history the three lie close
together; without one they are honest about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum

from headgate.control.forecast import Forecast
from headgate.model.budget import Budget
from headgate.model.local_time import Calendar
from headgate.model.plan import Foreseen, Plan
from headgate.model.site import Site, SiteStatistics
from headgate.model.units import Bytes, BytesPerSecond
from headgate.planning.capacity import Capacity
from headgate.planning.outlook import Expected, Stretch, outlook

__all__ = ["Foresight", "plan_ahead"]

_WEEKS = 104
"""How far a timetable is unrolled."""
_WORTH_PLANNING = 0.05
"""Relative change of a cap from which on the plan is made anew."""
_AROUND = 900.0
"""Seconds over which a server's speed is averaged when the outlook asks."""


def plan_ahead(
    sites: Sequence[Site],
    budget: Budget,
    forecasts: Mapping[str, Forecast],
    start: datetime,
    quota_used: float = 0.0,
) -> Plan:
    """A plan by the forecasts, with each server as fast as it is at the hours it will be needed.

    The planner takes a cap for good, so a first plan tells when each site has its turn; where the
    servers are of another speed then, a second plan is made for that.
    """
    from headgate.planning.planner import budget_capacity, plan  # with it comes SciPy

    capacity = budget_capacity(budget, start, _WEEKS)
    began = start.timestamp()
    foresight = Foresight(forecasts, capacity, budget.crawlers, budget.calendar, began)
    caps = {site.name: forecasts[site.name].cap for site in sites}
    made = plan(_as_foreseen(sites, forecasts, caps), budget, start=start, quota_used=quota_used)
    then = foresight.caps(made, sites)
    if any(_differ(caps[name], cap) for name, cap in then.items()):
        foreseen = _as_foreseen(sites, forecasts, then)
        made = plan(foreseen, budget, start=start, quota_used=quota_used)
    return foresight.of(made, sites)


def _as_foreseen(
    sites: Sequence[Site], forecasts: Mapping[str, Forecast], caps: Mapping[str, float | None]
) -> list[Site]:
    return [
        replace(
            site,
            expect=Bytes(forecasts[site.name].bytes),
            max_rate=None if cap is None else BytesPerSecond(cap),
            statistics=SiteStatistics(),
        )
        for site in sites
        for cap in (caps[site.name],)
    ]


def _differ(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) > _WORTH_PLANNING * one


class _Case(IntEnum):
    """How well things go."""

    BEST = 1
    LIKELY = 0
    WORST = -1


@dataclass(frozen=True, slots=True)
class Foresight:
    """Of one crawl."""

    forecasts: Mapping[str, Forecast]
    capacity: Capacity
    slots: int
    calendar: Calendar
    began: float
    """The start of the run, seconds since 1970."""

    def of(self, plan: Plan, sites: Sequence[Site]) -> Plan:
        """The plan, with what is foreseen of each site's end."""
        in_order = _in_order(plan, sites)
        best, likely, worst = (self._outlook(in_order, case) for case in _Case)

        def foreseen(name: str) -> Foreseen:
            ends = best[name].end, likely[name].end, worst[name].end
            return Foreseen(min(ends), ends[1], max(ends))

        named = tuple(replace(site, foreseen=foreseen(site.name)) for site in plan.sites)
        return replace(plan, sites=named)

    def caps(self, plan: Plan, sites: Sequence[Site]) -> dict[str, float | None]:
        """What each server gives on average while its site is crawled in this plan's order."""
        likely = self._outlook(_in_order(plan, sites), _Case.LIKELY)
        return {
            name: self.forecasts[name].cap_between(
                self.calendar, self.began + stretch.start, self.began + stretch.end
            )
            for name, stretch in likely.items()
        }

    def _outlook(self, sites: Sequence[Site], case: _Case) -> dict[str, Stretch]:
        expected = {}
        for site in sites:
            known = self.forecasts[site.name]
            deadline = math.inf if site.deadline is None else float(site.deadline)
            expected[site.name] = Expected(_size(known, case), self._cap(known, case), deadline)
        return outlook(expected, self.capacity, self.slots)

    def _cap(self, known: Forecast, case: _Case) -> Callable[[float], float]:
        def by_the_hour(seconds: float) -> float:
            start = self.began + seconds
            return known.cap_between(self.calendar, start, start + _AROUND, case) or math.inf

        return by_the_hour


def _in_order(plan: Plan, sites: Sequence[Site]) -> list[Site]:
    starts = {planned.name: (planned.start, planned.end) for planned in plan.sites}
    return sorted(sites, key=lambda site: starts[site.name])


def _size(known: Forecast, case: _Case) -> float:
    if known.bytes_range is None or case is _Case.LIKELY:
        return known.bytes
    return known.bytes_range[0 if case is _Case.BEST else 1]
