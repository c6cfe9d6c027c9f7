"""Re-planning while the crawl runs: new rates after each event.

`replan(state, event)` updates the state and returns a rate for every site that runs from here on; a
site that appears for the first time is to be started. The state is a plain object that its caller
keeps; time comes with the events. The rules are those of the plan (event_schedule.py): rates by
priority up to the caps, the next site started while budget and crawlers are left. Once every
unfinished site has a crawler, deadlines that the order alone would miss, or would miss if things go
a little worse than expected, are guarded (deadline_guard.py).

A site that is idle (it waits for its own Crawl-delay, say) keeps neither bytes nor a crawler from
the others, a site behind a very slow server no crawler.

Cost: O(m) per event while sites wait, O(m^2) where deadlines are guarded; no event looks at all
sites. Modules that use arrays are imported only if a deadline needs them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from headgate.scheduling.capacity import NOTHING_LEFT, Capacity
from headgate.scheduling.reserve import NO_RESERVE, WHOLE_RESERVE, Reserve

if TYPE_CHECKING:
    from headgate.scheduling.arrays import FloatArray
    from headgate.scheduling.problem import Problem

__all__ = [
    "BudgetChanged",
    "CapChanged",
    "CrawlState",
    "Event",
    "OpenSite",
    "Progressed",
    "SiteArrived",
    "SiteEnded",
    "Started",
    "apply_event",
    "begin",
    "deadlines_ahead",
    "open_next",
    "replan",
    "serve_in_order",
    "set_rates",
    "sites_ahead",
    "warm_up",
]

_BUSY_PART = 0.85
"""Part of the time to its deadline in which a site is served, if its server may be slow."""
_HOLD_SECONDS = 2.0
"""How long rates that guard deadlines hold while they do: each change costs running sites a little
of the line, and twice a second that is more than a small slack."""
_ROUNDING = 1e-6
_MOST_GUARDED = 60
"""Most sites: more take longer than crawling a small one, and the line would idle."""
_SMALL_AT_ONCE = 8
_SITES_AHEAD = 40
_WARM_UP_SECONDS = 1.0
"""So long before the last running site ends, the next one opens its connections ..."""
_WARM_UP_PART = 0.1
"""... with this part of the budget."""


class OpenSite(msgspec.Struct):
    """One unfinished site. Deadlines are seconds from the start of the run."""

    remaining: float
    """Most likely bytes left."""
    deadline: float = math.inf
    cap: float = math.inf
    rate: float = 0.0
    """Its last rate; 0 while it waits."""
    conceded: float = 0.0
    """Accepted seconds of lateness, which no order found could avoid (order_repair.py)."""
    least: float = math.inf
    most: float = 0.0
    """Bytes left if it is smaller or larger than expected; on the other side of ``remaining``: it
    is not."""
    least_cap: float = math.inf
    """Speed of its server if it is slower than expected; above ``cap``: the cap is certain."""
    reserve: float = 0.0
    """Seconds before its deadline at which it should be done."""
    stops: bool = False
    """It ends at its deadline, whatever is left."""
    idle: bool = False
    """It runs and needs nothing at the moment: its rate is not taken from others."""
    slow: bool = False
    """It runs and takes next to nothing: it does not occupy a crawler."""

    def work(self, caution: float) -> float:
        """Bytes left: likely at 0, at most at 1, at least at -1."""
        extreme = max(self.most, self.remaining) if caution > 0 else min(self.least, self.remaining)
        work = self.remaining + abs(caution) * (extreme - self.remaining)
        return max(work, NOTHING_LEFT)


@dataclass(slots=True)
class CrawlState:
    """What the planner knows at one time.

    Every unfinished site is in ``sites`` and in exactly one of ``running`` and ``waiting``; both
    are in order of priority. The rates of the running sites that are not idle add up to no more
    than the budget, and no more run that are neither idle nor slow than there are slots.
    """

    sites: dict[str, OpenSite]
    waiting: deque[str]
    capacity: Capacity
    slots: int
    running: list[str] = field(default_factory=list)
    now: float = 0.0
    look_seconds: float = math.inf
    """Longest time until rates are set again."""
    may_park: bool = False
    """Whether a running site may be parked, to let another go first."""
    hold_until: float = -math.inf
    """Until then, rates that guard deadlines hold if they still do."""
    _ahead: tuple[Capacity, float, Capacity] | None = field(default=None, repr=False, compare=False)
    """Cache: a budget, a time, and the budget from there on; several problems begin at one time."""

    def check(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        assert self.free_crawlers >= 0
        busy = [self.sites[name] for name in self.running if not self.sites[name].idle]
        assert sorted([*self.running, *self.waiting]) == sorted(self.sites)
        assert all(self.sites[name].rate == 0 for name in self.waiting)
        budget = self.capacity.rate_at(self.now)
        assert sum(site.rate for site in busy) <= budget * (1 + 1e-9)
        assert all(site.rate <= site.cap * (1 + 1e-9) for site in self.sites.values())

    def follow(self, order: Sequence[str]) -> None:
        """Serve sites in this order from now on, and those it does not name after them."""
        places = {name: place for place, name in enumerate(order)}

        def place(name: str) -> int:
            return places.get(name, len(places))

        self.running.sort(key=place)
        self.waiting = deque(sorted(self.waiting, key=place))

    @property
    def free_crawlers(self) -> int:
        running = (self.sites[name] for name in self.running)
        return self.slots - sum(not (site.idle or site.slow) for site in running)

    @property
    def can_guard(self) -> bool:
        """Whether every unfinished site has a crawler, so that rates can be set for all of them."""
        return len(self.waiting) <= self.free_crawlers

    def problem(self, names: Sequence[str], reserve: Reserve = NO_RESERVE) -> Problem:
        """These sites as a problem that begins now.

        With a reserve, sites are taken as large and servers as slow as they may be, and deadlines
        that lie ahead come earlier by the reserve of each site."""
        from headgate.scheduling.problem import Problem

        sites = [self.sites[name] for name in names]
        deadlines = [self._aim(site, reserve) - self.now for site in sites]
        peak = self.capacity.peak
        return Problem.from_arrays(
            [site.work(reserve.size) for site in sites],
            deadlines,
            budget=self._budget_ahead(),
            caps=[self._cap(site, reserve, peak) for site in sites],
            stops=[site.stops for site in sites],
            slots=self.slots + sum(site.slow for site in sites),
        )

    def _budget_ahead(self) -> Capacity:
        known = self._ahead
        if known is None or known[0] is not self.capacity or known[1] != self.now:
            ahead = self.capacity.from_time(self.now)
            known = self._ahead = (self.capacity, self.now, ahead)
        return known[2]

    def is_tight(self, names: Sequence[str]) -> bool:
        """Whether these sites can all be on time, but not with the whole reserve."""
        from headgate.scheduling.water_filling import deadlines_can_be_met

        return deadlines_can_be_met(self.problem(names)) and not deadlines_can_be_met(
            self.problem(names, WHOLE_RESERVE)
        )

    def _cap(self, site: OpenSite, reserve: Reserve, peak: float) -> float:
        """The assumed cap is not lower than what the deadline needs if the site is served from now
        on."""
        if reserve.speed == 0 or site.least_cap >= site.cap:
            return site.cap
        cap = min(site.cap, peak)
        ahead = self._aim(site, reserve) - self.now
        needed = site.work(reserve.size) / (_BUSY_PART * ahead) if ahead > 0 else 0.0
        slowness: float = min(max(site.least_cap, needed) / cap, 1.0)
        return cap * math.pow(slowness, reserve.speed)

    def _aim(self, site: OpenSite, reserve: Reserve) -> float:
        ahead = site.deadline - self.now
        if not 0 < ahead < math.inf:
            return site.deadline
        return site.deadline - reserve.time * min(site.reserve, ahead / 2.0)


class Started(msgspec.Struct, frozen=True):
    """The crawl begins, or the budget's timetable turned."""

    now: float


