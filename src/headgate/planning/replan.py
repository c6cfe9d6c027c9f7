"""Re-planning while the crawl runs: something happened, so who gets which rate now?

`replan(state, event)` brings the state up to the event and answers with a rate for every site
that runs from here on; a site that appears in the answer for the first time is to be started.
The state is a plain object that its caller keeps; time comes with the events. The rules are those
of the plan (event.py): rates by priority up to the caps, the next site started while budget and
crawlers are left. Once every unfinished site has a crawler, water-filling takes over where caps
bind or the order would miss a deadline, as long as it can keep all deadlines within reach; no
order of priority can promise that.

Cost: O(m) per event while sites wait, O(m^2) under water-filling; no event looks at all sites.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from headgate.planning.capacity import Capacity
from headgate.planning.event import NOTHING_LEFT, event_schedule
from headgate.planning.problem import Problem
from headgate.planning.water_filling import relaxed, water_filling_rates

__all__ = [
    "BudgetChanged",
    "CapChanged",
    "CrawlState",
    "Event",
    "Progressed",
    "SiteArrived",
    "SiteEnded",
    "SiteState",
    "Started",
    "replan",
    "set_rates",
    "take_in",
]

_MOST_SITES_EASED = 30
"""Easing deadlines looks ten times at all sites."""


@dataclass(slots=True)
class SiteState:
    """One unfinished site. Deadlines are seconds from the start of the run."""

    remaining: float
    deadline: float = np.inf
    cap: float = np.inf
    rate: float = 0.0
    """What it was given last; 0 while it waits."""
    conceded: float = 0.0
    """Seconds of lateness that no order found could save (mending.py)."""


@dataclass(slots=True)
class CrawlState:
    """What the planner knows at one moment.

    Every unfinished site is in ``sites`` and in exactly one of ``running`` and ``waiting``; both
    are in order of priority. The rates of the running sites add up to no more than the budget.
    """

    sites: dict[str, SiteState]
    waiting: deque[str]
    capacity: Capacity
    slots: int
    running: list[str] = field(default_factory=list)
    now: float = 0.0

    def check(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        assert len(self.running) <= self.slots
        assert sorted([*self.running, *self.waiting]) == sorted(self.sites)
        assert all(self.sites[name].rate == 0 for name in self.waiting)
        budget = self.capacity.rate_at(self.now)
        assert sum(site.rate for site in self.sites.values()) <= budget * (1 + 1e-9)
        assert all(site.rate <= site.cap * (1 + 1e-9) for site in self.sites.values())


@dataclass(frozen=True, slots=True)
class Started:
    """The crawl begins, or the budget's timetable turned."""

    now: float


@dataclass(frozen=True, slots=True)
class SiteEnded:
    now: float
    site: str


@dataclass(frozen=True, slots=True)
class Progressed:
    """Measured: so many bytes remain. Corrects what rates and time predicted."""

    now: float
    remaining: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CapChanged:
    now: float
    site: str
    cap: float


@dataclass(frozen=True, slots=True)
class BudgetChanged:
    now: float
    capacity: Capacity
    """From the start of the run on, as before."""


@dataclass(frozen=True, slots=True)
class SiteArrived:
    """A new site; it waits before the first one that has more slack."""

    now: float
    name: str
    site: SiteState


Event: TypeAlias = Started | SiteEnded | Progressed | CapChanged | BudgetChanged | SiteArrived


def replan(state: CrawlState, event: Event) -> dict[str, float]:
    """Bring the state up to the event; the rates that hold from now on, by site.

    >>> sites = {"a": SiteState(600.0, cap=60.0), "b": SiteState(400.0)}
    >>> state = CrawlState(sites, deque(["a", "b"]), Capacity.constant(100.0), slots=5)
    >>> replan(state, Started(0.0))
    {'a': 60.0, 'b': 40.0}
    >>> replan(state, BudgetChanged(5.0, Capacity.constant(50.0)))
    {'a': 50.0, 'b': 0.0}
    """
    take_in(state, event)
    return set_rates(state)


def take_in(state: CrawlState, event: Event) -> None:
    """Bring the state up to the event; the rates are still those before it."""
    _advance(state, event.now)
    _apply(state, event)


