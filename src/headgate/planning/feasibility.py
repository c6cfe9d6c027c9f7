"""Whether all deadlines can be met, with every site complete, without making a plan.

Exact where every site has a crawler (water-filling) and where no cap binds (one site at a time is
optimal); with caps and fewer crawlers the simple orders are tried, and the answer may stay open.
"""

from __future__ import annotations

import numpy as np

from headgate.model.plan import LATE_AFTER_SECONDS, Verdict
from headgate.planning.bounds import lower_bounds
from headgate.planning.event import event_schedule
from headgate.planning.problem import Problem
from headgate.planning.tardiness import edd_order, mdd_order
from headgate.planning.water_filling import deadlines_can_be_met

__all__ = ["feasibility", "some_order_is_on_time"]


def feasibility(problem: Problem) -> Verdict:
    """In O(n log n), or what water-filling takes.

    >>> problem = Problem.of([60.0, 40.0], [6.0, 10.0], budget=10.0)
    >>> feasibility(problem), feasibility(Problem.of([61.0], [6.0], budget=10.0))
    (<Verdict.FEASIBLE: 'feasible'>, <Verdict.INFEASIBLE: 'infeasible'>)
    """
    if not deadlines_can_be_met(problem):
        return Verdict.INFEASIBLE
    if len(problem) <= problem.slots or not problem.capped or some_order_is_on_time(problem):
        return Verdict.FEASIBLE
    proven = lower_bounds(problem).shortfall > LATE_AFTER_SECONDS * len(problem)
    return Verdict.INFEASIBLE if proven else Verdict.OPEN


def some_order_is_on_time(problem: Problem) -> bool:
    """Whether a list schedule by one of three simple orders leaves nothing late or undone."""
    durations = problem.work / problem.capacity.peak
    alone = problem.work / np.minimum(problem.caps, problem.capacity.peak)
    orders = (
        edd_order(durations, problem.deadlines),
        np.argsort(problem.deadlines - alone, kind="stable"),
        mdd_order(durations, problem.deadlines),
    )
    return any(
        event_schedule(problem, order).shortfall(problem).sum() <= LATE_AFTER_SECONDS
        for order in orders
    )
