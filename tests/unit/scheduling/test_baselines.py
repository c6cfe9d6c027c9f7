"""PROBandwidth, PRODataAmount, Random, GA and DE."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from tests.unit.scheduling.checker import check_schedule
from tests.unit.scheduling.instances import BUDGET, problems

from headgate.model.budget import Objective
from headgate.scheduling.allocation import is_sufficient, m_maxt, m_stet, m_sumt
from headgate.scheduling.arrays import FloatArray
from headgate.scheduling.evolution import differential_evolution, genetic
from headgate.scheduling.problem import Problem
from headgate.scheduling.proportional import pro_bandwidth, pro_data_amount, random_shares
from headgate.scheduling.rounds import constant_rates

Search = Callable[
    [FloatArray, FloatArray, float, FloatArray | None, Objective, np.random.Generator], FloatArray
]
SIX_SITES = np.array([1, 1.3, 1.6, 1.9, 2.2, 2.5]) * 125_000 / 10.5
LOOSE = np.array([152.88, 252.00, 89.49, 70.63, 214.84, 191.12])
TIGHT = np.array([120.5, 51.3, 115.0, 271.9, 64.9, 120.4])


@settings(max_examples=300, deadline=None)
@given(problem=problems(all_at_once=True))
def test_random_schedules_pass_the_checker(problem: Problem) -> None:
    rng = np.random.default_rng(len(problem))
    schedule = constant_rates(
        problem, lambda work, deadlines, u, caps: random_shares(work, deadlines, u, caps, rng)
    )
    check_schedule(problem, schedule)


@settings(max_examples=300, deadline=None)
@given(problem=problems(all_at_once=True))
def test_random_and_pro_bandwidth_meet_all_deadlines_when_the_line_is_wide_enough(
    problem: Problem,
) -> None:
    work, deadlines = problem.work, problem.deadlines
    rng = np.random.default_rng(1)
    if is_sufficient(work, deadlines, BUDGET, problem.caps):
        rates = random_shares(work, deadlines, BUDGET, problem.caps, rng)
        assert (work / rates <= deadlines * (1 + 1e-9)).all()
    if is_sufficient(work, deadlines, BUDGET) and np.isfinite(deadlines).all():
        rates = pro_bandwidth(work, deadlines, BUDGET)
        assert (work / rates <= deadlines * (1 + 1e-9)).all()


def test_pro_bandwidth_scales_all_deadlines_by_one_factor() -> None:
    """Eq. 15."""
    rates = pro_bandwidth(SIX_SITES, LOOSE, 1000.0)
    stretch = SIX_SITES / rates / LOOSE
    assert stretch == pytest.approx(np.full(6, (SIX_SITES / LOOSE).sum() / 1000.0))


def test_pro_bandwidth_where_the_paper_is_silent() -> None:
    work = np.array([100.0, 100.0, 100.0])
    no_deadline = pro_bandwidth(work, np.array([10.0, 20.0, np.inf]), 50.0)
    assert no_deadline == pytest.approx([25, 12.5, 12.5])
    overdue = pro_bandwidth(work, np.array([-3.0, 4.0, np.inf]), 60.0)
    assert overdue == pytest.approx([40, 10, 10])
    nobody_has_one = pro_bandwidth(np.array([100.0, 300.0]), np.full(2, np.inf), 40.0)
    assert nobody_has_one == pytest.approx([10, 30])


def test_what_a_capped_site_cannot_take_goes_to_the_others_in_proportion() -> None:
    work, caps = np.array([100.0, 200.0, 100.0]), np.array([np.inf, 20.0, np.inf])
    assert pro_data_amount(work, work, 80.0, caps) == pytest.approx([30, 20, 30])


@pytest.mark.parametrize("search", [genetic, differential_evolution])
@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("deadlines", [LOOSE, TIGHT, np.full(6, np.inf)], ids=str)
@pytest.mark.parametrize("caps", [None, np.array([150.0, 200, 200, 250, 250, 600])], ids=str)
def test_a_search_comes_near_the_optimum_and_never_below(
    search: Search, objective: Objective, deadlines: FloatArray, caps: FloatArray | None
) -> None:
    rates = search(SIX_SITES, deadlines, 1000.0, caps, objective, np.random.default_rng(7))
    assert rates.sum() <= 1000 * (1 + 1e-9)
    assert caps is None or (rates <= caps * (1 + 1e-9)).all()
    times = SIX_SITES / rates
    if not is_sufficient(SIX_SITES, deadlines, 1000.0, caps):
        best = np.maximum(SIX_SITES / m_stet(SIX_SITES, deadlines, 1000.0, caps) - deadlines, 0)
        found, least = np.maximum(times - deadlines, 0).sum(), best.sum()
    elif objective is Objective.MAKESPAN:
        found, least = times.max(), (SIX_SITES / m_maxt(SIX_SITES, deadlines, 1000.0, caps)).max()
    else:
        found, least = times.sum(), (SIX_SITES / m_sumt(SIX_SITES, deadlines, 1000.0, caps)).sum()
    assert least * (1 - 1e-9) <= found <= least * 1.1


@pytest.mark.parametrize("search", [genetic, differential_evolution])
def test_a_search_handles_sites_without_deadline_overdue_ones_and_a_single_site(
    search: Search,
) -> None:
    rng = np.random.default_rng(1)
    mixed = np.array([-1.0, np.inf, 5.0])
    rates = search(np.full(3, 100.0), mixed, 30.0, None, Objective.MAKESPAN, rng)
    assert (rates > 1).all()
    alone = search(np.array([100.0]), np.array([5.0]), 30.0, None, Objective.MAKESPAN, rng)
    assert alone == pytest.approx([30])