def set_rates(state: CrawlState) -> dict[str, float]:
    """The rates that hold from now on, by site; sites are started where there is room."""
    if not (_needs_guarding(state) and _guard_deadlines(state)):
        _serve_in_order(state)
    return {name: state.sites[name].rate for name in state.running}


def _advance(state: CrawlState, now: float) -> None:
    elapsed = max(now - state.now, 0.0)
    for name in state.running:
        site = state.sites[name]
        site.remaining = max(site.remaining - site.rate * elapsed, 0.0)
    state.now = max(now, state.now)


def _apply(state: CrawlState, event: Event) -> None:
    match event:
        case SiteEnded(site=name):
            del state.sites[name]
            if name in state.running:
                state.running.remove(name)
            else:
                state.waiting.remove(name)
        case Progressed(remaining=remaining):
            for name, bytes_ in remaining.items():
                state.sites[name].remaining = max(bytes_, 0.0)
        case CapChanged(site=name, cap=cap):
            state.sites[name].cap = cap
        case BudgetChanged(capacity=capacity):
            state.capacity = capacity
        case SiteArrived(name=name, site=site):
            _enqueue(state, name, site)
        case Started():
            pass


def _enqueue(state: CrawlState, name: str, site: SiteState) -> None:
    def slack(of: SiteState) -> float:
        return of.deadline - of.remaining / min(of.cap, state.capacity.peak)

    mine = slack(site)
    place = next(
        (k for k, other in enumerate(state.waiting) if slack(state.sites[other]) > mine),
        len(state.waiting),
    )
    state.sites[name] = site
    state.waiting.insert(place, name)


def _serve_in_order(state: CrawlState) -> None:
    left = budget = state.capacity.rate_at(state.now)
    for name in state.running:
        left -= _grant(state.sites[name], left)
    while left > NOTHING_LEFT * budget and state.waiting and len(state.running) < state.slots:
        name = state.waiting.popleft()
        state.running.append(name)
        left -= _grant(state.sites[name], left)


def _grant(site: SiteState, left: float) -> float:
    site.rate = max(min(site.cap, left), 0.0)
    return site.rate


def _needs_guarding(state: CrawlState) -> bool:
    """Whether all have crawlers and the order alone may miss a deadline."""
    if not 0 < len(state.sites) <= state.slots:
        return False
    if not any(site.deadline < np.inf for site in state.sites.values()):
        return False
    if any(site.cap < state.capacity.peak for site in state.sites.values()):
        return True
    order = [state.sites[name] for name in (*state.running, *state.waiting)]
    capacity = state.capacity.from_time(state.now)
    ends = state.now + capacity.time_of(np.cumsum([site.remaining for site in order]))
    return bool((ends > [site.deadline for site in order]).any())


def _guard_deadlines(state: CrawlState) -> bool:
    """Rates that keep all deadlines within reach, or miss them by the least part of what serving
    in order would; False when there are none."""
    names = [*state.running, *state.waiting]
    sites = [state.sites[name] for name in names]
    # A site that goes on although nothing should be left of it has no deadline to guard any more,
    # but goes first where budget is not reserved: it may need just one moment.
    spent = np.array([site.remaining <= NOTHING_LEFT for site in sites])
    problem = Problem.of(
        [max(site.remaining, NOTHING_LEFT) for site in sites],
        np.where(spent, np.inf, [site.deadline - state.now for site in sites]),
        budget=state.capacity.from_time(state.now),
        caps=[site.cap for site in sites],
        slots=state.slots,
    )
    urgency = np.argsort(~spent, kind="stable")
    rates = water_filling_rates(problem, urgency)
    if rates is None:
        eased = _eased(problem)
        rates = None if eased is None else water_filling_rates(eased, urgency)
    if rates is None:
        return False
    state.running, state.waiting = names, deque()
    for site, rate in zip(sites, rates.tolist(), strict=True):
        site.rate = rate
    return True


def _eased(problem: Problem) -> Problem | None:
    """As the plan does (best_schedule.py): deadlines later by as little as can be."""
    if len(problem) > _MOST_SITES_EASED:
        return None
    return relaxed(problem, event_schedule(problem, range(len(problem))).lateness(problem))
