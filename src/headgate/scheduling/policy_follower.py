"""A policy of the user's choice sets the rates of a running crawl, stage by stage."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from msgspec import structs

from headgate.model.budget import Objective
from headgate.scheduling.arrays import FloatArray
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.policies import Policy
from headgate.scheduling.problem import Problem, Schedule
from headgate.scheduling.replan import CrawlState, OpenSite

__all__ = ["PolicyFollower", "schedule_fault", "stages_of"]

_WRONG_PART = 0.25
"""If so large a part of what is left was planned wrongly, a new schedule is made ..."""
_REST_SECONDS = 5.0
"""... but not twice within so many seconds: estimates of unknown sites change all the time."""
_ROUNDING = 1e-6
_LEAST_SECONDS = 0.01
"""Least work of an unfinished site, in seconds of the whole line."""


@dataclass(slots=True)
class PolicyFollower:
    """A policy of the user's choice sets the rates of a running crawl.

    The policy makes its schedule for what is left, and the stages of that schedule
    (`ScheduleStage`) are carried out one after the other. It makes another when the old one no
    longer fits: the budget was changed, a site was added, or a quarter of what is left was
    certainly planned wrongly (a stated size counts as long as it may be true). A policy that
    raises, or whose schedule cannot be carried out, is dropped: `rates` returns None, and ``fault``
    says why.

    ``_left`` holds what the schedule in force was made for and has not granted yet, of the
    sites of its stages to come; ``_names`` all of its sites, in the order of its indices.
    """

    policy: Policy
    rng: np.random.Generator
    objective: Objective = Objective.MAKESPAN
    fault: str = ""
    """Why the policy was dropped; empty: it is in use."""
    by_page: bool = False
    """Sites have rates, so their throughput shows the speed of their servers."""
    _stages: deque[ScheduleStage] = field(default_factory=deque)
    _names: list[str] = field(default_factory=list)
    _left: dict[str, float] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    """Sites with a stated size."""
    _capacity: Capacity | None = None
    _began: float = -math.inf
    _granted: Mapping[str, float] = field(default_factory=dict)
    _granted_at: float = 0.0

    @property
    def name(self) -> str:
        return self.policy.name

    def rates(self, state: CrawlState) -> dict[str, float] | None:
        """Rates from now on; starts waiting sites whose turn it is."""
        if self.fault:
            return None
        self._note_granted(state.now)
        if self._is_outdated(state):
            self._make(state)
        self._go_on(state)
        if not self.fault and not self._fits_now(state):
            self._make(state)
        if self.fault:
            return None
        self._granted = self._rates_of_now(state)
        _run_just(state, self._granted)
        return dict(self._granted)

    def _note_granted(self, now: float) -> None:
        for name, rate in self._granted.items():
            if name in self._left:
                self._left[name] -= rate * (now - self._granted_at)
        self._granted_at = now

    def _is_outdated(self, state: CrawlState) -> bool:
        if not self._left.keys() >= state.sites.keys() or self._budget_differs(state.capacity):
            return True
        if state.now - self._began < _REST_SECONDS:
            return False
        wrong = sum(self._off(state, name) for name in self._left)
        left = sum(site.remaining for site in state.sites.values())
        return wrong > _WRONG_PART * max(left, _REST_SECONDS * state.capacity.peak)

    def _budget_differs(self, capacity: Capacity) -> bool:
        before = self._capacity
        return before is not capacity and (before is None or before.pieces != capacity.pieces)

    def _make(self, state: CrawlState) -> None:
        names = list(state.sites)
        problem = self._problem(state, names)
        try:
            schedule = self.policy.schedule(problem, self.rng).stopped(problem)
            self.fault = schedule_fault(problem, schedule)
            stages = deque(() if self.fault else stages_of(schedule))
        except Exception as error:  # a policy of the user's own may raise anything
            self.fault = f"it raised {type(error).__name__}: {error}"
            return
        self._stages, self._names, self._capacity = stages, names, state.capacity
        self._left = dict(zip(names, problem.work.tolist(), strict=True))
        self._began = state.now

    def _problem(self, state: CrawlState, names: list[str]) -> Problem:
        problem = state.problem(names)
        left = [self._work(name, state.sites[name]) for name in names]
        work = np.maximum(left, _LEAST_SECONDS * problem.capacity.peak)
        return structs.replace(problem, work=work, objective=self.objective)

    def _work(self, name: str, site: OpenSite) -> float:
        """What is left of it, by its stated size as long as that may be true."""
        if name not in self._left and site.work(-1.0) == site.work(1.0):
            self._told.add(name)
        left = self._left.get(name, site.remaining)
        return left if name in self._told and left > 0 else site.remaining

    def _off(self, state: CrawlState, name: str) -> float:
        """The least difference between what is planned for a site and what is left of it."""
        planned, site = self._left[name], state.sites.get(name)
        if site is None:
            return abs(planned)
        if name in self._told:
            return site.remaining if planned <= 0 else 0.0
        return max(site.work(-1.0) - planned, planned - site.work(1.0), 0.0)

    def _go_on(self, state: CrawlState) -> None:
        """Go to the first stage that has not ended."""
        while self._stages and self._is_over(self._stages[0], state):
            for site in self._stages.popleft().ending:
                self._left.pop(self._names[site], None)

    def _is_over(self, stage: ScheduleStage, state: CrawlState) -> bool:
        if stage.ending:
            return not any(self._names[site] in state.sites for site in stage.ending)
        return state.now >= self._began + stage.end

    def _fits_now(self, state: CrawlState) -> bool:
        """False if all that was planned is done and something is left, or if the budget fell before
        a stage ended."""
        given = sum(self._rates_of_now(state).values())
        budget = state.capacity.rate_at(state.now)
        return bool(self._stages or not state.sites) and given <= budget * (1 + _ROUNDING)

    def _rates_of_now(self, state: CrawlState) -> dict[str, float]:
        if not self._stages:
            return {}
        rates = self._stages[0].rates
        named = {self._names[site]: rate for site, rate in rates.items()}
        return {name: rate for name, rate in named.items() if name in state.sites}


def _run_just(state: CrawlState, rates: Mapping[str, float]) -> None:
    """Sites with a rate run, all others wait."""
    parked = [name for name in state.running if name not in rates]
    begun = [name for name in state.waiting if name in rates]
    state.running = [name for name in state.running if name in rates] + begun
    state.waiting = deque([*parked, *(name for name in state.waiting if name not in rates)])
    for name, site in state.sites.items():
        site.rate = rates.get(name, 0.0)


_SAME_MOMENT = 1e-9
"""Relative; times so close differ only by rounding."""
_TOLERANCE = 1e-6
"""Relative; what a schedule may be off its budget or its work by rounding."""


@dataclass(frozen=True, slots=True)
class ScheduleStage:
    """Cuts a schedule into stages, which follow events instead of the clock.

    On a real line sites end a little sooner or later than planned. A *stage* has constant rates; it
    is over when the sites that end with it in the plan have really ended or, where none does (a
    timetable turns, say), when its time is up. So a slot is handed on when its site has ended, as
    Algorithm 4 of Zhu et al. 2020 has it, and not when it should have.

    Cost: O(k log k) to cut k segments, and a stage holds the rates of the sites that run in it.

    Constant rates until ``ending`` have ended, or until ``end`` if that is empty.
    """

    end: float
    """Seconds from the start of the schedule, as planned."""
    rates: Mapping[int, float]
    """Of the sites that get any, by their index."""
    ending: frozenset[int]


def stages_of(schedule: Schedule) -> list[ScheduleStage]:
    """In order of time, including stages in which no site has a rate.

    >>> from headgate.scheduling.rounds import alloc_once
    >>> problem = Problem.from_arrays([60.0, 30.0, 30.0], [6.0, 9.0, np.inf], budget=20.0, slots=2)
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
        ScheduleStage(float(end), rates, frozenset(sites))
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
