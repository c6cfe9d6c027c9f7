"""A partition of sites over machines, how long it takes, and how long any must take.

The bound is that of machines that may share a site: all work on all of them, and for each k < m
the k longest sites on the k fastest, since a site is on one machine at a time:

    max( Σp / Σs,  max_{k<m} Σ_{i≤k} p_(i) / Σ_{j≤k} s_(j) ),   both in falling order
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "ENOUGH",
    "FloatArray",
    "Owners",
    "as_floats",
    "loads",
    "longest_first",
    "lower_bound",
    "makespan",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
Owners: TypeAlias = npt.NDArray[np.int_]
"""The machine of each site."""
ENOUGH = 1 + 1e-6
"""Times the bound: a partition that close is good enough."""


def as_floats(values: Any) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def longest_first(work: FloatArray) -> Owners:
    """Numbers of the sites; equal ones in their order."""
    return np.argsort(-work, kind="stable")


def loads(owners: Owners, work: FloatArray, speeds: FloatArray) -> FloatArray:
    """Seconds that each machine takes for its sites."""
    return as_floats(np.bincount(owners, work, minlength=len(speeds)) / speeds)


def makespan(owners: Owners, work: FloatArray, speeds: FloatArray) -> float:
    """Seconds until the last machine is done.

    >>> makespan(np.array([0, 1, 1]), as_floats([6, 2, 2]), as_floats([2, 1]))
    4.0
    """
    return float(loads(owners, work, speeds).max())


def lower_bound(work: FloatArray, speeds: FloatArray) -> float:
    """No partition takes fewer seconds.

    >>> lower_bound(as_floats([6, 1, 1]), as_floats([1, 1]))
    6.0
    """
    longest, fastest = np.sort(work)[::-1], np.sort(speeds)[::-1]
    few = min(len(work), len(speeds) - 1)
    bounds = np.cumsum(longest)[:few] / np.cumsum(fastest)[:few]
    return float(max(work.sum() / speeds.sum(), bounds.max(initial=0.0)))
