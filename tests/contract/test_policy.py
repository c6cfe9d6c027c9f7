"""What planner and crawl rely on in any policy of the registry.

How each drives a whole crawl is played in `tests/simulation/test_policies.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.scheduling.checker import check_schedule
from tests.unit.scheduling.instances import problems
from tests.unit.scheduling.problems import random_problem
from tests.unit.scheduling.test_policy_follower import crawl, state_of

from headgate.scheduling.policies import POLICIES, Policy
from headgate.scheduling.policy_follower import PolicyFollower
from headgate.scheduling.problem import Problem, Schedule
from headgate.scheduling.replan import CrawlState

EVERY = pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))


def planned(policy: Policy, problem: Problem, seed: int = 1) -> Schedule:
    return policy.schedule(problem, np.random.default_rng(seed))


@EVERY
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_its_schedules_can_be_carried_out(policy: Policy, data: st.DataObject) -> None:
    problem = data.draw(problems(all_at_once=policy.all_at_once))
    assert policy.fits(problem)
    check_schedule(problem, planned(policy, problem))


@EVERY
def test_the_same_seed_gives_the_same_schedule(policy: Policy) -> None:
    problem = random_problem(5, slots=None if policy.all_at_once else 2)
    first, second = planned(policy, problem), planned(policy, problem)
    assert first.rates.tolist() == second.rates.tolist()
    assert first.site_ends.tolist() == second.site_ends.tolist()


@EVERY
def test_where_there_is_nothing_to_do_it_does_nothing(policy: Policy) -> None:
    assert planned(policy, Problem.from_arrays([], budget=1.0)).makespan == 0


@EVERY
def test_only_one_that_starts_all_sites_at_once_needs_a_crawler_for_each(policy: Policy) -> None:
    work = [300.0, 400.0, 500.0]
    few, enough = (Problem.from_arrays(work, budget=100.0, slots=slots) for slots in (2, 3))
    assert policy.fits(few) is not policy.all_at_once
    if policy.all_at_once:
        assert planned(policy, enough).site_starts.tolist() == [0.0, 0.0, 0.0]
    else:
        check_schedule(few, planned(policy, few))


@EVERY
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32), slots=st.integers(1, 5), wrong=st.floats(0.1, 1.0))
def test_followed_it_keeps_to_budget_and_crawlers_until_all_sites_have_ended(
    policy: Policy, seed: int, slots: int, wrong: float
) -> None:
    """Whatever their sizes turn out to be."""
    problem = random_problem(seed, slots=None if policy.all_at_once else slots)
    factors = np.exp(np.random.default_rng(seed).normal(0.0, wrong, len(problem)))
    truth = {f"site-{k}": float(problem.work[k] * factors[k]) for k in range(len(problem))}

    def checked(state: CrawlState, rates: dict[str, float]) -> None:
        assert sum(rates.values()) <= state.capacity.rate_at(state.now) * (1 + 1e-6)
        assert len(rates) <= state.slots

    following = PolicyFollower(policy, np.random.default_rng(7), problem.objective)
    assert crawl(following, state_of(problem), truth, checked).keys() == truth.keys()
