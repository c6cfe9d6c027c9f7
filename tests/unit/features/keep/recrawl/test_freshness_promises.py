"""Promises of freshness beforehand, against searches that know nothing of the formula."""

from __future__ import annotations

import heapq
import itertools
import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.features.keep.recrawl.freshness_promises import _Promises, _Supply, keep_plan
from headgate.features.keep.status import KeepPlan, PromisedSite
from headgate.model.budget import Budget, Quota
from headgate.model.timetable import Timetable
from headgate.model.units import BytesPerSecond, Seconds, SizeRange

MONDAY = datetime(2026, 11, 16, tzinfo=UTC)
ZONE = ZoneInfo("UTC")
HOUR = 3600.0
DAY = 24 * HOUR


def promised(name: str, hours: float, bytes_: float, max_rate: float | None = None) -> PromisedSite:
    rate = None if max_rate is None else BytesPerSecond(max_rate)
    return PromisedSite(name, Seconds(hours * HOUR), SizeRange.exactly(bytes_), rate)


def planned(*sites: PromisedSite, budget: Budget | float) -> KeepPlan:
    if not isinstance(budget, Budget):
        budget = Budget(BytesPerSecond(budget))
    return keep_plan(sites, 0, budget, MONDAY, np.random.default_rng(1))


def by_the_hour(*entries: str) -> Budget:
    return Budget(Timetable.parse(list(entries), ZONE))


def test_at_a_steady_rate_the_bytes_per_time_add_up() -> None:
    sites = promised("a", 24, 86.4e6), promised("b", 1, 3.6e6)
    assert planned(*sites, budget=2000.0).holds
    tight = planned(*sites, budget=1999.0)
    assert not tight.holds
    assert tight.least_bandwidth == pytest.approx(2000.0)
    assert tight.load == pytest.approx(2000 / 1999)
    assert tight.impossible == ()
    assert len(tight.give_up) == 1


def test_all_are_late_alike_when_there_is_too_much() -> None:
    sites = promised("a", 24, 86.4e6), promised("b", 6, 43.2e6)
    plan = planned(*sites, budget=2500.0)
    late = plan.lateness
    assert 86.4e6 / (DAY + late) + 43.2e6 / (6 * HOUR + late) == pytest.approx(2500.0, rel=1e-3)


def test_a_server_that_gives_too_little_makes_a_promise_impossible() -> None:
    plan = planned(promised("a", 1, 7.2e6, max_rate=1000.0), promised("b", 1, 1e3), budget=1e6)
    assert not plan.holds
    assert (plan.impossible, plan.give_up) == (("a",), ("a",))
    assert plan.scale == math.inf


def test_hours_without_a_byte_break_what_is_promised_for_less() -> None:
    nights = by_the_hour("19:00 1 MB/s", "08:00 0 KB/s")
    assert planned(promised("a", 12, 3e9), budget=nights).holds  # an hour of it is left at least
    assert not planned(promised("a", 12, 4e9), budget=nights).holds
    never = planned(promised("a", 10, 1.0), budget=nights)
    assert not never.holds
    assert never.scale == math.inf
    assert never.impossible == ("a",)
    assert never.lateness == pytest.approx(HOUR, rel=0.01)


def test_a_quota_bounds_what_promises_take_on_average() -> None:
    budget = Budget(BytesPerSecond(1e6), quota=Quota.parse("1 GB/day", ZONE))
    assert planned(promised("a", 12, 0.5e9), budget=budget).holds
    plan = planned(promised("a", 12, 0.6e9), budget=budget)
    assert not plan.holds
    assert plan.scale == pytest.approx(1.2)
    assert plan.least_bandwidth is None, "more bandwidth would not help"


def test_guessed_sizes_give_a_probability() -> None:
    guess = SizeRange(50e6, 86.4e6, 150e6)
    site = PromisedSite("a", Seconds(DAY), guess)
    assert keep_plan(
        [site], 2, Budget(BytesPerSecond(1000.0)), MONDAY, np.random.default_rng(1)
    ).probability == pytest.approx(0.5, abs=0.08)
    ample = Budget(BytesPerSecond(150e6 / DAY))
    found = keep_plan([site], 2, ample, MONDAY, np.random.default_rng(1)).probability
    assert found == pytest.approx(0.9, abs=0.05)  # four of five lie within, one of ten above


