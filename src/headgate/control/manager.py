"""The manager's decisions: events in, commands out; no clock, no I/O.

It keeps the planner's state of the crawl (planning/replan.py) true to what nodes report: bytes
that came, URLs still to do, servers slower or faster than thought. At every event it asks the
planner for rates and passes on those that changed. A site is started by the first rate it gets.

An unlimited budget needs no planner: m sites run without limit, in the order of the plan.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.control.forecast import Forecast, remaining_bytes
from headgate.control.speed_watch import SpeedWatch
from headgate.crawling.progress import Progress
from headgate.model.site import OnDeadline, Site
from headgate.planning.capacity import Capacity
from headgate.planning.mending import mend
from headgate.planning.replan import (
    BudgetChanged,
    CrawlState,
    Progressed,
    SiteEnded,
    SiteState,
    Started,
    set_rates,
    take_in,
)

__all__ = ["Command", "Manager", "SetRates", "SetTotal", "StopSite"]

_WORTH_TELLING = 0.01
"""Relative gain of a rate below which nobody is told."""
_FIRST_LOOK_SECONDS = 2.0
"""A site's speed says nothing while its connections open."""


@dataclass(frozen=True, slots=True)
class SetRates:
    """Bytes per second from now on; a site not yet running is to be started."""

    rates: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StopSite:
    site: str
    reason: str


@dataclass(frozen=True, slots=True)
class SetTotal:
    """The budget of now, bytes per second; infinity: none."""

    rate: float


Command = SetRates | SetTotal | StopSite
_PlannerEvent = Started | SiteEnded | Progressed | BudgetChanged


@dataclass(slots=True)
class _Watched:
    site: Site
    expected: float
    speed: SpeedWatch
    started: float | None = None
    wire_bytes: int = 0
    looked: float = 0.0


