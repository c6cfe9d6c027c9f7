"""The manager's decisions: events in, commands out; no clock, no I/O.

It updates the planner's state of the crawl (scheduling/replan.py) from what nodes report: bytes
that came, bytes still to come and their range, the speeds of servers, sites that wait for their own
delay. At every event it asks the planner for rates and passes on those that changed
(rate_setter.py). `observe` is quick; `decide` may take some hundredths of a second. A task is
started when its site gets its first rate; a site with rate 0 is parked. Tasks may `arrive` at any
time, also for a site that has ended; a crawl has all of its tasks from the beginning.

Unknown sites are looked at first and join the plan when their look is over (active_sites.py). An
unlimited budget needs no planner: m sites run without limit, in the order of the plan.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from headgate.control.active_sites import ActiveSites, PolicyPort
from headgate.control.forecast import Forecast
from headgate.control.rate_setter import RateSetter
from headgate.control.site_estimate import SiteWatch
from headgate.crawling.ports import SetRates, SetTotal, StopSite
from headgate.crawling.progress import Progress
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.replan import BudgetChanged, CrawlState, SiteEnded, Started, apply_event

__all__ = [
    "LOOK_SECONDS",
    "Command",
    "DropSite",
    "Manager",
    "StartTask",
]

LOOK_SECONDS = 0.5
"""Between two looks at the progress of sites."""
_WORTH_TELLING = 0.01
"""A smaller relative increase of a rate is not passed on."""


class StartTask(msgspec.Struct, frozen=True):
    """Start a task; its first rate follows in the same list of commands."""

    task: Task


class DropSite(msgspec.Struct, frozen=True):
    """Give up a site that was never started."""

    site: str
    reason: str


Command = StartTask | SetRates | SetTotal | StopSite | DropSite
_PlannerEvent = Started | SiteEnded | BudgetChanged


class Manager(msgspec.Struct):
    """``_told`` has the rates that nodes were last told, of every site started."""

    budget: BudgetNow
    sites: ActiveSites
    _to_start: dict[str, Task]
    _to_stop: SiteStops
    _told: dict[str, float] = msgspec.field(default_factory=dict)

    @classmethod
    def from_sites(
        cls,
        sites: Sequence[Site],
        forecasts: Mapping[str, Forecast],
        capacity: Capacity | None,
        slots: int,
        following: PolicyPort | None = None,
    ) -> Manager:
        """``sites`` are in the order of the plan, each to be visited once and whole. ``following``
        sets their rates; None: Headgate's own policy does."""
        budget = capacity or Capacity.constant(1.0)
        state = CrawlState({}, deque(), budget, slots, look_seconds=LOOK_SECONDS, may_park=True)
        watched = {site.name: SiteWatch.from_forecast(site, forecasts[site.name]) for site in sites}
        open_sites = ActiveSites(state, watched, RateSetter(state, watched), following=following)
        open_sites.begin(forecasts, limited=capacity is not None)
        stops = SiteStops(watched)
        stops.add(watched.values())
        return cls(
            BudgetNow(capacity), open_sites, {site.name: Task(site) for site in sites}, stops
        )

    @property
    def done(self) -> bool:
        return not self.sites.watched

    @property
    def rates(self) -> Mapping[str, float]:
        """The present rates of the sites that were started."""
        return self._told

    def begin(self, now: float) -> list[Command]:
        """Start the crawl at once, with rates by order alone. Deadlines are taken into account at
        the first look, while connections open."""
        return self._stops(now) + self._rates_after(Started(now), weigh=False)

    def arrive(self, task: Task, known: Forecast, now: float) -> list[Command]:
        """Add a task of a site that has none at the moment."""
        watched = SiteWatch.from_forecast(task.site, known, now)
        self.sites.arrive(watched, known, now, limited=self.budget.capacity is not None)
        self._to_start[task.name] = task
        self._to_stop.add([watched])
        return self._rates_after(Started(now))

    def decide(self, now: float) -> list[Command]:
        """To be called after `observe`, and at the time given by `next_turn`."""
        stops = self._stops(now)
        return stops if self.pausing(now) else stops + self._rates_after(Started(now))

    def pausing(self, now: float) -> bool:
        """Whether nothing may pass and all nodes know it, so that there is nothing to decide."""
        return self.budget.pausing(now) and not any(self._told.values())

    def next_turn(self, now: float) -> float:
        """When the budget changes or a site is to be stopped; infinity: never."""
        return min(self.budget.next_turn(now), self._to_stop.next())

    def set_budget(self, capacity: Capacity | None, now: float) -> list[Command]:
        """The user changed the budget."""
        return self._rates_after(self.budget.set_capacity(capacity, now))

    def set_line(self, rate: float, now: float, *, held_back: bool) -> list[Command]:
        """The line has another rate for us; the total is enforced where the line is measured."""
        return self._rates_after(self.budget.set_line(rate, now, held_back=held_back))

    def follow(self, order: Sequence[str], now: float) -> list[Command]:
        """Serve sites in the order of a new plan."""
        self.sites.follow(order)
        return self._rates_after(Started(now))

    def ended(self, site: str, now: float, whole: float | None = None) -> list[Command]:
        """``whole``: the site's bytes; None: unknown, because it was stopped early."""
        self._told.pop(site, None)
        self._to_start.pop(site, None)
        return self._rates_after(self.sites.leave(site, now, whole))

    def observe(self, reports: Sequence[Progress], now: float) -> None:
        """Update the estimates of running sites; `decide` says what follows. In a pause nothing
        does; bytes of its first moments are seen after it."""
        if not self.pausing(now):
            part = self.budget.part_of(sum(self._told.values()), now)
            self.sites.observe(reports, self._told, part, now, held_back=self.budget.held_back)

    def _stops(self, now: float) -> list[Command]:
        commands: list[Command] = []
        while (name := self._to_stop.due(now)) is not None:
            if name in self._told:
                commands.append(StopSite(name, "deadline"))
            else:
                commands += [DropSite(name, "deadline"), *self.ended(name, now)]
        return commands

    def _rates_after(self, event: _PlannerEvent, *, weigh: bool = True) -> list[Command]:
        apply_event(self.sites.state, event)
        if self.budget.capacity is None:
            rates = self.sites.setting.unlimited()
        else:
            rates = self.sites.rates(self.budget.rate(event.now), event.now, weigh=weigh)
        parked = dict.fromkeys(self._told.keys() - rates.keys(), 0.0)
        changed = {
            site: rate
            for site, rate in {**parked, **rates}.items()
            if site not in self._told or _differs(rate, self._told[site])
        }
        begun = [site for site in changed if site in self._to_start]
        starts = [StartTask(self._to_start.pop(site)) for site in begun]
        if changed:
            part = self.budget.part_of(sum(self._told.values()), event.now)
            self.sites.record_grants(self._told, part, event.now)
        self._told.update(changed)
        total = self.budget.take_news(event.now)
        totals = [] if total is None else [SetTotal(total)]
        return [*totals, *starts, *([SetRates(changed)] if changed else [])]


