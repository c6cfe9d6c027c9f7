"""The verdict without a plan is the one that a plan would have."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.unit.scheduling.problems import problems

from headgate.model.plan import LATE_AFTER_SECONDS, Verdict
from headgate.scheduling.order_search import best_schedule
from headgate.scheduling.planner import feasibility
from headgate.scheduling.problem import Problem


@settings(max_examples=80, deadline=None)
@given(problems(), st.integers(0, 2**8 - 1))
def test_the_verdict_agrees_with_the_best_schedule(problem: Problem, stopping: int) -> None:
    stops = np.array([bool(stopping >> site & 1) for site in range(len(problem))])
    problem = structs.replace(problem, stops=stops)
    schedule = best_schedule(problem, np.random.default_rng(0))
    shortfall = float(schedule.shortfall(problem).sum())
    verdict = feasibility(problem)
    if verdict is Verdict.OPEN:
        assert problem.capped
        assert len(problem) > problem.slots
    elif verdict is Verdict.FEASIBLE:
        assert shortfall <= 0.001, "orders are compared to the millisecond"
    else:
        assert shortfall > LATE_AFTER_SECONDS
