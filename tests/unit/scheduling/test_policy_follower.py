"""A policy that sets the rates of a running crawl, on a line that does as it is told."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.scheduling.problems import random_problem

from headgate.scheduling.capacity import Capacity
from headgate.scheduling.policies import POLICIES, Policy, find_policy
from headgate.scheduling.policy_follower import PolicyFollower, schedule_fault, stages_of
from headgate.scheduling.problem import Problem, Schedule, ScheduleBuilder
from headgate.scheduling.replan import BudgetChanged, CrawlState, OpenSite, SiteEnded, apply_event

FOLLOWED = [name for name in POLICIES if name not in ("headgate", "GA", "DE")]
"""The first sets rates in its own way; the last two differ from the others in their time only."""
LOOK_SECONDS = 0.5


def state_of(problem: Problem) -> CrawlState:
    columns = problem.work.tolist(), problem.deadlines.tolist(), problem.caps.tolist()
    sites = {f"site-{k}": OpenSite(*values) for k, values in enumerate(zip(*columns, strict=True))}
    return CrawlState(sites, deque(sites), problem.capacity, problem.slots)


def crawl(
    following: PolicyFollower,
    state: CrawlState,
    truth: dict[str, float],
    checked: Callable[[CrawlState, dict[str, float]], None] = lambda *_: None,
) -> dict[str, float]:
    """When each site ends on a line that gives each the rate it has; ``truth``: bytes of each."""
    left, ends = dict(truth), dict[str, float]()
    for _ in range(20_000):
        if not state.sites:
            return ends
        rates = following.rates(state)
        assert rates is not None, following.fault
        checked(state, rates)
        turn = state.capacity.next_turn(state.now)
        until = min(state.now + LOOK_SECONDS, turn)
        first = min((state.now + left[s] / r for s, r in rates.items() if r > 0), default=until)
        now = min(first, until)
        for site, rate in rates.items():
            left[site] -= rate * (now - state.now)
        over = [site for site in rates if left[site] <= 1e-9 * truth[site]]
        for site in over:
            ends[site] = now
            apply_event(state, SiteEnded(now, site))
        apply_event(state, BudgetChanged(now, state.capacity))  # nothing new, but for the time
    raise AssertionError(f"still open: {sorted(state.sites)}")


@pytest.mark.parametrize("name", FOLLOWED)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), slots=st.integers(1, 5))
def test_with_exact_sizes_sites_end_as_the_schedule_says(name: str, seed: int, slots: int) -> None:
    policy = find_policy(name)
    problem = random_problem(seed, slots=None if policy.all_at_once else slots)
    planned = policy.schedule(problem, np.random.default_rng(7))
    following = PolicyFollower(policy, np.random.default_rng(7), problem.objective)
    truth = {f"site-{k}": float(work) for k, work in enumerate(problem.work)}
    ends = crawl(following, state_of(problem), truth)
    assert [ends[site] for site in truth] == pytest.approx(planned.site_ends.tolist(), rel=1e-6)


@pytest.mark.parametrize("name", FOLLOWED)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), slots=st.integers(1, 5), wrong=st.floats(0.1, 1.0))
def test_whatever_sizes_turn_out_to_be_all_end_within_budget_and_crawlers(
    name: str, seed: int, slots: int, wrong: float
) -> None:
    policy = find_policy(name)
    problem = random_problem(seed, slots=None if policy.all_at_once else slots)
    factors = np.exp(np.random.default_rng(seed).normal(0.0, wrong, len(problem)))
    truth = {f"site-{k}": float(problem.work[k] * factors[k]) for k in range(len(problem))}

    def checked(state: CrawlState, rates: dict[str, float]) -> None:
        assert sum(rates.values()) <= state.capacity.rate_at(state.now) * (1 + 1e-6)
        assert len(rates) <= state.slots
        state.check()

    following = PolicyFollower(policy, np.random.default_rng(7), problem.objective)
    assert crawl(following, state_of(problem), truth, checked).keys() == truth.keys()


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), slots=st.integers(1, 5))
def test_stages_carry_the_bytes_of_the_schedule(seed: int, slots: int) -> None:
    problem = random_problem(seed, slots=slots)
    schedule = find_policy("ReAlloc-SUMT").schedule(problem, np.random.default_rng(0))
    carried, before = np.zeros(len(problem)), 0.0
    for stage in stages_of(schedule):
        for site, rate in stage.rates.items():
            carried[site] += rate * (stage.end - before)
        before = stage.end
    assert carried == pytest.approx(problem.work, rel=1e-6)


def test_a_changed_budget_is_planned_for_at_once() -> None:
    state = state_of(Problem.from_arrays([100.0, 300.0], budget=40.0))
    following = PolicyFollower(find_policy("M-MAXT"), np.random.default_rng(0))
    assert following.rates(state) == pytest.approx({"site-0": 10.0, "site-1": 30.0})
    apply_event(state, BudgetChanged(1.0, Capacity.constant(20.0)))
    assert following.rates(state) == pytest.approx({"site-0": 5.0, "site-1": 15.0})


def test_a_rate_stands_although_a_site_is_a_little_larger_than_thought() -> None:
    state = state_of(Problem.from_arrays([100.0, 100.0], budget=20.0))
    following = PolicyFollower(find_policy("M-MAXT"), np.random.default_rng(0))
    crawl(following, state, {"site-0": 100.0, "site-1": 110.0})
    assert following.fault == ""


def made_by(*segments: tuple[int, float, float, float]) -> Policy:
    def schedule(problem: Problem, rng: np.random.Generator) -> Schedule:
        del rng
        builder = ScheduleBuilder(len(problem))
        for segment in segments:
            builder.add(*segment)
        return builder.build()

    return Policy("own", schedule)


def raising(*_: object) -> Schedule:
    raise ZeroDivisionError("no luck")


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        (Policy("own", raising), "it raised ZeroDivisionError: no luck"),
        (made_by((0, 0.0, 5.0, 25.0)), "its rates add up to more than the budget"),
        (made_by((0, 0.0, 5.0, 15.0), (0, 5.0, 7.0, 12.5)), "it leaves sites unserved"),
        (made_by((0, 0.0, math.inf, 1.0)), "it has times or rates that are no numbers"),
    ],
)
def test_a_policy_that_cannot_be_carried_out_has_no_word(policy: Policy, fault: str) -> None:
    problem = Problem.from_arrays([100.0, 10.0], budget=20.0)
    following = PolicyFollower(policy, np.random.default_rng(0))
    assert following.rates(state_of(problem)) is None
    assert following.fault == fault
    assert following.rates(state_of(problem)) is None


def test_rates_that_touch_do_not_add_up() -> None:
    """One that ends where the next begins, give or take rounding, is not over the budget."""
    problem = Problem.from_arrays([0.3 * 20.0, 0.1 * 20.0], budget=20.0)
    policy = made_by((0, 0.0, 0.1 + 0.2, 20.0), (1, 0.3, 0.4, 20.0))
    schedule = policy.schedule(problem, np.random.default_rng(0))
    assert schedule_fault(problem, schedule) == ""
