"""Whether all deadlines can be met, without making a plan; if not, what would let them be met."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from headgate.model.plan import LATE_AFTER_SECONDS, Remedy, Verdict
from headgate.scheduling.bounds import lower_bounds
from headgate.scheduling.event_schedule import event_schedule
from headgate.scheduling.problem import Problem
from headgate.scheduling.tardiness import edd_order, mdd_order
from headgate.scheduling.water_filling import deadlines_can_be_met, least_budget_scale

__all__ = ["feasibility", "find_remedy"]


# Whether all deadlines can be met, with every site complete, without making a plan.
#
# Exact where every site has a crawler (water-filling) and where no cap binds (one site at a time is
# optimal); with caps and fewer crawlers the simple orders are tried, and the answer may stay open.


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


_MOST_SITES_TO_TRY = 1000
_MOST_SCALE = 64.0
_PRECISION = 1e-3
"""Relative, of the bandwidth that is enough."""


def find_remedy(problem: Problem, late: dict[str, float]) -> Remedy:
    """What would let all deadlines be met: more bandwidth, or more time for some sites.

    Remedies for a problem; ``late`` names sites and how late they are if none is stopped.

    The extra time is that lateness: with it that very schedule meets every deadline, and where it
    is optimal no smaller total will do.
    """
    needed = least_budget_scale(problem)
    enough = needed
    if needed and len(problem) > problem.slots:  # without deadlines nothing is needed
        enough = _enough(problem, needed, on_time_now=not late)
    mean = problem.capacity.mean_rate
    return Remedy(
        needed_bandwidth=None if needed is None else needed * mean,
        enough_bandwidth=None if enough is None else enough * mean,
        scale=None if problem.capacity.is_constant else needed,
        relax=late,
    )


def _enough(problem: Problem, needed: float, *, on_time_now: bool) -> float | None:
    """With fewer crawlers than sites: the least scale at which a schedule on time was found."""
    if _some_order_is_on_time(problem, needed):
        return needed
    if len(problem) > _MOST_SITES_TO_TRY:
        return 1.0 if on_time_now else None
    low, high = needed, 1.0
    if not on_time_now:
        high = max(needed, 1.0)
        while not _some_order_is_on_time(problem, high):
            low, high = high, 2 * high
            if high > _MOST_SCALE * max(needed, 1.0):
                return None  # caps or crawlers bind, not the budget
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if _some_order_is_on_time(problem, middle):
            high = middle
        else:
            low = middle
    return high


def _some_order_is_on_time(problem: Problem, scale: float) -> bool:
    wider = structs.replace(problem, capacity=problem.capacity.scaled(scale))
    return some_order_is_on_time(wider)