@dataclass(slots=True)
class Manager:
    """``state`` holds unfinished sites only; ``told`` the rates nodes were given last."""

    capacity: Capacity | None
    """None: unlimited."""
    slots: int
    line: float = math.inf
    """What the line has for us where others use it too; the plan is made for no more."""
    held_back: bool = False
    """At this moment it has even less: how fast a server is cannot be told now."""
    _state: CrawlState = field(init=False)
    _watched: dict[str, _Watched] = field(default_factory=dict)
    _told: dict[str, float] = field(default_factory=dict)
    _told_total: float | None = None

    @classmethod
    def of(
        cls,
        sites: Sequence[Site],
        forecasts: Mapping[str, Forecast],
        capacity: Capacity | None,
        slots: int,
    ) -> Manager:
        """``sites`` in the order of the plan."""
        manager = cls(capacity, slots)
        budget = capacity or Capacity.constant(1.0)
        fair = budget.peak / max(min(slots, len(sites)), 1)
        states = {}
        for site in sites:
            known = forecasts[site.name]
            most = site.max_rate or math.inf
            cap = min(known.cap or fair, most)
            manager._watched[site.name] = _Watched(site, known.bytes, SpeedWatch(cap, most))
            deadline = math.inf if site.deadline is None else float(site.deadline)
            states[site.name] = SiteState(max(known.bytes, 1.0), deadline, cap)
        order = deque(site.name for site in sites)
        manager._state = CrawlState(states, order, budget, slots)
        return manager

    @property
    def done(self) -> bool:
        return not self._state.sites

    @property
    def rates(self) -> Mapping[str, float]:
        """What running sites were given last."""
        return self._told

    def begin(self, now: float) -> list[Command]:
        """The crawl begins, or a turn of the timetable has come."""
        return self._rates_after(Started(now))

    def next_turn(self, now: float) -> float:
        """When the budget changes by itself; infinity: never."""
        return math.inf if self.capacity is None else self.capacity.next_turn(now)

    def set_budget(self, capacity: Capacity | None, now: float) -> list[Command]:
        """The user changed the budget."""
        self.capacity = capacity
        return self._rates_after(self._budget_changed(now))

    def set_line(self, rate: float, now: float, *, held_back: bool) -> list[Command]:
        """The line has another rate for us; the total of the moment is held by who measures it."""
        self.line, self.held_back = rate, held_back
        return self._rates_after(self._budget_changed(now))

    def ended(self, site: str, now: float) -> list[Command]:
        self._told.pop(site, None)
        self._watched.pop(site)
        return self._rates_after(SiteEnded(now, site))

    def progressed(self, reports: Sequence[Progress], now: float) -> list[Command]:
        """Correct what is thought of the running sites, and stop those whose time is up."""
        commands: list[Command] = []
        remaining: dict[str, float] = {}
        for report in reports:
            watched = self._watched.get(report.site)
            if watched is None or report.site not in self._told:
                continue
            remaining[report.site] = remaining_bytes(
                watched.expected, report.arrived_bytes, report.to_do, report.mean_wire_bytes
            )
            self._look_at_speed(watched, report, now)
            if _time_is_up(watched.site, now):
                commands.append(StopSite(report.site, "deadline"))
        return commands + self._rates_after(Progressed(now, remaining))

    def _total(self, now: float) -> Iterator[SetTotal]:
        """At any event, since a turn may have passed while others were waited for."""
        total = math.inf if self.capacity is None else self.capacity.rate_at(now)
        if total != self._told_total:
            self._told_total = total
            yield SetTotal(total)

    def _budget_changed(self, now: float) -> BudgetChanged:
        capacity = self.capacity or Capacity.constant(1.0)
        return BudgetChanged(now, capacity.at_most(self.line))

    def _look_at_speed(self, watched: _Watched, report: Progress, now: float) -> None:
        granted = self._told[report.site]
        since = now - watched.looked
        if watched.started is None:
            watched.started = now
        elif now - watched.started >= _FIRST_LOOK_SECONDS and since > 0 and not self.held_back:
            came = (report.arrived_bytes - watched.wire_bytes) / since
            cap = watched.speed.look(came, granted, busy=report.to_do > 0)
            self._state.sites[report.site].cap = cap
        watched.wire_bytes, watched.looked = report.arrived_bytes, now

    def _rates_after(self, event: _PlannerEvent) -> list[Command]:
        if self.capacity is None:
            rates = self._unlimited(event)
        else:
            take_in(self._state, event)
            mend(self._state)
            rates = self._with_the_rest(set_rates(self._state), event.now)
        changed = {
            site: rate
            for site, rate in rates.items()
            if site not in self._told or _differs(rate, self._told[site])
        }
        self._told.update(changed)
        return [*self._total(event.now), *([SetRates(changed)] if changed else [])]

    def _with_the_rest(self, rates: dict[str, float], now: float) -> dict[str, float]:
        """Caps are mostly estimates. What they leave of the budget is offered to those who run, up
        to the user's own bounds: a server faster than thought is found out, and none is wasted."""
        assert self.capacity is not None
        rest = min(self.capacity.rate_at(now), self.line) - sum(rates.values())
        served = [site for site, rate in rates.items() if rate > 0]
        if not served or rest <= 0:
            return rates
        each = rest / len(served)
        return rates | {
            site: min(rates[site] + each, self._watched[site].speed.most) for site in served
        }

    def _unlimited(self, event: _PlannerEvent) -> dict[str, float]:
        take_in(self._state, event)
        while self._state.waiting and len(self._state.running) < self.slots:
            self._state.running.append(self._state.waiting.popleft())
        return dict.fromkeys(self._state.running, math.inf)


def _time_is_up(site: Site, now: float) -> bool:
    return (
        site.on_deadline is OnDeadline.STOP and site.deadline is not None and now >= site.deadline
    )


def _differs(rate: float, told: float) -> bool:
    """Less is always told, lest the sum pass the budget; more when it is worth it."""
    return rate < told or rate > told * (1 + _WORTH_TELLING)
