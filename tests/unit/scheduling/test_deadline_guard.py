"""Deadlines guarded with a reserve: who is served now, and who is held back for whom."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.unit.scheduling.problems import random_problem

from headgate.scheduling.capacity import Capacity
from headgate.scheduling.deadline_guard import _with_more_reserve, guarded_rates
from headgate.scheduling.replan import CrawlState, OpenSite, Started, replan, warm_up
from headgate.scheduling.reserve import NO_RESERVE, WHOLE_RESERVE, Reserve
from headgate.scheduling.water_filling import deadlines_can_be_met


def state_of(slots: int = 5, budget: float = 100.0, **sites: OpenSite) -> CrawlState:
    return CrawlState(dict(sites), deque(sites), Capacity.constant(budget), slots, look_seconds=0.5)


def test_with_time_to_spare_sites_are_served_in_order() -> None:
    state = state_of(a=OpenSite(500.0, 40.0, 60.0), b=OpenSite(500.0, 40.0, 60.0))
    assert replan(state, Started(0.0)) == {"a": 60.0, "b": 40.0}


def test_a_slow_server_is_begun_in_time_however_urgent_the_others_are() -> None:
    state = state_of(soon=OpenSite(900.0, 10.0), slow=OpenSite(95.0, 10.0, cap=10.0))
    assert replan(state, Started(0.0)) == pytest.approx({"soon": 90.0, "slow": 10.0})


def test_a_server_that_may_be_slow_is_begun_in_time_too() -> None:
    known = state_of(soon=OpenSite(500.0, 10.0), other=OpenSite(95.0, 11.0))
    assert replan(known, Started(0.0)) == {"soon": 100.0}
    unknown = state_of(soon=OpenSite(500.0, 10.0), other=OpenSite(95.0, 11.0, least_cap=10.0))
    rates = replan(unknown, Started(0.0))
    assert rates["other"] >= 95.0 / 11.0, "held back, it could not catch up if it is slow"


def test_a_reserve_is_kept_where_it_can_be() -> None:
    def soon(reserve: float) -> OpenSite:
        return OpenSite(300.0, 10.0, cap=80.0, reserve=reserve)

    without = state_of(first=OpenSite(600.0, 12.0), soon=soon(0.0))
    with_reserve = state_of(first=OpenSite(600.0, 12.0), soon=soon(2.0))
    assert replan(without, Started(0.0)) == {"first": 100.0}, "soon can still be on time"
    assert replan(with_reserve, Started(0.0))["soon"] == 80.0


def test_a_site_that_may_be_small_is_not_given_up() -> None:
    """By what is likely it cannot be on time; by the least that is thought of it can."""
    sure = OpenSite(400.0, 10.0, cap=50.0)
    unsure = OpenSite(5000.0, 10.0, least=300.0, most=9000.0, cap=50.0)
    rates = replan(state_of(sure=sure, unsure=unsure), Started(0.0))
    assert rates["unsure"] > 30.0
    assert rates["sure"] >= 40.0


def test_a_site_that_may_be_large_gets_what_others_can_spare() -> None:
    """It cannot be on time by what is likely; how much smaller it is nobody knows."""
    state = state_of(
        sure=OpenSite(1200.0, 20.0), vague=OpenSite(2000.0, 11.0, cap=60.0, least=100.0)
    )
    assert replan(state, Started(0.0))["vague"] >= 50.0


def test_a_site_of_which_little_is_known_is_found_out_in_time() -> None:
    """It may be two hundred times as large; parked until its few likely bytes are due, it would
    show that too late."""
    state = state_of(sure=OpenSite(1550.0, 20.0), wide=OpenSite(10.0, 12.0, most=2000.0))
    assert replan(state, Started(0.0))["wide"] > 50.0


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), factor=st.floats(1.6, 50.0))
def test_the_most_urgent_of_the_vague_gets_the_room_that_others_leave(
    seed: int, factor: float
) -> None:
    """It is taken to be as large as it may be, or as fits: a chain that was parked until its likely
    bytes were due could not catch up."""
    asked = random_problem(seed, tightness=(1.0, 3.0))
    at_worst = structs.replace(asked, work=asked.work * factor)
    finite = np.flatnonzero(np.isfinite(asked.deadlines))
    if not len(finite) or not deadlines_can_be_met(asked):
        return
    speeds = np.minimum(asked.caps, asked.capacity.peak)
    first = finite[np.argmin((at_worst.deadlines - at_worst.work / speeds)[finite])]
    extended = _with_more_reserve(asked, at_worst)
    assert deadlines_can_be_met(extended)
    assert (extended.work >= asked.work).all()
    alone = structs.replace(asked, work=asked.work.copy())
    alone.work[first] = extended.work[first] + (at_worst.work - asked.work)[first] / 32
    assert alone.work[first] >= at_worst.work[first] or not deadlines_can_be_met(alone)


def test_deadlines_that_can_be_kept_are_kept_beside_one_that_cannot() -> None:
    hopeless = OpenSite(5000.0, 5.0, cap=50.0)
    fine = OpenSite(440.0, 10.0, cap=45.0)
    rates = replan(state_of(hopeless=hopeless, fine=fine), Started(0.0))
    assert rates["fine"] >= 44.0


def test_of_several_that_a_crawl_shows_will_be_late_one_is_served_first() -> None:
    """What they share makes each of them later."""

    def seen(work: float) -> OpenSite:
        return OpenSite(work, 5.0, cap=70.0, least=0.3 * work, most=2 * work)

    state = state_of(small=seen(400.0), large=seen(900.0))
    assert replan(state, Started(0.0)) == {"small": 70.0, "large": 30.0}


def test_of_several_that_will_be_late_by_what_was_told_all_are_kept_going() -> None:
    """What was told may be wrong, and only a crawl shows it."""

    def told() -> OpenSite:
        return OpenSite(400.0, 5.0, cap=90.0)

    rates = replan(state_of(first=told(), second=told(), third=told()), Started(0.0))
    assert min(rates["first"], rates["second"]) > 10.0


def test_what_an_idle_site_may_take_is_not_taken_from_others() -> None:
    state = state_of(2, idle=OpenSite(100.0), a=OpenSite(100.0), b=OpenSite(100.0))
    replan(state, Started(0.0))
    state.sites["idle"].idle = True
    rates = replan(state, Started(1.0))
    assert rates["idle"] == 50.0
    assert rates["a"] == 100.0
    state.check()


def test_a_slow_site_keeps_no_crawler_from_others() -> None:
    state = state_of(1, slow=OpenSite(100.0, cap=2.0), a=OpenSite(100.0))
    assert replan(state, Started(0.0)) == {"slow": 2.0}
    state.sites["slow"].slow = True
    assert replan(state, Started(1.0)) == {"slow": 2.0, "a": 98.0}
    state.check()


def test_the_next_site_opens_its_connections_before_the_last_one_ends() -> None:
    state = state_of(2, a=OpenSite(80.0), b=OpenSite(100.0))
    replan(state, Started(0.0))
    warm_up(state)
    assert state.running == ["a", "b"]
    assert state.sites["a"].rate == pytest.approx(90.0)
    assert state.sites["b"].rate == pytest.approx(10.0)
    state.check()


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.floats(0.0, 1.0))
def test_guarded_rates_keep_within_budget_and_caps_and_deadlines_within_reach(
    seed: int, unsure: float
) -> None:
    problem = random_problem(seed, timetable=False)
    rng = np.random.default_rng(seed)
    sites = {
        f"s{k}": OpenSite(
            work, deadline, cap, least=work * 0.5, most=work * (1 + unsure), reserve=unsure,
            least_cap=cap * rng.uniform(0.3, 1.0),
        )
        for k, (work, deadline, cap) in enumerate(
            zip(problem.work.tolist(), problem.deadlines.tolist(), problem.caps.tolist(),
                strict=True)
        )
    }  # fmt: skip
    state = CrawlState(sites, deque(sites), problem.capacity, len(sites), look_seconds=0.1)
    before = state.problem(list(sites))
    could = deadlines_can_be_met(before)
    rates = guarded_rates(lambda reserve: state.problem(list(sites), reserve), 0.1)
    if rates is None:
        replan(state, Started(0.0))
        rates = np.array([site.rate for site in sites.values()])
    assert rates.sum() <= problem.capacity.rate_at(0.0) * (1 + 1e-9)
    assert (rates <= problem.caps * (1 + 1e-9)).all()
    assert (rates >= 0).all()
    if could:
        left = np.maximum(before.work - rates * 0.1, 1e-9)
        deadlines = np.where(left > 1e-9, before.deadlines - 0.1, np.inf)
        later = type(before)(
            left, deadlines, before.caps, before.stops, before.capacity, before.slots
        )
        assert deadlines_can_be_met(later) or (deadlines <= 0.0).any()


def test_a_whole_reserve_makes_sites_larger_servers_slower_and_deadlines_earlier() -> None:
    site = OpenSite(100.0, 50.0, 20.0, least=40.0, most=150.0, least_cap=5.0, reserve=2.0)
    state = state_of(site=site)
    likely, worst = state.problem(["site"], NO_RESERVE), state.problem(["site"], WHOLE_RESERVE)
    best = state.problem(["site"], Reserve(-1.0, 0.0, 0.0))
    assert (likely.work[0], worst.work[0], best.work[0]) == (100.0, 150.0, 40.0)
    assert (likely.caps[0], worst.caps[0]) == (20.0, 5.0)
    assert (likely.deadlines[0], worst.deadlines[0]) == (50.0, 48.0)
