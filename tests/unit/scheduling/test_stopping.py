"""Sites that stop at their deadlines: never late, and what they leave undone is weighed.

The oracle below serves sites in an order with loops and dictionaries of its own, for a constant
budget, and tries every order of up to six sites.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.unit.scheduling.checker import check_schedule
from tests.unit.scheduling.problems import random_problem

from headgate.model.budget import Budget
from headgate.model.plan import Verdict
from headgate.model.site import OnDeadline, Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.scheduling.bounds import linear_bound, lower_bounds
from headgate.scheduling.event_schedule import EventSimulator, event_schedule
from headgate.scheduling.order_search import best_schedule
from headgate.scheduling.planner import compare, plan
from headgate.scheduling.problem import Problem
from headgate.scheduling.water_filling import deadlines_can_be_met


def stopping_problem(seed: int, **settings: object) -> Problem:
    problem = random_problem(seed, **settings)  # type: ignore[arg-type]
    stops = np.random.default_rng([seed, 1]).random(len(problem)) < 0.5
    return structs.replace(problem, stops=stops)


def served(problem: Problem, order: tuple[int, ...]) -> tuple[float, dict[int, float]]:
    """Shortfall of an order and what each site is left with, by an independent simulation."""
    line = float(problem.capacity.rates[0])
    to_do = {site: float(problem.work[site]) for site in range(len(problem))}
    stop = {s: float(problem.deadlines[s]) if problem.stops[s] else math.inf for s in to_do}
    queue, now, late = list(order), 0.0, 0.0
    running: list[int] = []
    while queue or running:
        running = [s for s in running if stop[s] > now + 1e-9]
        queue = [s for s in queue if stop[s] > now + 1e-9]
        shares: dict[int, float] = {}
        free = line
        for s in running:
            shares[s] = min(free, float(problem.caps[s]))
            free -= shares[s]
        while queue and free > 1e-6 and len(running) < problem.slots:
            s = queue.pop(0)
            running.append(s)
            shares[s] = min(free, float(problem.caps[s]))
            free -= shares[s]
        if not running:
            break
        pause = min(
            *(to_do[s] / rate for s, rate in shares.items() if rate > 1e-9),
            *(stop[s] - now for s in running),
            math.inf,
        )
        now += pause
        for s, rate in shares.items():
            to_do[s] -= rate * pause
            if to_do[s] < 1e-6:
                to_do[s] = 0.0
                running.remove(s)
                late += 0.0 if problem.stops[s] else max(now - float(problem.deadlines[s]), 0.0)
    return late + sum(to_do.values()) / line, to_do


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([None, 1, 2, 3]))
def test_an_order_does_what_an_independent_simulation_does(
    seed: int, capped: bool, slots: int | None
) -> None:
    problem = stopping_problem(seed, most_sites=7, capped=capped, timetable=False, slots=slots)
    order = tuple(np.random.default_rng(seed).permutation(len(problem)).tolist())
    missed, left = served(problem, order)
    schedule = event_schedule(problem, order)
    check_schedule(problem, schedule)
    outcome = EventSimulator(problem).run(order)
    assert outcome is not None
    assert outcome.shortfall == pytest.approx(missed, abs=1e-4)
    assert schedule.shortfall(problem).sum() == pytest.approx(missed, abs=1e-4)
    assert schedule.left(problem).tolist() == pytest.approx(
        [left[site] if problem.stops[site] else 0.0 for site in range(len(problem))], abs=1e-4
    )
    assert outcome.makespan == pytest.approx(schedule.makespan)
    assert outcome.total_time == pytest.approx(schedule.total_time)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_the_plan_is_valid_whatever_the_hours(seed: int, capped: bool) -> None:
    problem = stopping_problem(seed, capped=capped, slots=3)
    schedule = best_schedule(problem, np.random.default_rng(0))
    check_schedule(problem, schedule)
    missed = float(schedule.shortfall(problem).sum())
    bounds = lower_bounds(problem, problem.work - schedule.left(problem))
    assert missed >= bounds.shortfall - 1e-4
    assert schedule.makespan >= bounds.makespan * (1 - 1e-9)
    assert schedule.total_time >= bounds.total_time * (1 - 1e-9)
    assert missed >= linear_bound(problem, schedule.makespan) - 1e-4 * schedule.makespan


@pytest.mark.parametrize("capped", [False, True])
def test_no_order_leaves_less_undone_and_late(capped: bool) -> None:
    checked = 0
    for seed in range(30):
        problem = stopping_problem(
            seed, most_sites=6, capped=capped, timetable=False, tightness=(0.3, 1.0), slots=3
        )
        schedule = best_schedule(problem, np.random.default_rng(0))
        check_schedule(problem, schedule)
        missed = float(schedule.shortfall(problem).sum())
        best = min(served(problem, order)[0] for order in permutations(range(len(problem))))
        assert missed <= best + 1e-3, seed
        assert best >= lower_bounds(problem).shortfall - 1e-4
        assert best >= linear_bound(problem, schedule.makespan) - 1e-4 * schedule.makespan
        checked += best > 0.01
    assert checked >= 10


def test_serving_in_the_order_of_the_plan_does_what_the_plan_says() -> None:
    stopped = 0
    for seed in range(40):
        problem = stopping_problem(
            seed, most_sites=8, capped=seed % 2 == 0, timetable=False, tightness=(0.3, 1.0)
        )
        schedule = best_schedule(problem, np.random.default_rng(0))
        if not schedule.left(problem).any():
            continue
        stopped += 1
        again = event_schedule(problem, schedule.order)
        assert again.site_ends == pytest.approx(schedule.site_ends)
        assert again.left(problem) == pytest.approx(schedule.left(problem), abs=1e-5)
    assert stopped >= 10


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([(0.3, 1.0), (0.8, 4.0)]))
def test_what_can_be_fetched_in_time_is(
    seed: int, capped: bool, tightness: tuple[float, float]
) -> None:
    """With a crawler for every site the answer is exact, for sites that stop as for others, to the
    millisecond to which shortfalls are compared."""
    problem = stopping_problem(seed, capped=capped, tightness=tightness)
    schedule = best_schedule(problem, np.random.default_rng(0))
    missed = float(schedule.shortfall(problem).sum())
    assert (missed <= 5e-4) is deadlines_can_be_met(problem)


def site(name: str, size: float, deadline: float | None = None, *, stop: bool = False) -> Site:
    on_deadline = OnDeadline.STOP if stop else OnDeadline.GO_ON
    due = None if deadline is None else Seconds(deadline)
    return Site(name, expect=Bytes(size), deadline=due, on_deadline=on_deadline)


LINE = Budget(BytesPerSecond(100.0))


def test_a_site_that_stops_is_left_undone_and_not_late() -> None:
    made = plan([site("big", 8000, 20, stop=True), site("small", 500)], LINE)
    big, small = made.sites
    assert made.verdict is Verdict.INFEASIBLE
    assert (big.end, big.late) == (20, 0)
    assert [big.left_bytes, small.left_bytes] == pytest.approx([6000, 0])
    assert [made.tardiness, made.left_bytes, made.left_seconds] == pytest.approx([0, 6000, 60])
    assert made.shortfall_bound == pytest.approx(60)
    assert made.stopped_sites == ("big",)
    assert made.late_sites == ()
    assert made.remedy.relax == pytest.approx({"big": 60})
    assert made.remedy.enough_bandwidth == pytest.approx(400)


def test_a_site_that_stops_before_its_turn_has_nothing_and_no_segment() -> None:
    made = plan([site("stops", 1000, 10, stop=True), *(site(f"s{k}", 400, 4) for k in "abc")], LINE)
    stops = made.sites[0]
    assert (stops.start, stops.end, stops.segments) == (10, 10, ())
    assert stops.left_bytes == 1000
    assert sorted(made.order) == ["sa", "sb", "sc", "stops"]


def test_one_that_is_overdue_already_is_stopped_at_once() -> None:
    made = plan([site("gone", 1000, -5, stop=True), site("other", 1000, 10)], LINE)
    assert made.sites[0].end == 0
    assert made.sites[0].late == 0
    assert made.sites[0].left_bytes == 1000
    assert made.sites[1].late == 0


def test_policies_of_the_paper_are_cut_at_the_deadline() -> None:
    sites = [site("a", 5000, 20, stop=True), site("b", 3000, 25), site("c", 2000, 30, stop=True)]
    for made in compare(sites, LINE):
        for planned in made.sites:
            if planned.name != "b":
                assert planned.late == 0
                assert planned.end <= (planned.deadline or 0) + 1e-6
            fetched = sum((part.end - part.start) * part.rate for part in planned.segments)
            assert fetched == pytest.approx(planned.bytes - planned.left_bytes, rel=1e-6)
