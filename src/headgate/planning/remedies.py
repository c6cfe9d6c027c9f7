"""What would let all deadlines be met: more bandwidth, or more time for some sites."""

from __future__ import annotations

from msgspec import structs

from headgate.model.plan import Remedy
from headgate.planning.feasibility import some_order_is_on_time
from headgate.planning.problem import Problem
from headgate.planning.water_filling import least_budget_scale

__all__ = ["find_remedy"]

_MOST_SITES_TO_TRY = 1000
_MOST_SCALE = 64.0
_PRECISION = 1e-3
"""Relative, of the bandwidth that is enough."""


def find_remedy(problem: Problem, late: dict[str, float]) -> Remedy:
    """Remedies for a problem; ``late`` names sites and how late they are if none is stopped.

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
