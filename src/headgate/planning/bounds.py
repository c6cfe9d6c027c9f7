"""What no schedule can beat, proven: so that an answer can say how far from perfect it is.

Makespan: all bytes at the full rate; the slowest single site; all sites at their caps on m
crawlers. Sum of execution times: each site alone. Total lateness: the largest of

- each site alone at its cap: sum_i (D_i / c_i - d_i)+;
- matching: the k-th end is no earlier than the k smallest sites' bytes take, and ends matched to
  deadlines in order are late the least;
- the exact order of one site at a time at the full rate (tardiness.py), where it was found;
- a linear programme over time buckets (`linear_bound`), for up to some hundred sites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from headgate.planning.arrays import FloatArray
from headgate.planning.problem import Problem
from headgate.planning.tardiness import total_tardiness_order

__all__ = ["Bounds", "linear_bound", "lower_bounds", "with_linear_bound"]


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


def linear_bound(problem: Problem, horizon: float, *, buckets: int = 100) -> float:
    """The least total lateness of a relaxed schedule, by linear programming.

    x_it is the work of site i in bucket t. Per bucket: no more than the budget, the caps and m
    crawlers give. Per site: lateness is at least its mean busy time plus half its shortest
    duration less its deadline, and at least the mean lateness of its bytes. Time is taken at a
    bucket's left edge and the last bucket, from ``horizon`` on, holds anything, so every schedule
    is a solution and the value is a bound.
    """
    edges = np.linspace(0.0, horizon, buckets + 1)
    budget = np.append(np.diff(problem.capacity.bytes_by(edges)), np.inf)
    lengths = np.append(np.diff(edges), np.inf)
    count, columns = len(problem), buckets + 1
    rates = np.minimum(problem.caps, problem.capacity.peak)
    deadlines = np.where(np.isfinite(problem.deadlines), problem.deadlines, 10 * horizon)
    # Variables: y_it = x_it / D_i, site by site, then T_i in units of the horizon.
    site, bucket = (grid.ravel() for grid in np.indices((count, columns)))
    fraction = site * columns + bucket
    sites = np.arange(count)
    lateness = count * columns + sites
    overdue = np.maximum(edges[bucket] - deadlines[site], 0.0)
    bounded = bucket < buckets
    rows = np.concatenate((
        bucket[bounded], buckets + bucket[bounded],
        2 * buckets + site, 2 * buckets + sites,
        2 * buckets + count + site, 2 * buckets + count + sites,
    ))  # fmt: skip
    cols = np.concatenate((
        fraction[bounded], fraction[bounded], fraction, lateness, fraction, lateness,
    ))  # fmt: skip
    paused = budget[bucket] <= 0  # such a bucket's variables are held at 0 instead
    shares = np.where(paused, 0.0, problem.work[site] / np.where(paused, 1.0, budget[bucket]))
    crawlers = (problem.work / rates)[site] / (problem.slots * lengths[bucket])
    values = np.concatenate((
        shares[bounded], crawlers[bounded],
        edges[bucket] / horizon, -np.ones(count),
        overdue / horizon, -np.ones(count),
    ))  # fmt: skip
    slack = deadlines - problem.work / (2 * rates)
    limits = np.concatenate((np.ones(2 * buckets), slack / horizon, np.zeros(count)))
    whole = coo_array((np.ones(fraction.size), (site, fraction)), (count, lateness[-1] + 1))
    result = linprog(
        np.concatenate((np.zeros(count * columns), np.ones(count))),
        A_ub=coo_array((values, (rows, cols)), (2 * buckets + 2 * count, lateness[-1] + 1)).tocsr(),
        b_ub=limits,
        A_eq=whole.tocsr(),
        b_eq=np.ones(count),
        bounds=_variable_bounds(rates, problem.work, np.where(budget > 0, lengths, 0.0)),
        method="highs",
    )
    # The dual simplex stops within its tolerance of the optimum; take that off to stay a bound.
    return max(0.0, float(result.fun) * (1 - 1e-6)) * horizon if result.success else 0.0


def _variable_bounds(rates: FloatArray, work: FloatArray, lengths: FloatArray) -> FloatArray:
    most = np.minimum(np.outer(rates / work, lengths), 1.0).ravel()
    upper = np.concatenate((most, np.full(len(work), np.inf)))
    return np.column_stack((np.zeros(len(upper)), upper))
