"""The JSON contract."""

from __future__ import annotations

import json
import math
from typing import NoReturn

from msgspec import structs
from tests.unit.report.charts.plans import make_plan, make_site, make_timetable_plan

from headgate.features.plan.view.json import comparison_as_json, plan_as_json
from headgate.model.plan import Foreseen, Remedy

SITE = make_site("a", [(0, 10, 100)], deadline=8)


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")


def test_the_keys_of_the_contract() -> None:
    document = json.loads(plan_as_json(make_plan(SITE)), parse_constant=refuse)
    assert {
        "policy": "headgate",
        "feasible": False,
        "needed_bandwidth": 80.0,
        "budget": 100.0,
        "makespan": 10.0,
        "total_time": 10.0,
        "tardiness": 2.0,
        "left_bytes": 0.0,
        "shortfall": 2.0,
        "stopped_sites": [],
        "late_sites": ["a"],
    }.items() <= document.items()
    assert document["sites"] == [
        {
            "name": "a",
            "bytes": 1000.0,
            "deadline": 8.0,
            "start": 0.0,
            "end": 10.0,
            "late": 2.0,
            "left_bytes": 0.0,
            "foreseen_end": None,
            "guess": None,
            "segments": [{"start": 0.0, "end": 10.0, "rate": 100.0}],
        }
    ]


def test_what_is_foreseen_has_three_times() -> None:
    site = structs.replace(SITE, foreseen=Foreseen(5.0, 9.0, math.inf))
    document = json.loads(plan_as_json(make_plan(site)), parse_constant=refuse)
    assert document["sites"][0]["foreseen_end"] == {"earliest": 5.0, "likely": 9.0, "latest": None}
    assert document["relax"] == {"a": 2.0}
    assert document["bounds"] == {"makespan": 1.0, "total_time": 1.0, "shortfall": 0.0}


def test_what_is_not_finite_is_null() -> None:
    plan = make_plan(SITE, remedy=Remedy(None, math.inf, None, {}), bounds=(math.nan, 1.0, 1.0))
    document = json.loads(plan_as_json(plan), parse_constant=refuse)
    assert document["needed_bandwidth"] is None
    assert document["enough_bandwidth"] is None
    assert document["bounds"]["shortfall"] is None


def test_a_timetable_is_a_list_over_the_plans_span() -> None:
    long = make_site("long", [(0, 3600, 100), (3600, 7200, 50)])
    plan = make_timetable_plan(long, remedy=Remedy(0.0, 0.0, 0.0, {}))
    assert json.loads(plan_as_json(plan))["budget"] == [
        {"start": 0.0, "rate": 100.0},
        {"start": 3600.0, "rate": 50.0},
    ]


def test_a_comparison_is_a_list_of_plans() -> None:
    document = json.loads(comparison_as_json([make_plan(SITE), make_plan(SITE)]))
    assert [plan["policy"] for plan in document["plans"]] == ["headgate", "headgate"]