def _differs(rate: float, told: float) -> bool:
    """A decrease always counts, so that the sum does not exceed the budget; an increase if it is
    worth it."""
    return rate < told or rate > told * (1 + _WORTH_TELLING)


class BudgetNow(msgspec.Struct):
    """What may pass from now on: the user's budget over time, limited to what the line has for us.

    The plan is made for what the line has; nodes are told the user's total, since whoever
    measures the line limits them further.
    """

    capacity: Capacity | None
    """None: unlimited."""
    line: float = math.inf
    """What the line has for us if others use it too."""
    held_back: bool = False
    """We are held below that at the moment, so servers cannot be measured."""
    announced: float | None = None
    """The total that nodes were last told."""

    def set_capacity(self, capacity: Capacity | None, now: float) -> BudgetChanged:
        """The event for the planner."""
        self.capacity = capacity
        return self._changed(now)

    def set_line(self, rate: float, now: float, *, held_back: bool) -> BudgetChanged:
        """The same."""
        self.line, self.held_back = rate, held_back
        return self._changed(now)

    def rate(self, now: float) -> float:
        """Bytes per second to plan for; only with a limited budget."""
        assert self.capacity is not None
        return min(self.capacity.rate_at(now), self.line)

    def part_of(self, given: float, now: float) -> float:
        """The share of its rate that each site gets if all use theirs, ``given`` in total. With
        loans, rates add up to more than the line, and a server that delivers only this share is
        not slow."""
        return 1.0 if self.capacity is None or not given else min(self.rate(now) / given, 1.0)

    def pausing(self, now: float) -> bool:
        """Whether nothing may pass, and nodes were told so."""
        return self.capacity is not None and self.rate(now) == 0 == self.announced

    def next_turn(self, now: float) -> float:
        """When the budget changes by itself; infinity: never."""
        return math.inf if self.capacity is None else self.capacity.next_turn(now)

    def take_news(self, now: float) -> float | None:
        """The total if nodes do not know it yet; they are taken to know it from now on. To be asked
        at any event, since the budget may have changed in the meantime."""
        total = math.inf if self.capacity is None else self.capacity.rate_at(now)
        if total == self.announced:
            return None
        self.announced = total
        return total

    def _changed(self, now: float) -> BudgetChanged:
        capacity = self.capacity or Capacity.constant(1.0)
        return BudgetChanged(now, capacity.at_most(self.line))


class SiteStops:
    """The sites to be stopped at their deadlines, in order of time.

    ``watched`` has the open sites; sites that ended may still be in the queue.
    """

    def __init__(self, watched: Mapping[str, SiteWatch]) -> None:
        self._watched = watched
        self._line: deque[SiteWatch] = deque()
        """By deadline."""

    def add(self, arrived: Iterable[SiteWatch]) -> None:
        """Add those that stop at their deadlines."""
        stops = [watched for watched in arrived if watched.stops]
        if stops:
            stops += filter(self._is_open, self._line)
            self._line = deque(sorted(stops, key=lambda watched: watched.deadline))

    def next(self) -> float:
        """When the next stop is due; infinity: never."""
        while self._line and not self._is_open(self._line[0]):
            self._line.popleft()
        return self._line[0].deadline if self._line else math.inf

    def due(self, now: float) -> str | None:
        """A site whose deadline has come, each once; None: there is none."""
        return self._line.popleft().site.name if self.next() <= now else None

    def _is_open(self, watched: SiteWatch) -> bool:
        """Not so if another visit of the site has begun since."""
        return self._watched.get(watched.site.name) is watched
