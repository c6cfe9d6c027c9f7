"""Predicts when sites will start and end: `replan`, run ahead of time.

A plan assumes constant caps, but servers are slower in the evening. So the prediction uses the
rules of the running crawl: it re-plans at every event, with each server as fast as at that hour.
Nothing is searched: a crawl of n sites and h hours costs n + 4 h steps of O(m), and the caps of all
sites are looked up at each quarter hour.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from headgate.scheduling.capacity import NOTHING_LEFT, Capacity
from headgate.scheduling.event_schedule import event_schedule
from headgate.scheduling.replan import CrawlState, OpenSite, SiteEnded, Started, replan
from headgate.scheduling.water_filling import deadlines_can_be_met

__all__ = ["Expected", "Stretch", "foreseen_ends", "outlook"]

_LOOK_SECONDS = 900.0
_LOOKS = 4 * 24 * 28
"""After four weeks the servers are as fast as they were then."""
_LEAST_CAP = 1.0


@dataclass(frozen=True, slots=True)
class Expected:
    """The forecast of one site."""

    work: float
    """Bytes the line must carry. Positive."""
    cap: Callable[[float], float]
    """The speed of its server, by seconds from the start of the run; infinity: no limit."""
    deadline: float = math.inf


@dataclass(frozen=True, slots=True)
class Stretch:
    """From the first byte to the last, seconds from the start of the run."""

    start: float
    end: float


def outlook(sites: Mapping[str, Expected], capacity: Capacity, slots: int) -> dict[str, Stretch]:
    """Start and end of every site; ``sites`` in the order of the plan.

    >>> steady, evening = (lambda _: 10.0), (lambda t: 10.0 if t < 900 else 5.0)
    >>> sites = {"a": Expected(10_000.0, steady), "b": Expected(10_000.0, evening)}
    >>> outlook(sites, Capacity.constant(100.0), slots=2)
    {'a': Stretch(start=0.0, end=1000.0), 'b': Stretch(start=0.0, end=1100.0)}
    """
    states = {name: OpenSite(max(site.work, 1.0), site.deadline) for name, site in sites.items()}
    state = CrawlState(states, deque(sites), capacity, slots)
    started: dict[str, float] = {}
    ended: dict[str, Stretch] = {}
    now, looks = 0.0, 0
    _set_caps(state, sites, now)
    rates = replan(state, Started(now))
    while state.sites:
        next_look = (looks + 1) * _LOOK_SECONDS if looks < _LOOKS else math.inf
        for name, rate in rates.items():
            if rate > 0:
                started.setdefault(name, now)
        now, done = _next_end(state, rates, min(next_look, capacity.next_turn(now)))
        if done is not None:
            ended[done] = Stretch(started[done], now)
            rates = replan(state, SiteEnded(now, done))
            continue
        if now >= next_look:
            looks += 1
            _set_caps(state, sites, now)
        rates = replan(state, Started(now))
    return {name: ended[name] for name in sites}


def _set_caps(state: CrawlState, sites: Mapping[str, Expected], now: float) -> None:
    for name, site in state.sites.items():
        site.cap = max(sites[name].cap(now), _LEAST_CAP)


def _next_end(
    state: CrawlState, rates: Mapping[str, float], until: float
) -> tuple[float, str | None]:
    """When the next site ends, and which; or ``until``, when none does before."""
    soonest: tuple[float, str | None] = (until, None)
    for name, rate in rates.items():
        remaining = state.sites[name].remaining
        seconds = remaining / rate if rate > 0 else math.inf
        if remaining <= NOTHING_LEFT or state.now + seconds <= soonest[0]:
            soonest = (state.now + min(seconds, until - state.now), name)
    return soonest


_MOST_SITES = 200


def foreseen_ends(state: CrawlState) -> dict[str, float]:
    """Predicts when the sites of a running crawl will end, for display only.

    The order is simulated with what is known now. A site's current rate says little: it may be held
    back for others now and have the whole line later. If the order alone would miss deadlines that
    can be met, the crawl guards them (deadline_guard.py): then these sites end by their deadlines.

    Cost: a simulation, O(n^2). Beyond `_MOST_SITES` nothing is predicted.

    Seconds from the start of the run, by site; empty: nothing is predicted.
    """
    names = [*state.running, *state.waiting]
    if not 0 < len(names) <= _MOST_SITES:
        return {}
    problem = state.problem(names)
    ends = event_schedule(problem, range(len(names))).site_ends
    if (ends > problem.deadlines).any() and deadlines_can_be_met(problem):
        ends = np.minimum(ends, problem.deadlines)
    return dict(zip(names, (state.now + ends).tolist(), strict=True))
