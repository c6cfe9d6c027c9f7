"""What no schedule can beat, proven: so that an answer can say how far from perfect it is.

Makespan: all bytes at the full rate; the slowest single site; all sites at their caps on m
crawlers. Sum of execution times: each site alone. Total lateness: the largest of

- each site alone at its cap: sum_i (D_i / c_i - d_i)+;
- matching: the k-th end is no earlier than the k smallest sites' bytes take, and ends matched to
  deadlines in order are late the least;
- the exact order of one site at a time at the full rate (tardiness.py), where it was found;
- a linear programme over time buckets (linear_bound.py), for up to some hundred sites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.planning.linear_bound import linear_bound
from headgate.planning.problem import Problem
from headgate.planning.tardiness import total_tardiness_order

__all__ = ["Bounds", "lower_bounds", "with_linear_bound"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Values that no schedule goes below."""

    tardiness: float
    makespan: float
    total_time: float


def lower_bounds(problem: Problem) -> Bounds:
    """All bounds that cost O(n log n), and the exact order when it comes cheaply."""
    if not len(problem):
        return Bounds(0.0, 0.0, 0.0)
    rates = np.minimum(problem.caps, problem.capacity.peak)
    alone = problem.work / rates
    makespan = max(
        float(problem.capacity.time_of(float(problem.work.sum()))),
        float(alone.max()),
        float(alone.sum()) / problem.slots,
    )
    tardiness = max(
        float(np.maximum(alone - problem.deadlines, 0.0).sum()),
        _matching_bound(problem),
        _one_at_a_time_bound(problem),
    )
    return Bounds(tardiness, makespan, float(alone.sum()))


def with_linear_bound(bounds: Bounds, problem: Problem, horizon: float) -> Bounds:
    late = max(bounds.tardiness, linear_bound(problem, horizon))
    return Bounds(late, bounds.makespan, bounds.total_time)


def _matching_bound(problem: Problem) -> float:
    ends = problem.capacity.time_of(np.cumsum(np.sort(problem.work)))
    return float(np.maximum(ends - np.sort(problem.deadlines), 0.0).sum())


def _one_at_a_time_bound(problem: Problem) -> float:
    """Exact at a constant budget; at a changing one it takes the peak all the time."""
    durations = problem.work / problem.capacity.peak
    order = total_tardiness_order(durations, problem.deadlines)
    if order is None:
        return 0.0
    late = np.cumsum(durations[order]) - problem.deadlines[order]
    return float(np.maximum(late, 0.0).sum())