class SiteEnded(msgspec.Struct, frozen=True):
    now: float
    site: str


class Progressed(msgspec.Struct, frozen=True):
    """A measurement: so many bytes are left. Corrects the prediction from rates and time."""

    now: float
    remaining: Mapping[str, float]


class CapChanged(msgspec.Struct, frozen=True):
    now: float
    site: str
    cap: float


class BudgetChanged(msgspec.Struct, frozen=True):
    now: float
    capacity: Capacity
    """From the start of the run on, as before."""


class SiteArrived(msgspec.Struct, frozen=True):
    """A new site; it waits before the first one that has more slack."""

    now: float
    name: str
    site: OpenSite


Event: TypeAlias = Started | SiteEnded | Progressed | CapChanged | BudgetChanged | SiteArrived


def replan(state: CrawlState, event: Event) -> dict[str, float]:
    """Update the state to the event; returns the rates from now on, by site.

    >>> sites = {"a": OpenSite(600.0, cap=60.0), "b": OpenSite(400.0)}
    >>> state = CrawlState(sites, deque(["a", "b"]), Capacity.constant(100.0), slots=5)
    >>> replan(state, Started(0.0))
    {'a': 60.0, 'b': 40.0}
    >>> replan(state, BudgetChanged(5.0, Capacity.constant(50.0)))
    {'a': 50.0, 'b': 0.0}
    """
    apply_event(state, event)
    return set_rates(state)


def apply_event(state: CrawlState, event: Event) -> None:
    """Update the state to the event; rates are not changed."""
    _advance(state, event.now)
    _apply(state, event)


def set_rates(state: CrawlState) -> dict[str, float]:
    """Set and return the rates from now on, by site; starts sites if there is room."""
    if not _guard_deadlines(state):
        serve_in_order(state)
    return {name: state.sites[name].rate for name in state.running}


