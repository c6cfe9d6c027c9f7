"""Headgate's own policy: valid always, never worse than the paper's, optimal where proven."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from msgspec import structs
from tests.unit.scheduling.checker import check_schedule
from tests.unit.scheduling.problems import problems, random_problem

from headgate.scheduling.bounds import linear_bound, lower_bounds
from headgate.scheduling.event_schedule import EventSimulator, event_schedule
from headgate.scheduling.order_search import best_schedule
from headgate.scheduling.policies import POLICIES
from headgate.scheduling.problem import Problem


def planned(problem: Problem) -> tuple[float, float, float]:
    schedule = best_schedule(problem, np.random.default_rng(0))
    check_schedule(problem, schedule)
    return schedule.tardiness(problem), schedule.makespan, schedule.total_time


@settings(max_examples=60, deadline=None)
@given(problems())
def test_every_schedule_is_valid_and_above_its_bounds(problem: Problem) -> None:
    late, makespan, total_time = planned(problem)
    bounds = lower_bounds(problem)
    assert late >= bounds.shortfall - 1e-4
    assert makespan >= bounds.makespan * (1 - 1e-9)
    assert total_time >= bounds.total_time * (1 - 1e-9)
    assert late >= linear_bound(problem, makespan) - 1e-4 * makespan


@settings(max_examples=60, deadline=None)
@given(problems())
def test_is_never_later_than_a_policy_of_the_paper(problem: Problem) -> None:
    late, _, _ = planned(problem)
    for policy in POLICIES.values():
        if policy.fits(problem) and policy.name not in {"GA", "DE", "headgate"}:
            schedule = policy.schedule(problem, np.random.default_rng(0))
            check_schedule(problem, schedule)
            assert late <= schedule.tardiness(problem) + 2e-3, policy.name


@settings(max_examples=60, deadline=None)
@given(problems(capped=False, timetable=False))
def test_without_caps_no_order_of_whole_sites_is_better(problem: Problem) -> None:
    if len(problem) > 6:
        return
    late, makespan, total_time = planned(problem)
    simulator = EventSimulator(problem)
    outcomes = [simulator.run(list(p)) for p in permutations(range(len(problem)))]
    assert late <= min(o.shortfall for o in outcomes if o) + 1e-6
    assert makespan == pytest.approx(float(problem.capacity.time_of(problem.work.sum())))
    assert total_time == pytest.approx(problem.work.sum() / problem.capacity.peak)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_any_order_gives_a_valid_list_schedule(problem: Problem) -> None:
    order = np.random.default_rng(1).permutation(len(problem))
    schedule = event_schedule(problem, order)
    check_schedule(problem, schedule)
    outcome = EventSimulator(problem).run(order.tolist())
    assert outcome is not None
    assert outcome.shortfall == pytest.approx(schedule.tardiness(problem), abs=1e-5)
    assert outcome.makespan == pytest.approx(schedule.makespan)


def lateness_in_order(problem: Problem, order: tuple[int, ...]) -> float:
    """Total lateness of serving in this order under a constant budget, reckoned on its own."""
    line = float(problem.capacity.rates[0])
    to_do = dict(enumerate(problem.work.tolist()))
    queue, now, late = list(order), 0.0, 0.0
    running: list[int] = []
    while to_do:
        free, rates = line, {}
        for site in running:
            rates[site] = min(free, float(problem.caps[site]))
            free -= rates[site]
        while queue and len(running) < problem.slots and free > 1e-8:
            running.append(queue.pop(0))
            rates[running[-1]] = min(free, float(problem.caps[running[-1]]))
            free -= rates[running[-1]]
        pause = min(to_do[site] / rate for site, rate in rates.items() if rate > 1e-12)
        now += pause
        for site, rate in rates.items():
            to_do[site] -= rate * pause
            if to_do[site] <= 1e-8:
                del to_do[site]
                running.remove(site)
                late += max(now - float(problem.deadlines[site]), 0.0)
    return late


@pytest.mark.parametrize("seed", [3, 5, 8, 32, 67, 73, 100, 143, 167, 169, 175, 177])
def test_with_caps_no_order_is_less_late(seed: int) -> None:
    """Cases in which lateness was given away for the objective, by 1.5 to 5.8 %; not so in 32."""
    problem = structs.replace(
        random_problem(seed, most_sites=6, timetable=False, tightness=(0.3, 1.0)), slots=2
    )
    late, _, _ = planned(problem)
    orders = permutations(range(len(problem)))
    assert late <= min(lateness_in_order(problem, order) for order in orders) + 1e-3


@settings(max_examples=40, deadline=None)
@given(problems(timetable=False))
def test_few_sites_are_as_little_late_as_in_any_order(problem: Problem) -> None:
    if len(problem) > 6:
        return
    late, _, _ = planned(problem)
    orders = permutations(range(len(problem)))
    assert late <= min(lateness_in_order(problem, order) for order in orders) + 2e-3


def test_lateness_comes_before_the_objective_when_not_all_orders_are_tried() -> None:
    """Of nine sites, by annealing alone: no single swap or insertion is less late."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        work = rng.uniform(1.0, 50.0, 9)
        problem = Problem.from_arrays(
            work,
            rng.uniform(0.1, 0.8, 9) * work.sum() / 10,
            budget=10.0,
            caps=rng.uniform(2.0, 12.0, 9),
            slots=3,
        )
        schedule = best_schedule(problem, np.random.default_rng(0))
        late = schedule.tardiness(problem)
        for first, second in permutations(range(9), 2):
            swapped = list(schedule.order)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            assert late <= event_schedule(problem, swapped).tardiness(problem) * 1.005


def test_the_simulation_stops_where_lateness_passes_the_limit() -> None:
    problem = Problem.from_arrays([10.0, 10.0], [1.0, 1.0], budget=1.0)
    assert EventSimulator(problem).run([0, 1], most_shortfall=5.0) is None
    assert EventSimulator(problem).run([0, 1], most_shortfall=50.0) is not None


def test_search_improves_on_the_simple_orders() -> None:
    """Over many capped problems the search must pay: else it is not worth its second."""
    gained = 0
    for seed in range(30):
        problem = structs.replace(
            random_problem(seed, most_sites=20, timetable=False, tightness=(0.5, 1.2)), slots=3
        )
        late, _, _ = planned(problem)
        alone = problem.work / np.minimum(problem.caps, problem.capacity.peak)
        slack = event_schedule(problem, np.argsort(problem.deadlines - alone))
        gained += late < 0.9 * slack.tardiness(problem)
    assert gained >= 10


def test_the_same_seed_gives_the_same_schedule() -> None:
    problem = structs.replace(random_problem(7, most_sites=20), slots=3)
    first, second = (best_schedule(problem, np.random.default_rng(5)) for _ in range(2))
    assert first.site_ends.tolist() == second.site_ends.tolist()
