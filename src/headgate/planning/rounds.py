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

import numpy as np

from headgate.planning.arrays import FloatArray, IntArray
from headgate.planning.maxt import m_maxt
from headgate.planning.problem import Problem
from headgate.planning.proportional import pro_data_amount
from headgate.planning.schedule import Schedule
from headgate.planning.slots import Allocate, Slots
from headgate.planning.stet import m_stet
from headgate.planning.sufficiency import is_sufficient

__all__ = ["alloc_once", "instant_allocation", "re_alloc", "re_alloc_pro_data_amount"]


def re_alloc(
    problem: Problem,
    when_sufficient: Allocate = m_maxt,
    when_not: Allocate = m_stet,
    *,
    order: IntArray | None = None,
) -> Schedule:
    """Algorithm 4: ReAlloc-MAXT, -SUMT or -PROBandwidth by the allocations given.

    Any other order of waiting than by deadline is for experiments.

    >>> problem = Problem.of([60.0, 30.0, 30.0], [6.0, 9.0, np.inf], budget=20.0, slots=2)
    >>> re_alloc(problem).site_ends
    array([4.5, 4.5, 6. ])
    """
    allocate = instant_allocation(when_sufficient, when_not)
    slots = Slots.filled(problem, _by_deadline(problem) if order is None else order)
    while slots.running:
        _one_round(slots, allocate)
    return slots.builder.build()


def alloc_once(problem: Problem) -> Schedule:
    """AllocOnce: rates for the first m sites, inherited ever after.

    >>> problem = Problem.of([60.0, 30.0, 30.0], [6.0, 9.0, np.inf], budget=20.0, slots=2)
    >>> alloc_once(problem).site_ends
    array([4.5 , 4.5 , 6.75])
    """
    slots = Slots.filled(problem, _by_deadline(problem))
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

    >>> problem = Problem.of([60.0, 30.0, 30.0], [6.0, 9.0, np.inf], budget=20.0, slots=2)
    >>> re_alloc_pro_data_amount(problem).site_ends
    array([4.5, 4.5, 6. ])
    """
    order = _by_deadline(problem)
    slots = Slots.filled(problem, order[: problem.slots])
    for first in range(0, len(order), problem.slots):
        slots.running = [int(site) for site in order[first : first + problem.slots]]
        while slots.running:
            _one_round(slots, pro_data_amount)
    return slots.builder.build()


def _by_deadline(problem: Problem) -> IntArray:
    return np.argsort(problem.deadlines, kind="stable")


def _one_round(slots: Slots, allocate: Allocate) -> None:
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
