"""What is foreseen of a crawl, and how a verdict from guesses is put to the test."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from headgate.control.completion_forecast import (
    plan_ahead,
    plan_the_rest,
    with_guesses,
    with_what_is_left,
)
from headgate.control.forecast import Forecast, Source
from headgate.features.plan.view.words import PlanWords
from headgate.model.budget import Budget, Quota
from headgate.model.plan import Plan, Verdict
from headgate.model.site import OnDeadline, Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds, SizeRange
from headgate.scheduling.planner import plan

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
TO_MIDNIGHT = 12 * 3600.0
LINE = Budget(BytesPerSecond(1e6))


def site(name: str, deadline: float | None = None, *, stop: bool = False) -> Site:
    due = None if deadline is None else Seconds(deadline)
    on_deadline = OnDeadline.STOP if stop else OnDeadline.GO_ON
    return Site(name, deadline=due, on_deadline=on_deadline)


def told(size: float, max_rate: float | None = None) -> Forecast:
    return Forecast(size, Source.USER, max_rate, most=max_rate)


def looked_at(size: float, server_rate: float | None = None) -> Forecast:
    return Forecast(size, Source.SCOUT, server_rate, bytes_range=(size / 4, size * 4))


def daily(size: float) -> Budget:
    quota = Quota(Bytes(size), Quota.parse("1 B/day", ZoneInfo("UTC")).period, ZoneInfo("UTC"))
    return replace(LINE, quota=quota)


def ahead(known: dict[str, Forecast], *sites: Site, budget: Budget = LINE) -> Plan:
    return plan_ahead(sites, budget, known, NOON)


def foreseen_end(made: Plan) -> float:
    assert made.foreseen is not None
    return made.foreseen.likely


def test_a_quota_that_runs_out_is_waited_for() -> None:
    made = ahead({"a": told(100e6)}, site("a"), budget=daily(60e6))
    assert made.makespan == pytest.approx(TO_MIDNIGHT + 40)
    assert foreseen_end(made) == pytest.approx(TO_MIDNIGHT + 40)


def test_what_is_gone_of_the_quota_is_gone() -> None:
    made = plan_ahead([site("a")], daily(60e6), {"a": told(50e6)}, NOON, quota_used=30e6)
    assert foreseen_end(made) == pytest.approx(TO_MIDNIGHT + 20)


def test_a_quota_that_holds_everything_is_no_bound() -> None:
    """A slow server leaves most of the line unused, and so most of the quota's time."""
    made = ahead({"a": told(50e6, max_rate=1e4)}, site("a"), budget=daily(60e6))
    assert made.makespan == pytest.approx(5000)
    assert foreseen_end(made) == pytest.approx(5000)


def test_a_quota_lasts_longer_at_the_rate_of_slow_servers() -> None:
    made = ahead({"a": told(100e6, max_rate=1e4)}, site("a"), budget=daily(60e6))
    # 60 MB at 10 KB/s are 6000 s of the first day; the rest comes from midnight on.
    assert made.makespan == pytest.approx(TO_MIDNIGHT + 4000)
    assert foreseen_end(made) == pytest.approx(TO_MIDNIGHT + 4000)


def test_the_worst_case_may_need_a_quota_that_the_likely_one_does_not() -> None:
    made = ahead({"a": looked_at(50e6)}, site("a"), budget=daily(60e6))
    foreseen = made.sites[0].foreseen
    assert foreseen is not None
    assert foreseen.likely == pytest.approx(50)
    assert foreseen.latest > 3 * 86_400 - TO_MIDNIGHT


def test_a_site_that_stops_is_not_foreseen_beyond_its_deadline() -> None:
    made = ahead({"a": told(50e6)}, site("a", 20, stop=True))
    assert foreseen_end(made) == 20
    assert made.sites[0].left_bytes == pytest.approx(30e6)


@pytest.mark.parametrize(
    ("deadline", "verdict", "at_best", "at_worst", "begins"),
    [
        (50, Verdict.FEASIBLE, Verdict.FEASIBLE, Verdict.FEASIBLE, "Feasible even with sizes at"),
        (12, Verdict.FEASIBLE, Verdict.FEASIBLE, Verdict.INFEASIBLE, "Probably feasible"),
        (5, Verdict.INFEASIBLE, Verdict.FEASIBLE, Verdict.INFEASIBLE, "Probably not feasible"),
        (2, Verdict.INFEASIBLE, Verdict.INFEASIBLE, Verdict.INFEASIBLE, "Not feasible even with"),
    ],
)
def test_guesses_are_judged_at_both_ends_of_their_ranges(
    deadline: float, verdict: Verdict, at_best: Verdict, at_worst: Verdict, begins: str
) -> None:
    """Ten megabytes by a first look, which may be a quarter or four times as many."""
    made = ahead({"a": looked_at(10e6)}, site("a", deadline))
    assert (made.verdict, made.at_best, made.at_worst) == (verdict, at_best, at_worst)
    assert PlanWords.from_plan(made).headline.startswith(begins)
    assert "between 2.5 MB and 40 MB" in PlanWords.from_plan(made).guesses


def test_a_slow_server_is_named_and_no_max_rate() -> None:
    """Seen by running it: no max_rate was in the file."""
    made = ahead({"a": looked_at(10e6, server_rate=1e5)}, site("a", 40))
    words = PlanWords.from_plan(made)
    assert made.remedy.needed_bandwidth is None
    assert words.headline.startswith("Probably not feasible: this plan misses 1 of 1 deadline")
    assert "a takes longer than its deadline at the speed its server has shown" in words.headline
    assert "max_rate" not in words.headline
    assert "no plan can" not in words.headline
    assert words.guesses.endswith("the speed of one server.")


def test_what_the_user_told_is_exact() -> None:
    made = ahead({"a": told(10e6, max_rate=1e5)}, site("a", 40))
    assert not made.guessed
    assert made.at_best is None
    words = PlanWords.from_plan(made)
    assert words.headline.startswith("Not feasible: no plan can meet the deadline; ")
    assert "a max_rate is too low for it (a)" in words.headline
    assert not words.guesses


def test_an_unknown_server_is_no_guess() -> None:
    assert not ahead({"a": told(10e6)}, site("a", 40)).guessed


def test_another_policys_plan_knows_its_guesses_too() -> None:
    sized = replace(site("a", 5), expect=Bytes(10e6))
    made = with_guesses(plan([sized], LINE, "M-STET"), {"a": looked_at(10e6)})
    assert PlanWords.from_plan(made).headline.startswith("Probably not feasible")


# The plan that is made while the crawl runs: for what is left, with times from the start.


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
