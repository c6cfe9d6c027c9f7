"""What a person reads first."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.report.charts.plans import (
    make_plan,
    make_site,
    make_stopped_site,
    make_timetable_plan,
)

from headgate.features.plan.view.words import PlanWords, time_to_spare, what_is_missed
from headgate.model.budget import Objective, Quota
from headgate.model.plan import Remedy, Verdict
from headgate.model.units import parse_duration
from headgate.report.phrases import duration_at_least

ON_TIME = make_site("on-time", [(0, 10, 100)], deadline=20)
LATE = make_site("late", [(10, 30, 100)], deadline=25)


def test_feasible() -> None:
    words = PlanWords.from_plan(make_plan(ON_TIME, make_site("free", [(10, 30, 100)])))
    assert (
        words.headline == "Feasible: the deadline is met; 90 B/s would do, the budget is 100 B/s."
    )
    assert not words.outcome
    assert not words.remedies


def test_without_deadlines() -> None:
    plan = make_plan(make_site("a", [(0, 1, 1)]), remedy=Remedy(0.0, 0.0, None, {}))
    assert PlanWords.from_plan(plan).headline == (
        "Feasible: no site has a deadline; the budget is 100 B/s."
    )


def test_infeasible_with_remedies_rounded_up() -> None:
    remedy = Remedy(111.11, 123.41, None, {"late": 5.01})
    words = PlanWords.from_plan(make_plan(ON_TIME, LATE, remedy=remedy))
    assert words.headline == (
        "Not feasible: no plan can meet all 2 deadlines; at least 112 B/s are needed, the budget is"
        " 100 B/s."
    )
    assert words.outcome == "This plan misses 1 of 2 deadlines, by 5.0s in all."
    assert words.remedies == (
        "a bandwidth of 124 B/s, for which a plan is known",
        "later deadlines: late +5.1s",
    )


def test_infeasible_at_any_bandwidth() -> None:
    words = PlanWords.from_plan(make_plan(LATE, remedy=Remedy(None, None, None, {"late": 5.0})))
    assert "no budget is enough" in words.headline
    assert words.remedies == ("later deadlines: late +5.0s",)


def test_open() -> None:
    plan = make_plan(ON_TIME, LATE, verdict=Verdict.OPEN, remedy=Remedy(90.0, 110.0, None, {}))
    assert PlanWords.from_plan(plan).headline == (
        "Open: this plan misses 1 of 2 deadlines, by 5.0s in all, and it is not proven that every"
        " plan must; at least 90 B/s are needed, the budget is 100 B/s."
    )


def test_another_policy_would_meet_them() -> None:
    plan = make_plan(ON_TIME, LATE, verdict=Verdict.OPEN, remedy=Remedy(70.0, 80.0, None, {}))
    words = PlanWords.from_plan(plan)
    assert words.headline.startswith("Not this way: this plan misses 1 of 2 deadlines")
    assert words.remedies[0] == "another policy: the default one knows a plan within this budget"


def test_a_timetable_is_scaled() -> None:
    on_time = PlanWords.from_plan(make_timetable_plan(ON_TIME, remedy=Remedy(20.0, 40.0, 0.4, {})))
    assert on_time.headline.endswith(
        "the timetable (UTC) gives 100 B/s, and 0.8 times that would do."
    )
    late = PlanWords.from_plan(make_timetable_plan(LATE, remedy=Remedy(60.0, 75.0, 1.2, {})))
    assert late.headline.endswith("at least 1.2 times the timetable's rates (100 B/s) are needed.")
    assert late.remedies == ("1.5 times the timetable's rates, for which a plan is known",)


def test_a_timetable_that_turns_during_the_plan_shows_both_rates() -> None:
    long = make_site("long", [(0, 3600, 100), (3600, 7200, 50)])
    words = PlanWords.from_plan(make_timetable_plan(long, remedy=Remedy(0.0, 0.0, 0.0, {})))
    assert words.headline.endswith("the timetable (UTC) gives 50 B/s to 100 B/s.")


def test_at_most_ten_deadlines_are_named() -> None:
    late = {f"s{number}": float(number) for number in range(1, 13)}
    words = PlanWords.from_plan(make_plan(LATE, remedy=Remedy(110.0, None, None, late)))
    assert words.remedies[-1].startswith("later deadlines: s12 +12.0s, s11 +11.0s, ")
    assert words.remedies[-1].endswith("s3 +3.0s, and 2 more")


def test_how_far_from_the_least_possible() -> None:
    plan = make_plan(ON_TIME, LATE, bounds=(4.0, 30.0, 10.0))
    assert PlanWords.from_plan(plan).quality == (
        "lateness 5.0s, at most 25.0% above the least possible",
        "makespan 30.0s, the least possible",
        "total time 30.0s, at most 3 times the least possible",
    )


def test_what_would_prove_more_is_named() -> None:
    plan = make_plan(ON_TIME, LATE, bounds=(4.0, 30.0, 10.0))
    named = PlanWords.from_plan(replace(plan, closer_bound_with='pip install "headgate[bounds]"'))
    assert named.quality[0].endswith(
        'least possible (a closer bound: pip install "headgate[bounds]")'
    )
    on_time = make_plan(ON_TIME, bounds=(0.0, 30.0, 10.0))
    assert "pip" not in " ".join(PlanWords.from_plan(on_time).quality)


def test_the_objective_comes_first() -> None:
    plan = make_plan(ON_TIME, objective=Objective.TOTAL_TIME, bounds=(0.0, 10.0, 10.0))
    assert [figure.split()[0] for figure in PlanWords.from_plan(plan).quality] == [
        "total",
        "makespan",
    ]


def test_stopped_sites_are_not_late() -> None:
    stopped = make_stopped_site("stopped", [(0, 10, 100)], deadline=10, left=500)
    words = PlanWords.from_plan(make_plan(stopped, bounds=(5.0, 1.0, 1.0)))
    assert words.outcome == "This plan stops 1 site at the deadline with 500 B left."
    assert words.quality[0] == (
        "lateness, and what is left as time of the whole line: 5.0s, the least possible"
    )
    both = PlanWords.from_plan(make_plan(LATE, stopped))
    assert both.outcome == (
        "This plan misses 1 of 2 deadlines, by 5.0s in all, and stops 1 site at the deadline with"
        " 500 B left."
    )
    assert time_to_spare(stopped) == "stopped, 500 B left"


def test_what_is_missed_counts_deadlines() -> None:
    """It was "misses 0 of 1 deadlines" of a site that stops, and counted sites without one."""
    stopped = make_stopped_site("stopped", [(0, 10, 100)], deadline=10, left=500)
    plan = make_plan(stopped, make_site("free", [(10, 30, 100)]))
    assert what_is_missed(plan) == "this plan stops 1 site at the deadline with 500 B left"
    late = make_plan(ON_TIME, LATE, make_site("free", [(10, 30, 100)]))
    assert what_is_missed(late) == "this plan misses 1 of 2 deadlines, by 5.0s in all"


def test_nothing_proven_about_lateness() -> None:
    assert PlanWords.from_plan(make_plan(LATE, verdict=Verdict.OPEN)).quality[0] == (
        "lateness 5.0s, while none at all is not ruled out"
    )


def test_some_lateness_is_proven_but_not_how_much() -> None:
    assert PlanWords.from_plan(make_plan(LATE, verdict=Verdict.INFEASIBLE)).quality[0] == (
        "lateness 5.0s; some there must be, how little is open"
    )


@given(seconds=st.floats(min_value=0, max_value=1e8))
def test_a_duration_to_act_on_is_enough(seconds: float) -> None:
    assert parse_duration(duration_at_least(seconds)) >= seconds - 1e-4 * max(seconds, 1)


@pytest.mark.parametrize(("seconds", "text"), [(0.01, "0.1s"), (59.95, "1m 00s"), (3601, "1h 01m")])
def test_durations_are_rounded_up(seconds: float, text: str) -> None:
    assert duration_at_least(seconds) == text


def test_a_quota_that_runs_out_is_said_instead_of_a_bandwidth() -> None:
    plan = make_plan(LATE, pieces=((0.0, 100.0), (5.0, 0.0), (20.0, 100.0)))
    quota = Quota.parse("500 B/day", ZoneInfo("UTC"))
    words = PlanWords.from_plan(replace(plan, budget=replace(plan.budget, quota=quota)))
    assert words.headline.endswith(
        "the budget is 100 B/s, and the quota of 500 B per day runs out on the way."
    )
    assert words.remedies[0] == "a larger quota"
