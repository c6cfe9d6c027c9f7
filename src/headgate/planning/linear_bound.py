"""A lower bound on total lateness with caps, by a linear programme over time buckets.

y_it is the part of site i's work done in bucket t, T_i its lateness:

    min sum_i T_i   subject to
    sum_i D_i y_it <= bytes the budget gives in t        sum_i (D_i / c_i) y_it <= m * length of t
    sum_t y_it = 1                                       D_i y_it <= c_i * length of t
    T_i >= sum_t t y_it + D_i / (2 c_i) - d_i            (mean busy time and half the duration)
    T_i >= sum_t max(0, t - d_i) y_it                    (mean lateness of its bytes)

Time is taken at a bucket's left edge and the last bucket, from the horizon on, holds anything, so
every schedule is a solution, and the least value is a bound.
"""

from __future__ import annotations

import numpy as np

from headgate.planning.arrays import FloatArray
from headgate.planning.problem import Problem

__all__ = ["linear_bound"]

_SOLVER_TOLERANCE = 1e-6
"""The solver stops within this part of the optimum; it is taken off to stay a bound."""


def linear_bound(problem: Problem, horizon: float, *, buckets: int = 100) -> float:
    """Total lateness below which no schedule can be; O(n * buckets) variables."""
    # SciPy costs 50 MB and half a second, and most plans need no such bound.
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import block_diag, csr_array, eye_array, hstack, kron

    count = len(problem)
    edges = np.linspace(0.0, 1.0, buckets + 1)  # in units of the horizon, as are T_i
    caps = np.minimum(problem.caps, problem.capacity.peak)
    alone = problem.work / caps / horizon
    # Beyond ten horizons a deadline cannot matter, and infinity is no coefficient.
    deadlines = np.minimum(problem.deadlines / horizon, 10.0)
    budget = np.append(np.diff(problem.capacity.bytes_by(edges * horizon)), np.inf)
    lengths = np.append(np.diff(edges), np.inf)
    sites, times = eye_array(count), eye_array(buckets + 1)

    def per_bucket(weight: FloatArray) -> csr_array:
        none = csr_array((buckets + 1, count))
        return csr_array(hstack([kron(weight[np.newaxis], times), none]))

    overdue = [np.maximum(edges - deadline, 0.0)[np.newaxis] for deadline in deadlines]
    scale = problem.work.sum()
    constraints = [
        LinearConstraint(per_bucket(problem.work / scale), ub=budget / scale),
        LinearConstraint(per_bucket(alone), ub=problem.slots * lengths),
        LinearConstraint(hstack([kron(sites, np.ones((1, buckets + 1))), 0 * sites]), lb=1, ub=1),
        LinearConstraint(
            hstack([kron(sites, edges[np.newaxis]), -sites]), ub=deadlines - alone / 2
        ),
        LinearConstraint(hstack([block_diag(overdue), -sites]), ub=0),
    ]
    most = np.minimum(np.outer(1 / alone, lengths), 1.0)
    upper = np.concatenate((most.ravel(), np.full(count, np.inf)))
    cost = np.concatenate((np.zeros(most.size), np.ones(count)))
    result = milp(cost, constraints=constraints, bounds=Bounds(0, upper))
    if not result.success:
        return 0.0
    return max(0.0, float(result.fun) * (1 - _SOLVER_TOLERANCE)) * horizon
