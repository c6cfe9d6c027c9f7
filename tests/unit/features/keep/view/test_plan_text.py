"""What ``headgate plan --keep`` says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO

import numpy as np
from rich.console import Console

from headgate.features.keep.recrawl.freshness_promises import keep_plan
from headgate.features.keep.status import KeepPlan, PromisedSite
from headgate.features.keep.view.plan_text import (
    keep_plan_as_json,
    keep_plan_words,
    print_keep_plan,
)
from headgate.model.budget import Budget
from headgate.model.units import BytesPerSecond, Seconds, SizeRange


def plan(rate: float, *sizes: SizeRange, max_rate: float | None = None) -> KeepPlan:
    """Sites a, b, ... that promise a day."""
    bound = None if max_rate is None else BytesPerSecond(max_rate)
    sites = [
        PromisedSite(name, Seconds(86_400.0), size, bound)
        for name, size in zip("abcdefgh", sizes, strict=False)
    ]
    start, rng = datetime(2026, 11, 16, tzinfo=UTC), np.random.default_rng(1)
    return keep_plan(sites, 3, Budget(BytesPerSecond(rate)), start, rng)


OF_THE_BUDGET = "of what the budget lets pass"
DAILY = SizeRange.exactly(86.4e6)


def test_promises_that_hold_leave_the_rest_to_others() -> None:
    assert keep_plan_words(plan(4000.0, DAILY, DAILY)) == [
        f"Feasible: all 2 promises hold; promises take 50% {OF_THE_BUDGET}.",
        "50% of the budget is left for 3 sites without a promise.",
    ]


def test_promises_that_do_not_hold_come_with_what_would_help() -> None:
    assert keep_plan_words(plan(1000.0, DAILY, DAILY)) == [
        f"Not feasible: not all promises hold together; promises take 200% {OF_THE_BUDGET}.",
        "As it is, pages would be looked at 24h 00m late.",
        "What would help: a bandwidth of 2 KB/s.",
        "  or fresh_within longer by 24h 00m everywhere.",
        "  or no promise for a.",
    ]


def test_a_server_too_slow_is_named_and_no_budget_helps() -> None:
    words = keep_plan_words(plan(1e6, DAILY, max_rate=500.0))
    assert words[1] == "Even alone, a could not be kept fresh for so long."
    assert words[2] == "As it is, pages would be looked at 24h 00m late."
    assert words[3:] == [
        "What would help: fresh_within longer by 24h 00m everywhere.",
        "  or no promise for a.",
    ]


def test_guesses_make_it_a_probability() -> None:
    words = keep_plan_words(plan(1200.0, SizeRange(40e6, 86.4e6, 200e6)))
    assert words[0].startswith("Feasible with a probability of 6")
    out = StringIO()
    print_keep_plan(Console(file=out, width=100), plan(1200.0, SizeRange(40e6, 86.4e6, 200e6)))
    assert "40 MB to 200 MB" in out.getvalue()


def test_nothing_promised_is_said() -> None:
    assert keep_plan_words(plan(1.0))[0].startswith("Nothing is promised")


def test_json_has_no_number_that_is_none() -> None:
    document = json.loads(keep_plan_as_json(plan(1e6, DAILY, max_rate=10.0)))
    assert document["scale"] is None
    assert document["holds"] is False
    assert document["impossible"] == ["a"]
    assert document["sites"][0]["bytes"] == 86.4e6
