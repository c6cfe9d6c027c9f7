"""Constant rates from start to end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.unit.scheduling.checker import check_schedule
from tests.unit.scheduling.instances import problems

from headgate.model.errors import PlanningError
from headgate.scheduling.allocation import m_stet, m_sumt
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.problem import Problem
from headgate.scheduling.proportional import pro_bandwidth, pro_data_amount
from headgate.scheduling.rounds import Allocate, constant_rates


@pytest.mark.parametrize("allocate", [m_stet, pro_bandwidth, pro_data_amount])
@settings(max_examples=300, deadline=None)
@given(problem=problems(all_at_once=True))
def test_every_schedule_passes_the_checker(allocate: Allocate, problem: Problem) -> None:
    check_schedule(problem, constant_rates(problem, allocate))


def test_nobody_takes_over_the_rate_of_an_ended_site() -> None:
    schedule = constant_rates(Problem.from_arrays([1.0, 4.0, 9.0], budget=60.0), m_sumt)
    assert schedule.rates == pytest.approx([10, 20, 30])
    assert schedule.site_ends == pytest.approx([0.1, 0.2, 0.3])


def test_a_turn_of_the_timetable_allocates_anew_what_is_left() -> None:
    capacity = Capacity.from_pieces([(0, 0), (1, 60), (1.2, 6)])
    schedule = constant_rates(Problem.from_arrays([1.0, 4.0, 9.0], budget=capacity), m_sumt)
    assert schedule.site_starts == pytest.approx([1, 1, 1])
    assert schedule.site_ends[:2] == pytest.approx([1.1, 1.2])
    assert schedule.site_ends[2] == pytest.approx(1.2 + 3 / 6), "alone with all of the 6"


def test_more_sites_than_crawlers_are_refused() -> None:
    with pytest.raises(PlanningError, match="use ReAlloc"):
        constant_rates(Problem.from_arrays(np.ones(3), budget=1.0, slots=2), m_sumt)


def test_nothing_to_do() -> None:
    assert constant_rates(Problem.from_arrays([], budget=1.0), m_sumt).makespan == 0
