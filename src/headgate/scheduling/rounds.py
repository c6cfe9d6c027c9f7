"""Algorithm 4 and its baselines: more sites than crawlers, in rounds.

ReAlloc (Zhu et al. 2020, Algorithm 4). Sites wait in order of their deadlines, the first m run:

    round:  rates by M-MAXT or M-SUMT if they can meet the deadlines of the m, else by M-STET;
            until the last of these m ends, a site that ends hands its rate to the next in line;
            then what is left, and what is left of the deadlines, is allocated anew

ReAlloc-PROBandwidth is the same with Eq. 14 throughout. AllocOnce allocates to the first m and
hands on from there. ReAlloc-PRODataAmount takes m after m, all of a round ending together.

Readings of the paper: the loop runs until nobody runs, not until nobody waits; tight deadlines go
first ("loose before tight" in its text contradicts its own line 1); overdue sites go to M-STET.
Departures: a site takes no more of its slot's rate than its cap; a turn of the timetable ends the
round, and AllocOnce keeps its shares of the budget through it. Cost: O(n log n) for the order,
O(m log m) per round and O(log m) per site.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from headgate.model.errors import PlanningError
from headgate.scheduling.allocation import is_sufficient, m_maxt, m_stet
from headgate.scheduling.arrays import FloatArray, IntArray
from headgate.scheduling.problem import Problem, Schedule, ScheduleBuilder
from headgate.scheduling.proportional import pro_data_amount

__all__ = [
    "Allocate",
    "alloc_once",
    "constant_rates",
    "instant_allocation",
    "re_alloc",
    "re_alloc_pro_data_amount",
]


def re_alloc(
    problem: Problem,
    when_sufficient: Allocate = m_maxt,
    when_not: Allocate = m_stet,
    *,
    order: IntArray | None = None,
) -> Schedule:
    """Algorithm 4: ReAlloc-MAXT, -SUMT or -PROBandwidth by the allocations given.

    Any other order of waiting than by deadline is for experiments.

    >>> problem = Problem.from_arrays([60.0, 30.0, 30.0], [6.0, 9.0, np.inf], budget=20.0, slots=2)
    >>> re_alloc(problem).site_ends
    array([4.5, 4.5, 6. ])
    """
    allocate = instant_allocation(when_sufficient, when_not)
    slots = SlotSimulator.filled(problem, _by_deadline(problem) if order is None else order)
    while slots.running:
        _one_round(slots, allocate)
    return slots.builder.build()


def alloc_once(problem: Problem) -> Schedule:
    """AllocOnce: rates for the first m sites, inherited ever after.

    >>> problem = Problem.from_arrays([60.0, 30.0, 30.0], [6.0, 9.0, np.inf], budget=20.0, slots=2)
    >>> alloc_once(problem).site_ends
    array([4.5 , 4.5 , 6.75])
    """
    slots = SlotSimulator.filled(problem, _by_deadline(problem))
    allocated_for = None
    while slots.running:
        budget = slots.wait_for_capacity()
        if allocated_for is None:
            slots.allocate(instant_allocation(m_maxt, m_stet), budget)
        else:
            slots.granted *= budget / allocated_for
        allocated_for = budget
        slots.serve_until(problem.capacity.next_turn(slots.time))
    return slots.builder.build()


def re_alloc_pro_data_amount(problem: Problem) -> Schedule:
    """ReAlloc-PRODataAmount: m after m in order of deadlines, rates in proportion to bytes.

    Without caps all of a round end together, so the makespan is the least possible. With caps the
    round lasts until its last site ends.

    >>> problem = Problem.from_arrays([60.0, 30.0, 30.0], [6.0, 9.0, np.inf], budget=20.0, slots=2)
    >>> re_alloc_pro_data_amount(problem).site_ends
    array([4.5, 4.5, 6. ])
    """
    order = _by_deadline(problem)
    slots = SlotSimulator.filled(problem, order[: problem.slots])
    for first in range(0, len(order), problem.slots):
        slots.running = [int(site) for site in order[first : first + problem.slots]]
        while slots.running:
            _one_round(slots, pro_data_amount)
    return slots.builder.build()


def _by_deadline(problem: Problem) -> IntArray:
    return np.argsort(problem.deadlines, kind="stable")


def _one_round(slots: SlotSimulator, allocate: Allocate) -> None:
    slots.allocate(allocate, slots.wait_for_capacity())
    slots.serve_until(min(slots.last_end(), slots.problem.capacity.next_turn(slots.time)))


def instant_allocation(when_sufficient: Allocate, when_not: Allocate) -> Allocate:
    """Lines 20 to 27 of Algorithm 4."""

    def allocate(
        work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray
    ) -> FloatArray:
        sufficient = is_sufficient(work, deadlines, budget, caps)
        return (when_sufficient if sufficient else when_not)(work, deadlines, budget, caps)

    return allocate


Allocate: TypeAlias = Callable[[FloatArray, FloatArray, float, FloatArray], FloatArray]
"""(work, seconds left to the deadlines, budget, caps) -> rates, all for the sites that run."""

_NEGLIGIBLE = 1e-9
"""A site with this share of its work left, or less, has ended: that much is rounding."""
_SAME_MOMENT = 1e-12
"""Relative; ends so near to a moment of change fall on it."""


@dataclass(slots=True, eq=False)
class SlotSimulator:
    """Simulates m slots: sites run at granted rates, and a site that ends passes its grant to the
    next.

    What the round-based schedules of Zhu et al. 2020 have in common; they differ in when they set
    the grants anew. ``SlotSimulator`` holds who runs and who waits, and goes forward from one such
    moment to the next. Ends are known as moments, never found by subtracting until nothing is left;
    what remains of a site at a moment of change follows from its end.

    ``running`` is never longer than m, and shorter only when nobody waits.
    """

    problem: Problem
    running: list[int]
    waiting: deque[int]
    left: FloatArray
    """Bytes to go, per site."""
    granted: FloatArray
    """The rate of a site's slot; the site takes it as far as its cap allows."""
    time: float
    builder: ScheduleBuilder

    @classmethod
    def filled(cls, problem: Problem, order: IntArray) -> SlotSimulator:
        """At time 0, with the first m sites of the order running."""
        queue = [int(site) for site in order]
        return cls(
            problem,
            queue[: problem.slots],
            waiting=deque(queue[problem.slots :]),
            left=problem.work.copy(),
            granted=np.zeros(len(problem)),
            time=0.0,
            builder=ScheduleBuilder(len(problem)),
        )

    def wait_for_capacity(self) -> float:
        """Go forward to where the budget is not 0, and return it."""
        capacity = self.problem.capacity
        while (budget := capacity.rate_at(self.time)) == 0:
            self.time = capacity.next_turn(self.time)
        return budget

    def allocate(self, allocate: Allocate, budget: float) -> None:
        """Set the grants of the running sites anew."""
        sites = self.running
        problem = self.problem
        seconds_left = problem.deadlines[sites] - self.time
        self.granted[sites] = allocate(self.left[sites], seconds_left, budget, problem.caps[sites])

    def last_end(self) -> float:
        """When the last running site ends at the current grants."""
        return max(self._end_of(site, self.time) for site in self.running)

    def serve_until(self, moment: float) -> None:
        """Go forward; a site that ends until then passes its slot and grant to the next."""
        begun = dict.fromkeys(self.running, self.time)
        ends = [(self._end_of(site, self.time), site) for site in self.running]
        heapq.heapify(ends)
        while (
            ends and self._left_at(moment, *ends[0]) <= _NEGLIGIBLE * self.problem.work[ends[0][1]]
        ):
            end, site = heapq.heappop(ends)
            end = min(end, moment)
            self.builder.add(site, begun[site], end, self._rate(site))
            if self.waiting:
                start = end if end < moment * (1 - _SAME_MOMENT) else moment
                heir = self.waiting.popleft()
                self.granted[heir] = self.granted[site]
                begun[heir] = start
                heapq.heappush(ends, (self._end_of(heir, start), heir))
        for end, site in ends:
            if begun[site] < moment:
                self.builder.add(site, begun[site], moment, self._rate(site))
                self.left[site] = self._left_at(moment, end, site)
        self.running = [site for _, site in ends]
        self.time = moment

    def _rate(self, site: int) -> float:
        return float(min(self.granted[site], self.problem.caps[site]))

    def _end_of(self, site: int, start: float) -> float:
        return start + float(self.left[site]) / self._rate(site)

    def _left_at(self, moment: float, end: float, site: int) -> float:
        return (end - moment) * self._rate(site)


def constant_rates(problem: Problem, allocate: Allocate) -> Schedule:
    """One constant rate per site from the start to its end: instant allocation, Zhu et al. 2020,
    3.1.

    All sites begin at once, and when one ends its rate is not given to the others, as published.
    Departure: where a timetable changes the budget, the rates are allocated anew on what is left.

    The schedule of an allocation; refuses more sites than slots.

    >>> from headgate.scheduling.allocation import m_sumt
    >>> constant_rates(Problem.from_arrays([1.0, 4.0, 9.0], budget=60.0), m_sumt).site_ends
    array([0.1, 0.2, 0.3])
    """
    if len(problem) > problem.slots:
        raise PlanningError(
            "this policy allocates to all sites at once;"
            f" with more sites ({len(problem)}) than crawlers ({problem.slots}) use ReAlloc-MAXT"
            " or another of the ReAlloc policies"
        )
    slots = SlotSimulator.filled(problem, np.arange(len(problem)))
    while slots.running:
        budget = slots.wait_for_capacity()
        slots.allocate(allocate, budget)
        turn = problem.capacity.next_turn(slots.time)
        slots.serve_until(min(slots.last_end(), turn))
    return slots.builder.build()
