"""One constant rate per site from the start to its end: instant allocation, Zhu et al. 2020, 3.1.

All sites begin at once, and when one ends its rate is not given to the others, as published.
Departure: where a timetable changes the budget, the rates are allocated anew on what is left.
"""

from __future__ import annotations

import numpy as np

from headgate.model.errors import PlanningError
from headgate.planning.problem import Problem
from headgate.planning.schedule import Schedule
from headgate.planning.slots import Allocate, Slots

__all__ = ["constant_rates"]


def constant_rates(problem: Problem, allocate: Allocate) -> Schedule:
    """The schedule of an allocation; refuses more sites than slots.

    >>> from headgate.planning.sumt import m_sumt
    >>> constant_rates(Problem.of([1.0, 4.0, 9.0], budget=60.0), m_sumt).site_ends
    array([0.1, 0.2, 0.3])
    """
    if len(problem) > problem.slots:
        raise PlanningError(
            "this policy allocates to all sites at once;"
            f" with more sites ({len(problem)}) than crawlers ({problem.slots}) use ReAlloc-MAXT"
            " or another of the ReAlloc policies"
        )
    slots = Slots.filled(problem, np.arange(len(problem)))
    while slots.running:
        budget = slots.wait_for_capacity()
        slots.allocate(allocate, budget)
        turn = problem.capacity.next_turn(slots.time)
        slots.serve_until(min(slots.last_end(), turn))
    return slots.builder.build()
