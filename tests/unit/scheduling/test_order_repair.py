"""Mending the order of a crawl that does not go as planned."""

from __future__ import annotations

from collections import deque

from hypothesis import given, settings
from tests.unit.scheduling.problems import problems

from headgate.scheduling.capacity import Capacity
from headgate.scheduling.event_schedule import event_schedule
from headgate.scheduling.order_repair import mend
from headgate.scheduling.problem import Problem
from headgate.scheduling.replan import (
    CrawlState,
    OpenSite,
    Progressed,
    Started,
    apply_event,
    replan,
)


def state_of(problem: Problem) -> CrawlState:
    sites = {
        str(i): OpenSite(float(work), float(deadline), float(cap))
        for i, (work, deadline, cap) in enumerate(
            zip(problem.work, problem.deadlines, problem.caps, strict=True)
        )
    }
    return CrawlState(sites, deque(sites), problem.capacity, problem.slots)


def lateness(problem: Problem, state: CrawlState) -> float:
    order = [int(name) for name in (*state.running, *state.waiting)]
    return event_schedule(problem, order).tardiness(problem)


def test_a_site_in_danger_goes_before_one_with_time() -> None:
    sites = {"long": OpenSite(900.0, 100.0), "soon": OpenSite(100.0, 5.0)}
    state = CrawlState(sites, deque(["long", "soon"]), Capacity.constant(100.0), slots=1)
    mend(state)
    assert list(state.waiting) == ["soon", "long"]


def test_an_order_that_leaves_a_reserve_stands() -> None:
    sites = {"long": OpenSite(100.0, 100.0), "soon": OpenSite(100.0, 5.0)}
    state = CrawlState(sites, deque(["long", "soon"]), Capacity.constant(100.0), slots=1)
    mend(state)
    assert list(state.waiting) == ["long", "soon"]


def test_nobody_is_given_up_for_sizes_that_are_only_likely() -> None:
    """By deadline both are on time if they are half as small as they may be."""
    sites = {
        "short": OpenSite(500.0, 9.0, least=100.0),
        "long": OpenSite(1000.0, 6.0, least=100.0),
    }
    state = CrawlState(sites, deque(sites), Capacity.constant(100.0), slots=1, may_park=True)
    mend(state)
    assert list(state.waiting) == ["long", "short"]


def test_of_sizes_that_are_known_the_least_lateness_counts() -> None:
    sites = {"short": OpenSite(500.0, 6.0), "long": OpenSite(1000.0, 5.9)}
    state = CrawlState(sites, deque(["long", "short"]), Capacity.constant(100.0), slots=1)
    state.may_park = True
    mend(state)
    assert list(state.waiting) == ["short", "long"]


def test_nobody_is_parked_where_rates_can_keep_all_deadlines() -> None:
    """The other server may be slow, and then the first could not go first: that is for rates."""
    sites = {
        "runs": OpenSite(1640.0, 14.5, cap=600.0, reserve=0.5),
        "other": OpenSite(3466.0, 14.9, cap=600.0, least_cap=100.0, reserve=0.5),
    }
    state = CrawlState(sites, deque(sites), Capacity.constant(600.0), slots=6, may_park=True)
    state.running.append(state.waiting.popleft())
    state.sites["runs"].rate = 600.0
    mend(state)
    assert state.running == ["runs"]
    assert replan(state, Started(0.0))["runs"] > 100.0


def test_those_who_run_keep_their_crawlers() -> None:
    sites = {
        "big": OpenSite(100.0, 1000.0),
        "next": OpenSite(500.0, 50.0),
        "soon": OpenSite(100.0, 5.0),
    }
    state = CrawlState(sites, deque(sites), Capacity.constant(100.0), slots=1)
    assert replan(state, Started(0.0)) == {"big": 100.0}
    apply_event(state, Progressed(1.0, {"big": 300.0}))
    mend(state)
    assert state.running == ["big"]
    assert list(state.waiting) == ["soon", "next"]


def test_what_cannot_be_saved_is_conceded_once() -> None:
    sites = {"a": OpenSite(500.0, 1.0), "b": OpenSite(500.0, 1.0)}
    state = CrawlState(sites, deque(sites), Capacity.constant(100.0), slots=1)
    mend(state)
    assert sorted(site.conceded for site in sites.values()) == [4.0, 9.0]


@settings(max_examples=60, deadline=None)
@given(problems())
def test_no_order_is_made_worse_and_no_site_lost(problem: Problem) -> None:
    state = state_of(problem)
    before = lateness(problem, state)
    mend(state)
    state.check()
    assert lateness(problem, state) <= before * (1 + 1e-9)