def warm_up(state: CrawlState) -> None:
    """If all running sites end soon, let the next site open its connections meanwhile: the line
    would idle otherwise."""
    busy = [site for name in state.running if not (site := state.sites[name]).idle]
    given = sum(site.rate for site in busy)
    room = _WARM_UP_PART * state.capacity.rate_at(state.now)
    if not busy or not state.waiting or state.free_crawlers <= 0 or given <= room:
        return
    if any(site.remaining > site.rate * _WARM_UP_SECONDS for site in busy):
        return
    for site in busy:
        site.rate *= 1 - room / given
    name = state.waiting.popleft()
    state.running.append(name)
    _grant(state.sites[name], room)


def sites_ahead(state: CrawlState) -> list[str]:
    """Running sites that are not idle, and the next that will run."""
    busy = [name for name in state.running if not state.sites[name].idle]
    return [*busy, *islice(state.waiting, _SITES_AHEAD)]


def deadlines_ahead(state: CrawlState) -> bool:
    """Whether any of them has a deadline; otherwise no order is better than another."""
    return any(state.sites[name].deadline < math.inf for name in sites_ahead(state))


def open_next(state: CrawlState) -> None:
    """Start the next site, without a rate of its own, if a crawler is free."""
    begin(state, list(state.waiting)[:1])


def begin(state: CrawlState, names: Sequence[str]) -> None:
    """Start these waiting sites, without rates of their own, if crawlers are free."""
    for name in names:
        if state.free_crawlers > 0:
            state.waiting.remove(name)
            state.running.append(name)


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


def _enqueue(state: CrawlState, name: str, site: OpenSite) -> None:
    def slack(of: OpenSite) -> float:
        return of.deadline - of.remaining / min(of.cap, state.capacity.peak)

    mine = slack(site)
    place = next(
        (k for k, other in enumerate(state.waiting) if slack(state.sites[other]) > mine),
        len(state.waiting),
    )
    state.sites[name] = site
    state.waiting.insert(place, name)


def serve_in_order(state: CrawlState) -> None:
    """Set rates by priority up to the caps, without regard to deadlines; starts sites if there is
    room."""
    left = budget = state.capacity.rate_at(state.now)
    for name in state.running:
        site = state.sites[name]
        if site.idle:
            _lend(state, site)
        else:
            left -= _grant(site, min(left, _useful(state, site, budget)))
    crawlers = state.free_crawlers
    while left > NOTHING_LEFT * budget and state.waiting and crawlers > 0:
        name = state.waiting.popleft()
        state.running.append(name)
        site = state.sites[name]
        left -= _grant(site, min(left, _useful(state, site, budget)))
        crawlers -= 1


def _useful(state: CrawlState, site: OpenSite, budget: float) -> float:
    """With hundreds of small sites, one at a time would leave the line idle between its pages: none
    gets more than its rest needs until the next look, but at least a fair share of the line. A
    simulation has no looks, and no idle line."""
    if len(state.sites) <= _MOST_GUARDED or math.isinf(state.look_seconds):
        return math.inf
    return max(site.remaining / state.look_seconds, budget / min(state.slots, _SMALL_AT_ONCE))


def _grant(site: OpenSite, left: float) -> float:
    site.rate = max(min(site.cap, left), 0.0)
    return site.rate


def _lend(state: CrawlState, site: OpenSite) -> None:
    """An idle site may take a fair share as soon as it wakes; others use it until then."""
    site.rate = min(site.cap, state.capacity.rate_at(state.now) / state.slots)


def _guard_deadlines(state: CrawlState) -> bool:
    """Set rates for deadlines that the order alone would put in danger; False: not needed, or
    nothing is better than serving in order."""
    names = [name for name in (*state.running, *state.waiting) if not state.sites[name].idle]
    if not names or not state.can_guard or len(names) > _MOST_GUARDED:
        return False
    if not any(state.sites[name].deadline < math.inf for name in names):
        return False
    from headgate.scheduling.deadline_guard import guarded_rates

    held = _held(state, names)
    problem = cache(lambda reserve: state.problem(names, reserve))
    rates = guarded_rates(problem, state.look_seconds, held)
    if rates is None:
        state.hold_until = -math.inf
        return False
    if rates is not held:
        state.hold_until = state.now + _HOLD_SECONDS
    for name in state.running:
        if state.sites[name].idle:
            _lend(state, state.sites[name])
    state.running += state.waiting
    state.waiting.clear()
    for name, rate in zip(names, rates.tolist(), strict=True):
        state.sites[name].rate = rate
    return True


def _held(state: CrawlState, names: Sequence[str]) -> FloatArray | None:
    """The current rates that guard deadlines, if they leave nothing unused."""
    if state.waiting or state.now >= state.hold_until:
        return None
    import numpy as np

    rates = np.array([state.sites[name].rate for name in names])
    caps = np.array([state.sites[name].cap for name in names])
    usable = min(state.capacity.rate_at(state.now), float(caps.sum()))
    fits = (rates <= caps * (1 + _ROUNDING)).all() and abs(
        rates.sum() - usable
    ) < _ROUNDING * usable
    return rates if fits else None
