"""Proven bounds on any schedule, which say how far a schedule may be from optimal.

Makespan: all bytes at the full rate; the slowest single site; all sites at their caps on m
crawlers. Sum of execution times: each site alone. Both for the bytes that are fetched; for sites
that stop at their deadlines, the caller says how many. Shortfall (problem.py), the largest of

- each site alone at its cap: sum_i (D_i / c_i - d_i)+, or (D_i - c_i d_i)+ / U for one that stops;
- matching: the k-th end is no earlier than the k smallest sites' bytes take, and ends matched to
  deadlines in order are late the least;
- the exact order of one site at a time at the full rate (tardiness.py), where it was found;
- overflow: what the sites due by some deadline have more than the line carries by then is left
  undone, or the last of them is late by as much;
- a linear programme over time buckets (`linear_bound`), for up to some hundred sites.

Matching and order leave out the sites that stop: they might get nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from headgate.model.errors import MissingExtra, extra
from headgate.scheduling.arrays import FloatArray, IntArray
from headgate.scheduling.problem import Problem
from headgate.scheduling.tardiness import total_tardiness_order

if TYPE_CHECKING:
    from highspy import HighsLp

__all__ = ["Bounds", "linear_bound", "lower_bounds", "with_linear_bound"]


class Bounds(msgspec.Struct, frozen=True):
    """Values that no schedule goes below."""

    shortfall: float
    makespan: float
    total_time: float
    closer_with: str = ""
    """Extra to install for a closer bound on the shortfall; empty: none."""


def lower_bounds(problem: Problem, fetched: FloatArray | None = None) -> Bounds:
    """All bounds that cost O(n log n), and the exact order when it comes cheaply.

    ``fetched``: bytes per site, where it is known that sites that stop get them, but for what
    counts as nothing left.
    """
    if not len(problem):
        return Bounds(0.0, 0.0, 0.0)
    surely = 0.0 if fetched is None else np.maximum(fetched - problem.rounding, 0.0)
    work = np.where(problem.stops, surely, problem.work)
    alone = work / np.minimum(problem.caps, problem.capacity.peak)
    makespan = max(
        float(problem.capacity.time_of(float(work.sum()))),
        float(alone.max()),
        float(alone.sum()) / problem.slots,
    )
    shortfall = max(
        _alone_bound(problem),
        _matching_bound(problem),
        _one_at_a_time_bound(problem),
        _overflow_bound(problem),
    )
    return Bounds(shortfall, makespan, float(alone.sum()))


def with_linear_bound(bounds: Bounds, problem: Problem, horizon: float) -> Bounds:
    """Unchanged, with a note, if the solver is not installed."""
    try:
        missed = max(bounds.shortfall, linear_bound(problem, horizon))
    except MissingExtra as missing:
        return replace(bounds, closer_with=missing.install)
    return replace(bounds, shortfall=missed)


def _alone_bound(problem: Problem) -> float:
    alone = problem.work / np.minimum(problem.caps, problem.capacity.peak)
    late = np.maximum(alone - problem.deadlines, 0.0)
    left = np.maximum(problem.work - _most_by_deadline(problem), 0.0)
    return float(np.where(problem.stops, left / problem.capacity.peak, late).sum())


def _most_by_deadline(problem: Problem) -> FloatArray:
    time = np.maximum(problem.deadlines, 0.0)
    alone = np.minimum(problem.caps, problem.capacity.peak) * time
    most: FloatArray = np.minimum(alone, problem.capacity.bytes_by(time))
    return most


def _matching_bound(problem: Problem) -> float:
    goes_on = ~problem.stops
    ends = problem.capacity.time_of(np.cumsum(np.sort(problem.work[goes_on])))
    return float(np.maximum(ends - np.sort(problem.deadlines[goes_on]), 0.0).sum())


def _one_at_a_time_bound(problem: Problem) -> float:
    """Exact at a constant budget; at a changing one it takes the peak all the time."""
    durations = problem.work[~problem.stops] / problem.capacity.peak
    deadlines = problem.deadlines[~problem.stops]
    order = total_tardiness_order(durations, deadlines)
    if order is None:
        return 0.0
    late = np.cumsum(durations[order]) - deadlines[order]
    return float(np.maximum(late, 0.0).sum())


def _overflow_bound(problem: Problem) -> float:
    due = np.argsort(problem.deadlines, kind="stable")
    due = due[np.isfinite(problem.deadlines[due])]
    by_then = problem.capacity.bytes_by(np.maximum(problem.deadlines[due], 0.0))
    overflow = np.cumsum(problem.work[due]) - by_then
    # A late second takes up what the line carries in it, at the peak at the most.
    return float(max(overflow.max(initial=0.0), 0.0)) / problem.capacity.peak


_SOLVER_TOLERANCE = 1e-6
"""The solver stops within this part of the optimum; it is taken off to stay a bound."""


def linear_bound(problem: Problem, horizon: float, *, buckets: int = 100) -> float:
    """A lower bound on the shortfall (problem.py) with caps, by a linear programme over time
    buckets.

    y_it is the part of site i's work done in bucket t, T_i its lateness:

        min sum_i T_i   subject to
        sum_i D_i y_it <= bytes the budget gives in t        sum_i (D_i / c_i) y_it <= m * length of
        t sum_t y_it = 1                                       D_i y_it <= c_i * length of t
        T_i >= sum_t t y_it + D_i / (2 c_i) - d_i            (mean busy time and half the duration)
        T_i >= sum_t max(0, t - d_i) y_it                    (mean lateness of its bytes)

    A site that stops at its deadline has T_i >= D_i (1 - sum_t y_it) / U instead of the last two,
    with sum_t y_it <= 1 over the buckets that begin before its deadline: what it does not get, in
    seconds of the full rate U.

    Time is taken at a bucket's left edge and the last bucket, from the horizon on, holds anything,
    so every schedule is a solution, and the least value is a bound. HiGHS finds it (Huangfu, Hall,
    "Parallelizing the dual revised simplex method", 2018).

    The shortfall below which no schedule can be; O(n * buckets) variables. Raises MissingExtra
    if the solver is not installed.
    """
    # Costs a tenth of a second and twelve megabytes, and most plans need no such bound.
    highspy = extra("highspy", "bounds by a linear programme", "bounds")
    solver = highspy.Highs()
    solver.silent()
    solver.passModel(_programme(problem, horizon, buckets))
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return 0.0
    least = float(solver.getInfo().objective_function_value)
    return max(0.0, least * (1 - _SOLVER_TOLERANCE)) * horizon


def _programme(problem: Problem, horizon: float, buckets: int) -> HighsLp:
    """Columns are all y_it, site by site, then all T_i; rows see ``_columns``."""
    from highspy import HighsLp, MatrixFormat

    count = len(problem)
    edges = np.linspace(0.0, 1.0, buckets + 1)  # in units of the horizon, as are T_i
    caps = np.minimum(problem.caps, problem.capacity.peak)
    alone = problem.work / caps / horizon
    # Beyond ten horizons a deadline cannot matter, and infinity is no coefficient.
    deadlines = np.minimum(problem.deadlines / horizon, 10.0)
    budget = np.append(np.diff(problem.capacity.bytes_by(edges * horizon)), np.inf)
    lengths = np.append(np.diff(edges), np.inf)
    stops = problem.stops
    undone = np.where(stops, problem.work / problem.capacity.peak / horizon, 0.0)
    late_by = np.where(stops, np.inf, deadlines)
    scale = problem.work.sum()

    before_deadline = np.maximum(np.subtract.outer(deadlines, edges), 0.0)
    usable = np.where(stops[:, np.newaxis], np.minimum(before_deadline, lengths), lengths)
    most = np.minimum(usable / alone[:, np.newaxis], 1.0)
    free, bounded = np.full(count, np.inf), np.zeros(count)

    programme = HighsLp()
    programme.num_col_ = most.size + count
    programme.num_row_ = 2 * (buckets + 1) + 4 * count
    programme.col_cost_ = np.concatenate((np.zeros(most.size), np.ones(count)))
    programme.col_lower_ = np.zeros(most.size + count)
    programme.col_upper_ = np.concatenate((most.ravel(), free))
    programme.row_lower_ = np.concatenate(
        (np.full(2 * (buckets + 1), -np.inf), 1.0 - stops, -free, undone, -free)
    )
    programme.row_upper_ = np.concatenate(
        (budget / scale, problem.slots * lengths, bounded + 1, late_by - alone / 2, free, bounded)
    )
    start, rows, values = _columns(
        [
            problem.work[:, np.newaxis] / scale,
            alone[:, np.newaxis],
            np.ones((count, 1)),
            edges[np.newaxis],
            undone[:, np.newaxis],
            np.maximum(edges - late_by[:, np.newaxis], 0.0),
        ],
        count,
        buckets + 1,
    )
    matrix = programme.a_matrix_
    matrix.format_ = MatrixFormat.kColwise
    matrix.num_col_, matrix.num_row_ = programme.num_col_, programme.num_row_
    matrix.start_, matrix.index_, matrix.value_ = start, rows, values
    return programme


def _columns(
    of_part: Sequence[FloatArray], count: int, times: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """The matrix column by column, without its zeros: where each begins, its rows, its values.

    Rows: each bucket's bytes, each bucket's slots, then for each site its parts, its mean busy
    time, what it leaves undone, and its mean lateness. A part y_it stands in the two rows of
    its bucket and the four of its site, a lateness T_i in the last three of its site.
    """
    buckets, sites = np.arange(times)[np.newaxis], np.arange(count)[:, np.newaxis]
    firsts = 2 * times + count * np.arange(4)
    places = [buckets, times + buckets, *(first + sites for first in firsts)]
    shape = (count, times)
    rows = np.stack([np.broadcast_to(place, shape) for place in places], axis=2)
    values = np.stack([np.broadcast_to(value, shape) for value in of_part], axis=2)
    late_rows = sites + firsts[1:]
    late_values = np.broadcast_to([-1.0, 1.0, -1.0], late_rows.shape)
    kept = values.reshape(-1, len(places)) != 0
    lengths = np.concatenate((kept.sum(axis=1), np.full(count, 3)))
    return (
        np.concatenate(([0], np.cumsum(lengths))),
        np.concatenate((rows.reshape(kept.shape)[kept], late_rows.ravel())),
        np.concatenate((values.reshape(kept.shape)[kept], late_values.ravel())),
    )
