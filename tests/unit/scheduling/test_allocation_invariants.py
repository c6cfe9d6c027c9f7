"""What holds for every allocation, whatever the instance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.unit.scheduling.instances import BUDGET, problems

from headgate.model.errors import PlanningError
from headgate.scheduling.allocation import is_sufficient, m_maxt, m_stet, m_sumt, required_rate
from headgate.scheduling.problem import Problem
from headgate.scheduling.proportional import pro_bandwidth, pro_data_amount
from headgate.scheduling.rounds import Allocate

ROUNDING = 1e-9
ALWAYS = [m_stet, pro_bandwidth, pro_data_amount]
WHEN_SUFFICIENT = [m_maxt, m_sumt]
FACTOR = st.floats(1.0, 10.0)


def _widened(problem: Problem) -> Problem:
    """The same with deadlines that the line can just keep, if it is wide enough at all."""
    deadlines = np.where(problem.deadlines <= 0, np.inf, problem.deadlines)
    with np.errstate(divide="ignore"):
        by_cap = problem.work / problem.caps * 1.01
    stretch = max(required_rate(problem.work, deadlines) * 1.01 / BUDGET, 1.0)
    return Problem.from_arrays(
        problem.work,
        np.maximum(deadlines * stretch, by_cap),
        budget=BUDGET,
        caps=problem.caps,
    )


@pytest.mark.parametrize("allocate", ALWAYS)
@settings(deadline=None)
@given(problem=problems(all_at_once=True))
def test_budget_and_caps_are_kept_and_none_starves(allocate: Allocate, problem: Problem) -> None:
    rates = allocate(problem.work, problem.deadlines, BUDGET, problem.caps)
    assert (rates > 0).all()
    assert (rates <= problem.caps * (1 + ROUNDING)).all()
    assert rates.sum() <= BUDGET * (1 + ROUNDING)
    assert rates.sum() >= min(BUDGET, problem.caps.sum()) * (1 - ROUNDING), "nothing is wasted"


@pytest.mark.parametrize("allocate", WHEN_SUFFICIENT)
@settings(deadline=None)
@given(problem=problems(all_at_once=True).map(_widened))
def test_all_deadlines_are_met_when_the_line_is_wide_enough(
    allocate: Allocate, problem: Problem
) -> None:
    assert is_sufficient(problem.work, problem.deadlines, BUDGET, problem.caps)
    rates = allocate(problem.work, problem.deadlines, BUDGET, problem.caps)
    assert (problem.work / rates <= problem.deadlines * (1 + ROUNDING)).all()
    assert (rates <= problem.caps * (1 + ROUNDING)).all()
    assert rates.sum() <= BUDGET * (1 + ROUNDING)
    assert rates.sum() >= min(BUDGET, problem.caps.sum()) * (1 - ROUNDING)


@pytest.mark.parametrize("allocate", WHEN_SUFFICIENT)
@given(problem=problems(all_at_once=True))
def test_a_line_that_is_too_narrow_is_refused(allocate: Allocate, problem: Problem) -> None:
    assume(not is_sufficient(problem.work, problem.deadlines, BUDGET, problem.caps))
    with pytest.raises(PlanningError, match="use M-STET"):
        allocate(problem.work, problem.deadlines, BUDGET, problem.caps)


@pytest.mark.parametrize("allocate", ALWAYS)
@settings(deadline=None)
@given(problem=problems(all_at_once=True), factor=FACTOR)
def test_a_wider_line_gives_nobody_less(
    allocate: Allocate, problem: Problem, factor: float
) -> None:
    _assert_nobody_gets_less(allocate, problem, factor)


@pytest.mark.parametrize("allocate", WHEN_SUFFICIENT)
@settings(deadline=None)
@given(problem=problems(all_at_once=True).map(_widened), factor=FACTOR)
def test_a_wider_line_gives_nobody_less_with_deadlines_kept(
    allocate: Allocate, problem: Problem, factor: float
) -> None:
    _assert_nobody_gets_less(allocate, problem, factor)


def _assert_nobody_gets_less(allocate: Allocate, problem: Problem, factor: float) -> None:
    narrow = allocate(problem.work, problem.deadlines, BUDGET, problem.caps)
    wide = allocate(problem.work, problem.deadlines, BUDGET * factor, problem.caps)
    assert (wide >= narrow - ROUNDING * BUDGET).all()


@pytest.mark.parametrize(
    ("allocate", "measure"), [(m_maxt, np.max), (m_sumt, np.sum)], ids=["max", "sum"]
)
@settings(deadline=None)
@given(problem=problems(all_at_once=True).map(_widened))
def test_each_is_at_least_as_good_as_the_other_at_what_it_minimises(
    allocate: Allocate, measure: Callable[[object], float], problem: Problem
) -> None:
    other = m_sumt if allocate is m_maxt else m_maxt
    work, deadlines, caps = problem.work, problem.deadlines, problem.caps
    mine = measure(work / allocate(work, deadlines, BUDGET, caps))
    theirs = measure(work / other(work, deadlines, BUDGET, caps))
    assert mine <= theirs * (1 + ROUNDING)
