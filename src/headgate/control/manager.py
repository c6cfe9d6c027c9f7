"""The manager's decisions: events in, commands out; no clock, no I/O.

It keeps the planner's state of the crawl (planning/replan.py) true to what nodes report: bytes that
came, what is still to come and how sure that is, servers slower or faster than thought, sites that
wait for their own delay. At every event it asks the planner for rates and passes on those that
changed (rate_setting.py). To `look` is quick; to `decide` may take some hundredths of a second. A
task is started when its site gets its first rate; a site that is given 0 is parked. Tasks may
`arrive` at any time, also of a site that has ended; a crawl has all of its tasks from the
beginning.

Sites nobody knows are looked at first (first_looks.py); they join the plan when their look is over.
An unlimited budget needs no planner: m sites run without limit, in the order of the plan.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.control.first_looks import FirstLooks, beside_looks
from headgate.control.forecast import Forecast, Source
from headgate.control.rate_setting import RateSetting
from headgate.control.site_stops import SiteStops
from headgate.control.site_watch import SiteWatch
from headgate.crawling.progress import Progress
from headgate.model.site import Site
from headgate.model.size_range import SizeRange
from headgate.model.task import Task
from headgate.planning.capacity import Capacity
from headgate.planning.replan import (
    BudgetChanged,
    CrawlState,
    SiteArrived,
    SiteEnded,
    Started,
    take_in,
)

__all__ = [
    "LOOK_SECONDS",
    "Command",
    "DropSite",
    "Manager",
    "SetRates",
    "SetTotal",
    "StartTask",
    "StopSite",
]

LOOK_SECONDS = 0.5
"""Between two looks at how sites fare."""
_WORTH_TELLING = 0.01
"""Relative gain of a rate below which nobody is told."""
_LOOKS_PART = 0.5
"""Of the budget: for first looks while sites that are known are crawled."""


@dataclass(frozen=True, slots=True)
class StartTask:
    """Its first rate comes with it."""

    task: Task


@dataclass(frozen=True, slots=True)
class SetRates:
    """Bytes per second from now on; 0 parks a site."""

    rates: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StopSite:
    site: str
    reason: str


@dataclass(frozen=True, slots=True)
class DropSite:
    """A site that was never started will not be."""

    site: str
    reason: str


@dataclass(frozen=True, slots=True)
class SetTotal:
    """The budget of now, bytes per second; infinity: none."""

    rate: float


Command = StartTask | SetRates | SetTotal | StopSite | DropSite
_PlannerEvent = Started | SiteEnded | BudgetChanged


@dataclass(slots=True)
class Manager:
    """``_state`` holds unfinished sites that are not being looked at; ``_told`` the rates that
    nodes were given last, of every site started."""

    capacity: Capacity | None
    """None: unlimited."""
    slots: int
    line: float = math.inf
    """What the line has for us where others use it too; the plan is made for no more."""
    held_back: bool = False
    """At this moment it has even less: how fast a server is cannot be told now."""
    looks: FirstLooks = field(default_factory=FirstLooks)
    _state: CrawlState = field(init=False)
    _setting: RateSetting = field(init=False)
    _watched: dict[str, SiteWatch] = field(default_factory=dict)
    _to_start: dict[str, Task] = field(default_factory=dict)
    _to_stop: SiteStops = field(init=False)
    _sharing: int = 1
    """Sites that can be crawled at once."""
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
        """``sites`` in the order of the plan, each to be visited once and whole."""
        manager = cls(capacity, slots)
        manager._to_start = {site.name: Task(site) for site in sites}
        manager._watched = {site.name: SiteWatch.of(site, forecasts[site.name]) for site in sites}
        budget = capacity or Capacity.constant(1.0)
        manager._state = CrawlState(
            {}, deque(), budget, slots, look_seconds=LOOK_SECONDS, may_park=True
        )
        manager._sharing = max(min(slots, len(sites)), 1)
        manager._to_stop = SiteStops(manager._watched)
        manager._to_stop.note(manager._watched.values())
        manager._setting = RateSetting(manager._state, manager._watched)
        looks = manager._has_deadlines
        for name, watched in manager._watched.items():
            if looks and _is_unknown(watched, forecasts[name]):
                manager.looks.want(name, 0.0, watched.deadline, stops=watched.stops)
            else:
                manager._state.sites[name] = watched.state(manager._equal_share)
                manager._state.waiting.append(name)
        return manager

    @property
    def done(self) -> bool:
        return not self._watched

    @property
    def rates(self) -> Mapping[str, float]:
        """What the sites that were started have now."""
        return self._told

    @property
    def loans(self) -> Mapping[str, float]:
        """What sites have beyond what the planner gave them, from what others leave of theirs."""
        return self._setting.loans

    @property
    def ends(self) -> Mapping[str, float]:
        """When sites will end, by the last decision; of those that it cannot tell, nothing."""
        return self._setting.ends

    @property
    def left(self) -> Mapping[str, SizeRange]:
        """What is still to come of each unfinished site; may be asked while a decision is made."""
        return {name: watched.left for name, watched in list(self._watched.items())}

    def bytes_left(self, site: str) -> float:
        """What is likely still to come of a site; nothing of one that has ended."""
        watched = self._watched.get(site)
        return 0.0 if watched is None else watched.left.likely

    @property
    def caps(self) -> Mapping[str, float]:
        """Bytes per second that each unfinished site's server is thought to give."""
        return {name: watched.cap for name, watched in list(self._watched.items())}

    def begin(self, now: float) -> list[Command]:
        """The crawl begins: rates by the order alone, at once. What they mean for deadlines is
        weighed up at the first look, while connections open."""
        return self._stops(now) + self._rates_after(Started(now), weigh=False)

    def arrive(self, task: Task, known: Forecast, now: float) -> list[Command]:
        """A task of a site that has none, or none any more."""
        name = task.name
        assert name not in self._watched, f"{name} has a task"
        self._to_start[name] = task
        watched = self._watched[name] = SiteWatch.of(task.site, known, now)
        self._sharing = max(self._sharing, min(self.slots, len(self._watched)))
        self._to_stop.note([watched])
        if self._has_deadlines and _is_unknown(watched, known):
            self.looks.want(name, now, watched.deadline, stops=watched.stops)
        else:
            self._join(name, now)
        return self._rates_after(Started(now))

    def decide(self, now: float) -> list[Command]:
        """Sites were looked at, or a moment that `next_turn` told of has come."""
        stops = self._stops(now)
        return stops if self.pausing(now) else stops + self._rates_after(Started(now))

    def pausing(self, now: float) -> bool:
        """Whether nothing may pass, and all have been told: then there is nothing to decide."""
        nothing = self.capacity is not None and self._budget(now) == 0 == self._told_total
        return nothing and not any(self._told.values())

    def next_turn(self, now: float) -> float:
        """When the budget changes or a site's time is up; infinity: never."""
        turn = math.inf if self.capacity is None else self.capacity.next_turn(now)
        return min(turn, self._to_stop.next())

    def set_budget(self, capacity: Capacity | None, now: float) -> list[Command]:
        """The user changed the budget."""
        self.capacity = capacity
        return self._rates_after(self._budget_changed(now))

    def set_line(self, rate: float, now: float, *, held_back: bool) -> list[Command]:
        """The line has another rate for us; the total of the moment is held by who measures it."""
        self.line, self.held_back = rate, held_back
        return self._rates_after(self._budget_changed(now))

    def follow(self, order: Sequence[str], now: float) -> list[Command]:
        """A new plan was made: serve in its order from now on."""
        places = {name: place for place, name in enumerate(order)}

        def place(name: str) -> int:
            return places.get(name, len(places))

        self._state.running.sort(key=place)
        self._state.waiting = deque(sorted(self._state.waiting, key=place))
        return self._rates_after(Started(now))

    def ended(self, site: str, now: float) -> list[Command]:
        self._told.pop(site, None)
        self._watched.pop(site)
        self._to_start.pop(site, None)
        if site in self._state.sites:
            return self._rates_after(SiteEnded(now, site))
        self.looks.end(site)
        return self._rates_after(Started(now))

    def look(self, reports: Sequence[Progress], now: float) -> None:
        """Correct what is thought of the sites that run; `decide` says what follows. In a pause
        nothing does, and what still comes in its first moments is seen after it."""
        if self.pausing(now):
            return
        part = self._part_of_rates(now)
        for report in reports:
            watched = self._watched.get(report.site)
            if watched is None or report.site not in self._told:
                continue
            watched.look(report)
            watched.look_at_speed(
                report,
                self._told[report.site] * part,
                now,
                first_look=report.site in self.looks.under_way,
                held_back=self.held_back,
                lent=report.site in self._setting.loans,
            )
            if self.looks.look(report, now, watched.look_bytes(report)):
                watched.speed.conclude()
                self._join(report.site, now)
        take_in(self._state, Started(now))
        self._setting.refresh(reports, self._told, self._equal_share)

    @property
    def _has_deadlines(self) -> bool:
        """Whether anything depends on how well sites are known."""
        return self.capacity is not None and any(
            math.isfinite(watched.deadline) for watched in self._watched.values()
        )

    @property
    def _equal_share(self) -> float:
        return self._state.capacity.peak / self._sharing

    def _join(self, name: str, now: float) -> None:
        """A site that was looked at takes its place in the plan."""
        self.looks.end(name)
        state = self._watched[name].state(self._equal_share)
        take_in(self._state, SiteArrived(now, name, state))

    def _stops(self, now: float) -> list[Command]:
        commands: list[Command] = []
        while (name := self._to_stop.due(now)) is not None:
            if name in self._told:
                commands.append(StopSite(name, "deadline"))
            else:
                commands += [DropSite(name, "deadline"), *self.ended(name, now)]
        return commands

    def _total(self, now: float) -> Iterator[SetTotal]:
        """At any event, since a turn may have passed while others were waited for."""
        total = math.inf if self.capacity is None else self.capacity.rate_at(now)
        if total != self._told_total:
            self._told_total = total
            yield SetTotal(total)

    def _budget_changed(self, now: float) -> BudgetChanged:
        capacity = self.capacity or Capacity.constant(1.0)
        return BudgetChanged(now, capacity.at_most(self.line))

    def _rates_after(self, event: _PlannerEvent, *, weigh: bool = True) -> list[Command]:
        take_in(self._state, event)
        if self.capacity is None:
            rates = self._setting.unlimited()
        else:
            rates = self._limited(event.now, weigh=weigh)
        parked = dict.fromkeys(self._told.keys() - rates.keys(), 0.0)
        changed = {
            site: rate
            for site, rate in {**parked, **rates}.items()
            if site not in self._told or _differs(rate, self._told[site])
        }
        begun = [site for site in changed if site in self._to_start]
        starts = [StartTask(self._to_start.pop(site)) for site in begun]
        if changed:
            self._note_grants(event.now)
        self._told.update(changed)
        return [*self._total(event.now), *starts, *([SetRates(changed)] if changed else [])]

    def _note_grants(self, now: float) -> None:
        part = self._part_of_rates(now)
        for site, rate in self._told.items():
            self._watched[site].note_grant(rate * part, now)

    def _part_of_rates(self, now: float) -> float:
        """What sites get of their rates if all want theirs: where some of them are lent, rates add
        up to more than the line, and a server is not slow that gives no more than this."""
        given = sum(self._told.values())
        return 1.0 if self.capacity is None or not given else min(self._budget(now) / given, 1.0)

    def _limited(self, now: float, *, weigh: bool) -> dict[str, float]:
        budget = self._budget(now)
        rates = self._setting.rates(budget, weigh=weigh)
        if self.looks.over:
            return self._setting.with_loans(rates, budget)
        return self._with_looks(rates, now)

    def _with_looks(self, rates: dict[str, float], now: float) -> dict[str, float]:
        """First looks share a part of the budget while others run, all of it while none does."""
        self._setting.loans = {}
        busy = sum(rate > 0 and not self._state.sites[site].idle for site, rate in rates.items())
        self.looks.begin(max(self.slots - busy, 1), now)
        if not self.looks.under_way:
            for name in self.looks.skip():
                self._join(name, now)
            return rates
        part = _LOOKS_PART if busy else 1.0
        each = part * self._budget(now) / len(self.looks.under_way)
        idle = [site for site in rates if self._state.sites[site].idle]
        shared = beside_looks(rates, idle, (1 - part) * self._budget(now))
        looks = {site: min(each, self._watched[site].speed.most) for site in self.looks.under_way}
        return shared | looks

    def _budget(self, now: float) -> float:
        assert self.capacity is not None
        return min(self.capacity.rate_at(now), self.line)


def _is_unknown(watched: SiteWatch, known: Forecast) -> bool:
    """Whether a deadline may depend on what is not known of a site."""
    return known.source is Source.GUESS or (known.cap is None and math.isfinite(watched.deadline))


def _differs(rate: float, told: float) -> bool:
    """Less is always told, lest the sum pass the budget; more when it is worth it."""
    return rate < told or rate > told * (1 + _WORTH_TELLING)