def test_a_site_file_without_promises_holds() -> None:
    assert planned(budget=1.0).holds


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=4).filter(any),
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 2)), min_size=1, max_size=3),
)
def test_what_any_schedule_can_keep_is_within_the_bound(
    pattern: list[int], sites: list[tuple[int, int]]
) -> None:
    """Every schedule of whole pages in whole hours is searched; where one keeps all promises for
    ever, the bound must not deny it. (The keeper's own order may need a little more.)"""
    if 24 % len(pattern):
        pattern = [*pattern, *[0] * (4 - len(pattern))]
    if not _some_schedule_keeps(pattern, [period for period, pages in sites for _ in range(pages)]):
        return
    entries = [
        f"{hour:02}:00 {rate} KB/s" for hour, rate in enumerate(pattern * (24 // len(pattern)))
    ]
    demands = [
        promised(str(number), period, pages * 1000 * HOUR)
        for number, (period, pages) in enumerate(sites)
    ]
    supply = _Supply.from_budget(by_the_hour(*entries), MONDAY)
    assert supply.scale_for(_Promises.from_sites(demands)) <= 1 + 1e-9


def _some_schedule_keeps(pattern: list[int], periods: list[int]) -> bool:
    """A page of period p must be looked at in every p slots one after the other. The states that
    can go on for ever are what is left when those that cannot are taken away."""
    slots = len(pattern)
    ages = [tuple(range(period)) for period in periods]
    safe = {(slot, *age) for slot in range(slots) for age in itertools.product(*ages)}

    def steps(state: tuple[int, ...]) -> list[tuple[int, ...]]:
        slot, *age = state
        after = (slot + 1) % slots
        pages = range(len(age))
        return [
            (after, *(0 if page in looked else age[page] + 1 for page in pages))
            for looked in itertools.combinations(pages, min(pattern[slot], len(age)))
        ]

    while True:
        keep = {state for state in safe if any(step in safe for step in steps(state))}
        if keep == safe:
            return bool(safe)
        safe = keep


@pytest.mark.parametrize("seed", [*range(30), 108, 321, 363, 2223, 6368, 6677])
def test_going_round_the_pages_by_slack_keeps_what_is_said_to_hold(seed: int) -> None:
    """On timetables of all kinds, played again with other parts. There is no theorem for it, so the
    seeds are given; the last ones were once said to hold and did not, at least in other parts."""
    rng = np.random.default_rng(seed)
    rates = rng.choice([0, 1, 2, 5], size=6, p=[0.25, 0.25, 0.25, 0.25])
    rates[int(rng.integers(6))] = 5
    entries = [f"{4 * k:02}:00 {rate} KB/s" for k, rate in enumerate(rates)]
    sites = [
        promised(str(n), float(rng.integers(8, 40)), float(rng.uniform(1e6, 2e7)))
        for n in range(int(rng.integers(1, 4)))
    ]
    plan = planned(*sites, budget=by_the_hour(*entries))
    if not math.isfinite(plan.scale):
        return
    pace = float(rng.uniform(0.5, 1.0)) / plan.scale
    sizes = [(site.fresh_within, site.size.likely * pace) for site in sites]
    paced = [promised(str(n), time / HOUR, size) for n, (time, size) in enumerate(sizes)]
    if planned(*paced, budget=by_the_hour(*entries)).holds:
        longest = max(site.fresh_within for site in sites)
        assert _worst_lateness((rates * 1000.0).tolist(), sizes) <= 0.03 * longest


def test_where_lateness_depends_on_the_first_looks_the_worse_counts() -> None:
    """Pages that were first looked at together stay late by an eighth of a promise; one after the
    other, they never are."""
    rates = [5000.0, 2000.0, 0.0, 1000.0, 0.0, 0.0]
    entries = [f"{4 * k:02}:00 {rate / 1000:g} KB/s" for k, rate in enumerate(rates)]
    sizes = [(Seconds(12 * HOUR), 11.0e6), (Seconds(36 * HOUR), 15.0e6)]
    assert _worst_lateness(rates, sizes) > 4 * HOUR
    sites = [promised(str(n), time / HOUR, size) for n, (time, size) in enumerate(sizes)]
    plan = planned(*sites, budget=by_the_hour(*entries))
    assert not plan.holds
    assert plan.lateness == pytest.approx(4 * HOUR, rel=0.1)
    assert plan.scale > 1, "the bound alone would say 0.76"
    richer = [f"{4 * k:02}:00 {rate * plan.scale:g} B/s" for k, rate in enumerate(rates)]
    assert planned(*sites, budget=by_the_hour(*richer)).holds
    rest = [site for site in sites if site.name not in plan.give_up]
    assert planned(*rest, budget=by_the_hour(*entries)).holds
    guessed = [
        PromisedSite(site.name, site.fresh_within, SizeRange(0.98 * likely, likely, 1.02 * likely))
        for site in sites
        for likely in [site.size.likely]
    ]
    assert planned(*guessed, budget=by_the_hour(*entries)).probability < 0.5


def _worst_lateness(rates: list[float], sites: list[tuple[Seconds, float]]) -> float:
    """Of any page in the last two of four weeks, always looking at the page due soonest."""
    parts = 80
    queue = [
        (float(period), which, size / parts)
        for which, (period, size) in enumerate(sites)
        for _ in range(parts)
    ]
    heapq.heapify(queue)
    now, worst = 0.0, -math.inf
    while now < 28 * DAY:
        due, which, size = heapq.heappop(queue)
        while size > 0:
            slot = int(now % DAY // (4 * HOUR))
            end = now - now % (4 * HOUR) + 4 * HOUR
            rate = rates[slot]
            if rate * (end - now) > size:
                now, size = now + size / rate, 0.0
            else:
                now, size = end, size - rate * (end - now)
        if now > 14 * DAY:
            worst = max(worst, now - due)
        heapq.heappush(queue, (now + sites[which][0], which, sites[which][1] / parts))
    return worst
