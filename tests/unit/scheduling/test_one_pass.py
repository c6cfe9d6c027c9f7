"""The sweep against the paper's own one-pass forms, and where those stop being right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.unit.scheduling.one_pass import (
    AllocationFailsError,
    algorithm_1,
    algorithm_2,
    algorithm_3,
    one_pass_with_caps,
)

from headgate.model.errors import PlanningError
from headgate.scheduling.allocation import m_maxt, m_stet, m_sumt, required_rate
from headgate.scheduling.arrays import FloatArray

OnePass = Callable[[list[float], list[float], float], list[float]]
Sweep = Callable[[FloatArray, FloatArray, float], FloatArray]


def _instance(seed: int) -> tuple[FloatArray, FloatArray, float]:
    """Sites, deadlines, and a budget between well too narrow and well wide enough."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 30))
    work = rng.lognormal(3, 1.5, count)
    deadlines = rng.uniform(1, 100, count)
    deadlines[rng.random(count) < 0.2] = np.inf
    return work, deadlines, float(rng.uniform(0.4, 3)) * max(required_rate(work, deadlines), 1.0)


@pytest.mark.parametrize(("one_pass", "sweep"), [(algorithm_1, m_maxt), (algorithm_2, m_sumt)])
def test_m_maxt_and_m_sumt_equal_the_one_pass_form(one_pass: OnePass, sweep: Sweep) -> None:
    fails = 0
    for seed in range(1000):
        work, deadlines, budget = _instance(seed)
        try:
            expected = one_pass(work.tolist(), deadlines.tolist(), budget)
        except AllocationFailsError:
            fails += 1
            with pytest.raises(PlanningError):
                sweep(work, deadlines, budget)
            continue
        assert sweep(work, deadlines, budget) == pytest.approx(expected, rel=1e-9)
    assert 100 < fails < 500, "both branches were tried"


def test_m_stet_equals_the_one_pass_form() -> None:
    tried = 0
    for seed in range(2000):
        work, deadlines, budget = _instance(seed)
        deadlines[np.random.default_rng(seed).random(len(work)) < 0.1] = -1.0
        overdue = deadlines <= 0
        if budget >= required_rate(work[~overdue], deadlines[~overdue]) and not overdue.any():
            continue
        try:
            expected = algorithm_3(work.tolist(), deadlines.tolist(), budget)
        except AllocationFailsError:
            continue
        tried += 1
        assert m_stet(work, deadlines, budget) == pytest.approx(expected, rel=1e-9)
    assert tried >= 500


def test_needing_exactly_the_budget_is_enough() -> None:
    """With "at or before" in place of "before", the paper's loop would declare this a failure."""
    work, deadlines = np.array([100.0, 100.0]), np.array([10.0, 10.0])
    assert m_maxt(work, deadlines, 20.0) == pytest.approx([10, 10])
    assert algorithm_1(work.tolist(), deadlines.tolist(), 20.0) == pytest.approx([10, 10])


def test_with_caps_one_pass_is_not_optimal_and_the_sweep_is() -> None:
    work, floors = np.array([400.0, 800.0, 100.0]), np.array([13.0, 8.0, 39.0])
    caps = np.array([69.0, 47.0, 80.0])
    greedy = np.array(one_pass_with_caps(work.tolist(), floors.tolist(), caps.tolist(), 100.0))
    assert greedy == pytest.approx([14, 47, 39])
    assert (work / greedy).sum() == pytest.approx(48.2, abs=0.05)
    exact = m_sumt(work, work / floors, 100.0, caps)
    assert exact == pytest.approx([25.27, 35.73, 39], abs=0.005)
    assert (work / exact).sum() == pytest.approx(40.8, abs=0.05)
