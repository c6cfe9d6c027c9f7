"""Water-filling against a linear programme, which knows nothing of levels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from msgspec import structs
from scipy.optimize import linprog
from tests.unit.scheduling.checker import check_schedule
from tests.unit.scheduling.problems import problems, random_problem

from headgate.scheduling.event_schedule import event_schedule
from headgate.scheduling.problem import Problem
from headgate.scheduling.tardiness import edd_order
from headgate.scheduling.water_filling import (
    deadlines_can_be_met,
    least_budget_scale,
    water_filling_rates,
    water_filling_schedule,
)

INSTANCES = 400


def largest_deliverable_share(problem: Problem, scale: float = 1.0) -> float:
    """The largest s such that every site can have s of its bytes by its deadline: an LP.

    Variables are x_ik >= 0, the bytes of site i in interval k, and s.
    """
    due = np.flatnonzero(np.isfinite(problem.deadlines))
    if not len(due):
        return np.inf
    last = problem.deadlines[due].max()
    cuts = np.unique([0.0, *problem.capacity.starts, *problem.deadlines[due]])
    cuts = cuts[cuts <= last]
    lengths = np.diff(cuts)
    rates = scale * np.array([problem.capacity.rate_at((a + b) / 2) for a, b in pairwise(cuts)])
    count, intervals = len(due), len(lengths)
    share = count * intervals
    budget_rows = np.zeros((intervals, share + 1))
    site_rows = np.zeros((count, share + 1))
    upper: list[tuple[float, float | None]] = []
    for i, site in enumerate(due):
        for k in range(intervals):
            budget_rows[k, i * intervals + k] = 1.0
            site_rows[i, i * intervals + k] = 1.0
            open_ = cuts[k + 1] <= problem.deadlines[site] * (1 + 1e-15)
            upper.append((0.0, min(problem.caps[site], 1e9) * lengths[k] if open_ else 0.0))
        site_rows[i, share] = -problem.work[site]
    cost = np.zeros(share + 1)
    cost[share] = -1.0
    result = linprog(
        cost, A_ub=budget_rows, b_ub=rates * lengths, A_eq=site_rows, b_eq=np.zeros(count),
        bounds=[*upper, (0.0, None)], method="highs",
    )  # fmt: skip
    assert result.success
    assert result.x is not None
    return float(result.x[share])


@pytest.mark.parametrize("timetable", [False, True])
def test_agrees_with_a_linear_programme(timetable: bool) -> None:
    answers = []
    for seed in range(INSTANCES):
        problem = random_problem(seed, timetable=timetable, capped=seed % 4 > 0)
        share = largest_deliverable_share(problem)
        if abs(share - 1) < 1e-6:
            continue  # on the edge both answers are right
        answers.append(share > 1)
        assert deadlines_can_be_met(problem) == (share > 1), seed
    assert len(answers) >= 300
    assert 0.2 < np.mean(answers) < 0.8, "instances must be of both kinds"


def test_least_budget_scale_is_the_linear_programmes_edge() -> None:
    found = 0
    for seed in range(INSTANCES):
        problem = random_problem(seed, timetable=seed % 2 == 0)
        scale = least_budget_scale(problem)
        if scale is None:
            assert largest_deliverable_share(problem, scale=1e6) < 1
        elif scale > 0:
            found += 1
            assert largest_deliverable_share(problem, scale) == pytest.approx(1, abs=1e-5)
    assert found >= 100


@given(problems(enough_slots=True))
def test_schedule_meets_all_deadlines_when_there_is_one(problem: Problem) -> None:
    schedule = water_filling_schedule(problem)
    assert (schedule is not None) == deadlines_can_be_met(problem)
    if schedule is not None:
        check_schedule(problem, schedule)
        assert schedule.lateness(problem).max() <= 1e-5


@given(problems(enough_slots=True))
def test_rates_of_now_are_the_schedules_first(problem: Problem) -> None:
    schedule = water_filling_schedule(problem)
    rates = water_filling_rates(problem, edd_order(problem.work, problem.deadlines))
    assert (schedule is None) == (rates is None)
    if schedule is not None and rates is not None and rates.any():
        first = schedule.starts == schedule.starts.min()
        assert sorted(schedule.rates[first]) == pytest.approx(sorted(rates[rates > 0]))


def test_edf_with_caps_misses_what_water_filling_meets() -> None:
    """The reason this file exists: serving the earliest deadline first is not enough."""
    missed = met = 0
    for seed in range(400):
        problem = random_problem(seed, timetable=False, tightness=(0.9, 1.6))
        if not deadlines_can_be_met(problem):
            continue
        met += 1
        edf = event_schedule(problem, edd_order(problem.work, problem.deadlines))
        missed += edf.tardiness(problem) > 0
    assert met > 50
    assert missed > 5


def test_needs_nothing_without_deadlines() -> None:
    problem = Problem.from_arrays([5.0, 6.0], budget=1.0)
    assert deadlines_can_be_met(problem)
    assert least_budget_scale(problem) == 0.0


def test_an_overdue_site_cannot_be_saved() -> None:
    problem = Problem.from_arrays([5.0, 6.0], [-1.0, 100.0], budget=1.0)
    assert not deadlines_can_be_met(problem)
    assert least_budget_scale(problem) is None
    assert water_filling_schedule(problem) is None


def test_is_refused_with_fewer_crawlers_than_sites() -> None:
    problem = Problem.from_arrays([5.0, 6.0], [100.0, 100.0], budget=1.0)
    assert water_filling_schedule(problem) is not None
    assert water_filling_schedule(structs.replace(problem, slots=1)) is None
