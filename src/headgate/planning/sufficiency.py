"""Zhu 2020, Eq. 1: is the line wide enough for all deadlines at constant rates?"""

from __future__ import annotations

import numpy as np

from headgate.planning.arrays import FloatArray

__all__ = ["RELATIVE_TOLERANCE", "is_sufficient", "required_rate", "required_rates"]

RELATIVE_TOLERANCE = 1e-12


def required_rates(work: FloatArray, deadlines: FloatArray) -> FloatArray:
    """The least constant rate per site, D_i / t*_i; 0 without a deadline, infinity when overdue."""
    overdue = deadlines <= 0
    return np.where(overdue, np.inf, work / np.where(overdue, 1.0, deadlines))


def required_rate(work: FloatArray, deadlines: FloatArray) -> float:
    """Eq. 1, the least total rate if every site starts at once and never changes its rate."""
    return float(required_rates(work, deadlines).sum())


def is_sufficient(
    work: FloatArray, deadlines: FloatArray, budget: float, caps: FloatArray | None = None
) -> bool:
    """Whether constant rates can meet all deadlines and give every site something.

    The paper's fail rule with its edge settled: needing exactly the budget is enough, unless a
    site without deadline would be left with nothing.
    """
    floors = required_rates(work, deadlines)
    if caps is not None and (floors > caps * (1 + RELATIVE_TOLERANCE)).any():
        return False
    needed = float(floors.sum())
    if np.isinf(deadlines).any():
        return needed < budget * (1 - RELATIVE_TOLERANCE)
    return needed <= budget * (1 + RELATIVE_TOLERANCE)
