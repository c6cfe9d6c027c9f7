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

from headgate.planning.capacity import NOTHING_LEFT, Capacity
from headgate.planning.replan import CrawlState, OpenSite, SiteEnded, Started, replan

__all__ = ["Expected", "Stretch", "outlook"]

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
