"""Cuts a schedule into stages, which follow events instead of the clock.

On a real line sites end a little sooner or later than planned. A *stage* has constant rates; it is
over when the sites that end with it in the plan have really ended or, where none does (a timetable
turns, say), when its time is up. So a slot is handed on when its site has ended, as Algorithm 4 of
Zhu et al. 2020 has it, and not when it should have.

Cost: O(k log k) to cut k segments, and a stage holds the rates of the sites that run in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headgate.planning.arrays import FloatArray
from headgate.planning.problem import Problem
from headgate.planning.schedule import Schedule

__all__ = ["Stage", "schedule_fault", "stages_of"]

_SAME_MOMENT = 1e-9
"""Relative; times so close differ only by rounding."""
_TOLERANCE = 1e-6
"""Relative; what a schedule may be off its budget or its work by rounding."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Constant rates until ``ending`` have ended, or until ``end`` if that is empty."""

    end: float
    """Seconds from the start of the schedule, as planned."""
    rates: Mapping[int, float]
    """Of the sites that get any, by their index."""
    ending: frozenset[int]


def stages_of(schedule: Schedule) -> list[Stage]:
    """In order of time, including stages in which no site has a rate.

    >>> from headgate.planning.rounds import alloc_once
    >>> problem = Problem.of([60.0, 30.0, 30.0], [6.0, 9.0, np.inf], budget=20.0, slots=2)
    >>> for stage in stages_of(alloc_once(problem)):
    ...     print(stage.end, {site: round(rate, 2) for site, rate in stage.rates.items()})
    4.5 {0: 13.33, 1: 6.67}
    6.75 {2: 13.33}
    """
    moments = _moments(schedule)
    stages: list[dict[int, float]] = [{} for _ in moments[1:]]
    columns = schedule.sites, schedule.starts, schedule.ends, schedule.rates
    for site, start, end, rate in zip(*(column.tolist() for column in columns), strict=True):
        first, last = _place(moments, start), _place(moments, end)
        for stage in stages[first:last]:
            stage[site] = rate
    last_stage = [_place(moments, end) - 1 for end in schedule.site_ends.tolist()]
    ending: list[set[int]] = [set() for _ in stages]
    for site, place in enumerate(last_stage):
        if place >= 0:
            ending[place].add(site)
    return [
        Stage(float(end), rates, frozenset(sites))
        for (_, end), rates, sites in zip(pairwise(moments), stages, ending, strict=True)
    ]


def schedule_fault(problem: Problem, schedule: Schedule) -> str:
    """Why a schedule cannot be carried out, in words; empty: it can."""
    columns = schedule.starts, schedule.ends, schedule.rates
    if not all(np.isfinite(column).all() for column in columns):
        return "it has times or rates that are no numbers"
    if (schedule.rates < 0).any() or (schedule.ends < schedule.starts).any():
        return "it has rates or times below 0"
    if _most_over_budget(problem, schedule) > _TOLERANCE:
        return "its rates add up to more than the budget"
    served = np.zeros(len(problem))
    np.add.at(served, schedule.sites, (schedule.ends - schedule.starts) * schedule.rates)
    short = (served < problem.work * (1 - _TOLERANCE)) & ~problem.stops
    return "it leaves sites unserved" if short.any() else ""


def _most_over_budget(problem: Problem, schedule: Schedule) -> float:
    """Largest excess of its rates over the budget, relative."""
    ends = np.concatenate([schedule.starts, schedule.ends])
    moments = np.union1d(ends, problem.capacity.starts)
    middles = (moments[1:] + moments[:-1]) / 2
    wide = np.diff(moments) > _SAME_MOMENT * np.maximum(moments[1:], 1.0)
    change = np.zeros(len(moments))
    np.add.at(change, np.searchsorted(moments, schedule.starts), schedule.rates)
    np.subtract.at(change, np.searchsorted(moments, schedule.ends), schedule.rates)
    used = np.cumsum(change)[:-1][wide]
    allowed = np.array([problem.capacity.rate_at(float(t)) for t in middles[wide]])
    over = used - allowed
    return float((over / problem.capacity.peak).max(initial=0.0))


def _moments(schedule: Schedule) -> FloatArray:
    """Distinct times at which rates change, from 0 on."""
    every = np.unique(np.concatenate([[0.0], schedule.starts, schedule.ends]))
    apart = np.diff(every, prepend=-np.inf) > _SAME_MOMENT * np.maximum(np.abs(every), 1.0)
    moments: FloatArray = every[apart]
    return moments


def _place(moments: FloatArray | Sequence[float], moment: float) -> int:
    """Index of a time, up to rounding."""
    return int(np.searchsorted(moments, moment * (1 + _SAME_MOMENT) + _SAME_MOMENT, "right")) - 1
