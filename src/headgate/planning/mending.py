"""Mending the order while the crawl runs: is a deadline in danger, and would another order save it?

Sizes and speeds are never quite as planned, so a plan without slack misses deadlines by a little.
The order that stands is played through from here (event.py). When sites would end after their
deadlines, and later than was conceded before, the search of the plan (order_search.py) looks for a
better order, in a few hundredths of a second. While all deadlines can be met it looks for a
reserve before them. What lateness it can't save is conceded, so that the search comes back only
when things get worse. Sites that run keep their crawlers; only their priority may change.

Only the sites that run and the next `_SITES_AHEAD` are looked at: what comes later can be mended
later. Cost: O(sites ahead) when all is well, O(`_STEPS`) when not.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from itertools import islice

import numpy as np

from headgate.planning.arrays import FloatArray, IntArray
from headgate.planning.event import NOTHING_LEFT, event_schedule
from headgate.planning.order_search import improve_order
from headgate.planning.problem import Problem
from headgate.planning.replan import CrawlState

__all__ = ["mend"]

_SITES_AHEAD = 40
_STEPS = 25_000
"""Rates set in simulation: a few hundredths of a second."""
_RESERVE_SECONDS = 0.25
_RESERVE_PART = 0.02
"""Of the time left until a deadline: what estimates may be wrong by before it is missed."""
_WORTH_SECONDS = 0.1
_WORTH_PART = 0.002
"""Of the time that all sites ahead take: less lateness is not worth a search or another order."""


def mend(state: CrawlState) -> None:
    """Put the sites in a better order, if one is needed and found."""
    near = [*state.running, *islice(state.waiting, _SITES_AHEAD)]
    if len(near) < 2:
        return
    problem = _problem(state, near)
    least_seconds = float(problem.capacity.time_of(problem.work.sum()))
    worth = max(_WORTH_SECONDS, _WORTH_PART * least_seconds)
    standing = np.arange(len(near))
    missed = _lateness(problem, standing)
    aim = _with_reserve(problem) if missed.sum() <= worth else problem
    late = _lateness(aim, standing)
    if np.maximum(late - [state.sites[name].conceded for name in near], 0.0).sum() <= worth:
        return
    found = improve_order(
        aim,
        standing,
        np.random.default_rng(0),
        least_makespan=least_seconds,
        least_total_time=least_seconds,
        steps=_STEPS,
        started=len(state.running),
    )
    late_then = _lateness(aim, found)
    gained = late.sum() - late_then.sum()
    # A reserve for many is not worth a deadline missed by one.
    if gained >= worth and _lateness(problem, found).sum() <= missed.sum():
        late = late_then
        _take_order(state, [near[place] for place in found])
    for name, seconds in zip(near, late.tolist(), strict=True):
        state.sites[name].conceded = seconds


def _take_order(state: CrawlState, names: list[str]) -> None:
    started = len(state.running)
    later = islice(state.waiting, len(names) - started, None)
    state.waiting = deque([*names[started:], *later])
    state.running = names[:started]


def _problem(state: CrawlState, names: list[str]) -> Problem:
    sites = [state.sites[name] for name in names]
    return Problem.of(
        [max(site.remaining, NOTHING_LEFT) for site in sites],
        [site.deadline - state.now for site in sites],
        budget=state.capacity.from_time(state.now),
        caps=[site.cap for site in sites],
        slots=state.slots,
    )


def _with_reserve(problem: Problem) -> Problem:
    left = problem.deadlines
    reserved = np.where(left > 0, left * (1 - _RESERVE_PART), left) - _RESERVE_SECONDS
    return dataclasses.replace(problem, deadlines=reserved)


def _lateness(problem: Problem, order: IntArray) -> FloatArray:
    return event_schedule(problem, order).lateness(problem)
