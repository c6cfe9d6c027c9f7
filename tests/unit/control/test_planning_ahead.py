"""The plan that is made while the crawl runs: for what is left, with times from the start."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from headgate.control.forecast import Forecast, Source
from headgate.control.planning_ahead import plan_the_rest, with_what_is_left
from headgate.model.budget import Budget
from headgate.model.site import Site
from headgate.model.size_range import SizeRange
from headgate.model.units import Bytes, BytesPerSecond, Seconds

START = datetime(2026, 11, 16, tzinfo=UTC)
BUDGET = Budget(BytesPerSecond(100e3), crawlers=2)


def test_what_is_left_replaces_what_was_thought() -> None:
    forecasts = {
        "looked-at": Forecast(8e6, Source.GUESS),
        "told": Forecast(1e6, Source.USER, cap=50e3),
        "ended": Forecast(1e6, Source.USER),
    }
    left = {"looked-at": SizeRange(1e5, 2e5, 9e5), "told": SizeRange.exactly(1e6)}
    known = with_what_is_left(forecasts, left, {"looked-at": 30e3, "told": math.inf})
    assert set(known) == {"looked-at", "told"}
    assert known["looked-at"].bytes == 2e5
    assert known["looked-at"].bytes_range == (1e5, 9e5)
    assert known["looked-at"].source is Source.SCOUT
    assert known["looked-at"].cap == 30e3
    assert known["told"].bytes_range is None
    assert known["told"].cap == 50e3


def test_times_count_from_the_start_of_the_run() -> None:
    sites = [
        Site("a", expect=Bytes(1e6), deadline=Seconds(30.0)),
        Site("gone", expect=Bytes(1e6), deadline=Seconds(30.0)),
    ]
    forecasts = {"a": Forecast(1e6, Source.USER)}
    plan = plan_the_rest(sites, BUDGET, forecasts, START, 7.0)
    (planned,) = plan.sites
    assert (planned.start, planned.end, planned.deadline) == pytest.approx((7.0, 17.0, 30.0))
    assert planned.segments[0].start == pytest.approx(7.0)
    assert planned.foreseen is not None
    assert planned.foreseen.likely == pytest.approx(17.0)
    assert plan.feasible


def test_a_deadline_that_has_passed_is_missed_by_all_that_follows() -> None:
    sites = [Site("a", expect=Bytes(1e6), deadline=Seconds(5.0))]
    plan = plan_the_rest(sites, BUDGET, {"a": Forecast(1e6, Source.USER)}, START, 7.0)
    assert plan.sites[0].end == pytest.approx(17.0)
    assert not plan.feasible
