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
- a linear programme over time buckets (linear_bound.py), for up to some hundred sites.

Matching and order leave out the sites that stop: they might get nothing.
"""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace

from headgate.model.extras import MissingExtra
from headgate.planning.arrays import FloatArray
from headgate.planning.linear_bound import linear_bound
from headgate.planning.problem import Problem
from headgate.planning.tardiness import total_tardiness_order

__all__ = ["Bounds", "lower_bounds", "with_linear_bound"]


class Bounds(msgspec.Struct, frozen=True):
    """Values that no schedule goes below."""

    shortfall: float
    makespan: float
    total_time: float
    closer_with: str = ""
    """Extra to install for a closer bound on the shortfall; empty: none."""


def lower_bounds(problem: Problem, fetched: FloatArray | None = None) -> Bounds:
    """All bounds that cost O(n log n), and the exact order when it comes cheaply.

    ``fetched``: bytes per site, where it is known that sites that stop get them.
    """
    if not len(problem):
        return Bounds(0.0, 0.0, 0.0)
    work = np.where(problem.stops, 0.0, problem.work) if fetched is None else fetched
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
