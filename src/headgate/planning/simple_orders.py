"""Cheap orders: the start of a search, or its substitute."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headgate.planning.arrays import IntArray
from headgate.planning.problem import Problem
from headgate.planning.tardiness import edd_order, mdd_order

__all__ = ["simple_orders"]


def simple_orders(problem: Problem) -> Iterator[IntArray]:
    """By deadline, modified deadline, slack, and what else the problem suggests: O(n log n)."""
    durations = problem.work / problem.capacity.rates.mean()
    alone = problem.work / np.minimum(problem.caps, problem.capacity.peak)
    yield edd_order(durations, problem.deadlines)
    yield mdd_order(durations, problem.deadlines)
    yield np.lexsort((-alone, problem.deadlines - alone))  # least slack; longest first among equals
    if problem.may_stop:
        goes_on = mdd_order(durations, problem.deadlines)
        yield goes_on[np.argsort(problem.stops[goes_on], kind="stable")]
    if not np.isfinite(problem.deadlines).all():
        yield np.argsort(-alone, kind="stable")  # longest first: what ends last starts first
