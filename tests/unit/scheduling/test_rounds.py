"""Algorithm 4 and its baselines."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from tests.unit.scheduling.checker import check_schedule
from tests.unit.scheduling.instances import problems

from headgate.scheduling.allocation import m_maxt, m_stet, m_sumt
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.problem import Problem, Schedule
from headgate.scheduling.proportional import pro_bandwidth
from headgate.scheduling.rounds import alloc_once, re_alloc, re_alloc_pro_data_amount

ROUND_POLICIES: dict[str, Callable[[Problem], Schedule]] = {
    "ReAlloc-MAXT": lambda problem: re_alloc(problem, m_maxt, m_stet),
    "ReAlloc-SUMT": lambda problem: re_alloc(problem, m_sumt, m_stet),
    "ReAlloc-PROBandwidth": lambda problem: re_alloc(problem, pro_bandwidth, pro_bandwidth),
    "AllocOnce": alloc_once,
    "ReAlloc-PRODataAmount": re_alloc_pro_data_amount,
}


@pytest.mark.parametrize("name", ROUND_POLICIES)
@settings(max_examples=300, deadline=None)
@given(problem=problems())
def test_every_schedule_passes_the_checker(name: str, problem: Problem) -> None:
    check_schedule(problem, ROUND_POLICIES[name](problem))


@pytest.mark.parametrize("name", ROUND_POLICIES)
def test_nothing_to_do(name: str) -> None:
    assert ROUND_POLICIES[name](Problem.from_arrays([], budget=1.0)).makespan == 0


def test_a_round_by_hand() -> None:
    """Four sites, two slots, 100 bytes/s, as Algorithm 4 goes.

    M-MAXT gives sites 0 and 1 their 50 each, both end at 10. Site 2 needs 80 for its deadline and
    gets it, site 3 the other 20.
    """
    problem = Problem.from_arrays([500, 500, 400, 300], [10, 10, 15, np.inf], budget=100.0, slots=2)
    schedule = re_alloc(problem)
    assert schedule.site_ends == pytest.approx([10, 10, 15, 25])
    assert schedule.site_starts == pytest.approx([0, 0, 10, 10])


def test_an_ended_site_hands_its_rate_to_the_next_until_the_round_ends() -> None:
    """Site 0 needs 60 and ends at 5; site 2 inherits 60 and runs until site 1 ends at 10.

    It has taken 300 by then; the 100 left are alone in the second round and get the whole line.
    """
    problem = Problem.from_arrays([300, 400, 400], [5, 10, np.inf], budget=100.0, slots=2)
    schedule = re_alloc(problem)
    assert schedule.site_ends == pytest.approx([5, 10, 11])
    assert schedule.site_starts == pytest.approx([0, 0, 5])
    assert alloc_once(problem).site_ends == pytest.approx([5, 10, 5 + 400 / 60])


def test_overdue_sites_go_to_m_stet() -> None:
    problem = Problem.from_arrays([100, 400], [-5, 1000], budget=90.0)
    rates = re_alloc(problem).rates
    assert rates[0] > 89, "the late one gets all that the other can spare"


def test_pro_data_amount_ends_each_round_together_and_has_the_least_makespan() -> None:
    rng = np.random.default_rng(3)
    work = rng.uniform(10, 100, 20)
    problem = Problem.from_arrays(work, rng.uniform(1, 50, 20), budget=7.0, slots=4)
    schedule = re_alloc_pro_data_amount(problem)
    assert len(np.unique(schedule.site_ends.round(6))) == 5
    assert schedule.makespan == pytest.approx(work.sum() / 7.0)


def test_alloc_once_keeps_its_shares_through_a_turn() -> None:
    capacity = Capacity.from_pieces([(0, 100), (2, 0), (4, 50)])
    schedule = alloc_once(Problem.from_arrays([300, 100], budget=capacity))
    assert schedule.rates == pytest.approx([75, 25, 37.5, 12.5])
    assert schedule.site_ends == pytest.approx([8, 8])


def test_an_heir_takes_no_more_than_its_cap_and_its_heir_the_whole_slot() -> None:
    problem = Problem.from_arrays(
        [100, 1000, 30, 100], [1, 900, 901, 902], caps=[np.inf, 1.2, 10, np.inf], budget=102.0,
        slots=2,
    )  # fmt: skip
    schedule = alloc_once(problem)
    rate_of = dict(zip(schedule.sites.tolist(), schedule.rates.tolist(), strict=True))
    assert rate_of[2] == 10
    assert rate_of[3] == pytest.approx(rate_of[0])


@pytest.mark.parametrize("name", ROUND_POLICIES)
def test_ten_thousand_sites_in_seconds(name: str) -> None:
    rng = np.random.default_rng(5)
    work = rng.lognormal(10, 1, 10_000)
    deadlines = rng.uniform(0.1, 1.2, 10_000) * work.sum() / 1e6
    problem = Problem.from_arrays(work, deadlines, budget=1e6, slots=100)
    begun = perf_counter()
    schedule = ROUND_POLICIES[name](problem)
    assert perf_counter() - begun < 10
    assert schedule.makespan > 0
