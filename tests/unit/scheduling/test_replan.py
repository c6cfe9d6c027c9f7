"""Re-planning event by event leads to what the plan said, and keeps its invariants."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.scheduling.problems import problems

from headgate.scheduling.capacity import Capacity
from headgate.scheduling.event_schedule import event_schedule
from headgate.scheduling.problem import Problem
from headgate.scheduling.replan import (
    BudgetChanged,
    CapChanged,
    CrawlState,
    Event,
    OpenSite,
    Progressed,
    SiteArrived,
    SiteEnded,
    Started,
    replan,
)
from headgate.scheduling.tardiness import smith_order
from headgate.scheduling.water_filling import deadlines_can_be_met


def state_of(problem: Problem, order: list[int]) -> CrawlState:
    sites = {
        str(i): OpenSite(float(work), float(deadline), float(cap))
        for i, (work, deadline, cap) in enumerate(
            zip(problem.work, problem.deadlines, problem.caps, strict=True)
        )
    }
    return CrawlState(sites, deque(str(i) for i in order), problem.capacity, problem.slots)


def crawl(state: CrawlState) -> dict[str, float]:
    """Run the state to its end as a crawl would that goes exactly as planned."""
    ends: dict[str, float] = {}
    rates = replan(state, Started(0.0))
    while state.sites:
        state.check()
        turn = state.capacity.next_turn(state.now)
        finish = {
            name: state.now + (state.sites[name].remaining / rate if rate > 0 else 0.0)
            for name, rate in rates.items()
            if rate > 0 or state.sites[name].remaining <= 1e-9
        }
        name = min(finish, key=lambda site: finish[site], default=None)
        if name is None or finish[name] >= turn:
            rates = replan(state, Started(turn))
        else:
            ends[name] = finish[name]
            rates = replan(state, SiteEnded(finish[name], name))
    return ends


@settings(max_examples=60, deadline=None)
@given(problems(capped=False), st.integers(0, 2**32))
def test_a_crawl_that_goes_as_planned_ends_as_planned(problem: Problem, seed: int) -> None:
    planned = smith_order(problem.work, problem.capacity.bytes_by(problem.deadlines))
    if planned is None:
        problem = replace(problem, deadlines=np.full(len(problem), np.inf))
        planned = np.random.default_rng(seed).permutation(len(problem))
    ends = crawl(state_of(problem, planned.tolist()))
    expected = event_schedule(problem, planned).site_ends
    assert [ends[str(i)] for i in range(len(problem))] == pytest.approx(expected.tolist())


@settings(max_examples=80, deadline=None)
@given(problems(enough_slots=True, capped=True))
def test_deadlines_that_can_be_met_are_met(problem: Problem) -> None:
    ends = crawl(state_of(problem, list(range(len(problem)))))
    if deadlines_can_be_met(problem):
        late = [ends[str(i)] - problem.deadlines[i] for i in range(len(problem))]
        assert max(late) <= 1e-5 * max(1.0, float(problem.deadlines.max()))


def something_happens(state: CrawlState, rng: np.random.Generator) -> Event:
    now = state.now + float(rng.exponential(1.0))
    amount = float(rng.uniform(0.1, 30.0))
    kinds = 5 if state.sites else 2
    name = str(rng.choice(list(state.sites))) if state.sites else ""
    match int(rng.integers(kinds)):
        case 0:
            return BudgetChanged(now, Capacity.constant(amount))
        case 1:
            return SiteArrived(now, f"new-{now}", OpenSite(amount, now + 9))
        case 2:
            return SiteEnded(now, name)
        case 3:
            return Progressed(now, {name: amount})
        case _:
            return CapChanged(now, name, amount)


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_invariants_hold_whatever_happens(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    state = state_of(problem, list(range(len(problem))))
    replan(state, Started(0.0))
    for _ in range(30):
        rates = replan(state, something_happens(state, rng))
        state.check()
        assert set(rates) == set(state.running)
        if state.sites and state.capacity.rate_at(state.now) > 0:
            assert any(rates.values()), "budget and work, but nobody is served"


def test_a_corrected_estimate_moves_bandwidth() -> None:
    sites = {
        "a": OpenSite(80.0, deadline=40.0, cap=8.0),
        "b": OpenSite(100.0, deadline=30.0, cap=8.0),
    }
    state = CrawlState(sites, deque(["a", "b"]), Capacity.constant(10.0), slots=2)
    before = replan(state, Started(0.0))
    after = replan(state, Progressed(1.0, {"b": 228.0}))
    assert before == {"a": 8.0, "b": 2.0}, "in order, while nobody suffers by it"
    assert after == {"a": 2.0, "b": 8.0}, "b cannot catch up later"


def test_an_urgent_arrival_goes_before_the_patient() -> None:
    sites = {"a": OpenSite(50.0), "b": OpenSite(50.0, deadline=90.0), "c": OpenSite(50.0)}
    state = CrawlState(sites, deque(["a", "b", "c"]), Capacity.constant(10.0), slots=1)
    replan(state, Started(0.0))
    replan(state, SiteArrived(1.0, "new", OpenSite(10.0, deadline=20.0)))
    assert list(state.waiting) == ["new", "b", "c"]


@pytest.mark.parametrize(("deadline", "tight"), [(8.0, False), (10.5, True), (13.0, False)])
def test_deadlines_are_tight_that_can_be_met_and_leave_no_reserve(
    deadline: float, tight: bool
) -> None:
    site = OpenSite(1000.0, deadline, cap=100.0, reserve=1.0)
    state = CrawlState({"a": site}, deque(["a"]), Capacity.constant(100.0), slots=1)
    assert state.is_tight(["a"]) is tight


def test_of_hundreds_several_are_served_at_once_in_order() -> None:
    """One small site at a time would leave the line idle between its pages."""
    sites = {f"s{k}": OpenSite(60.0, 100.0 + k) for k in range(61)}
    state = CrawlState(sites, deque(sites), Capacity.constant(600.0), slots=61, look_seconds=0.5)
    rates = replan(state, Started(0.0))
    assert rates == {f"s{k}": 120.0 for k in range(5)}
    state.sites.pop("s60")
    state.waiting.remove("s60")
    assert replan(state, Started(0.0))["s0"] == 600.0


def test_who_looks_ahead_serves_hundreds_at_the_full_rate() -> None:
    sites = {f"s{k}": OpenSite(60.0, 100.0 + k) for k in range(61)}
    state = CrawlState(sites, deque(sites), Capacity.constant(600.0), slots=2)
    assert replan(state, Started(0.0)) == {"s0": 600.0}


def test_few_crawlers_use_the_whole_line_for_small_sites() -> None:
    sites = {f"s{k}": OpenSite(60.0, 100.0 + k) for k in range(61)}
    state = CrawlState(sites, deque(sites), Capacity.constant(600.0), slots=2, look_seconds=0.5)
    assert replan(state, Started(0.0)) == {"s0": 300.0, "s1": 300.0}
