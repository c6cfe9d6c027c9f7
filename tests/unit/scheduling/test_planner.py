"""From sites and a budget to a plan."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from headgate.model.budget import Budget
from headgate.model.errors import PlanningError
from headgate.model.plan import Verdict
from headgate.model.site import Site, SiteStatistics
from headgate.model.timetable import Timetable
from headgate.model.units import UNLIMITED, Bytes, BytesPerSecond, Seconds
from headgate.scheduling.alpha import fit_alpha
from headgate.scheduling.planner import compare, plan
from headgate.scheduling.policies import POLICY_NAMES, find_policy

MONDAY_MORNING = datetime(2026, 11, 16, 7, tzinfo=UTC)


def site(
    name: str, size: float, deadline: float | None = None, max_rate: float | None = None
) -> Site:
    return Site(
        name,
        expect=Bytes(size),
        deadline=None if deadline is None else Seconds(deadline),
        max_rate=None if max_rate is None else BytesPerSecond(max_rate),
    )


def budget(rate: float, crawlers: int = 5) -> Budget:
    return Budget(BytesPerSecond(rate), crawlers)


def test_a_feasible_plan_meets_every_deadline_and_says_what_was_needed() -> None:
    answer = plan([site("a", 600, 60), site("b", 400, 100)], budget(10))
    assert answer.verdict is Verdict.FEASIBLE
    assert answer.makespan == pytest.approx(100)
    assert answer.remedy.needed_bandwidth == pytest.approx(10)
    assert answer.remedy.relax == {}
    assert [s.late for s in answer.sites] == [0, 0]


def test_an_infeasible_plan_names_both_remedies() -> None:
    answer = plan([site("a", 600, 30), site("b", 400, 100)], budget(10))
    assert answer.verdict is Verdict.INFEASIBLE
    assert answer.remedy.needed_bandwidth == pytest.approx(20)
    assert answer.remedy.relax == pytest.approx({"a": 30})
    relaxed = plan([site("a", 600, 60), site("b", 400, 100)], budget(10))
    assert relaxed.feasible
    assert plan([site("a", 600, 30), site("b", 400, 100)], budget(20)).feasible


def test_the_needed_bandwidth_is_enough_and_a_little_less_is_not() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        sizes, deadlines = rng.uniform(1, 50, 5), rng.uniform(20, 60, 5)
        caps = rng.uniform(3, 9, 5)
        sites = [site(f"s{i}", sizes[i], deadlines[i], caps[i]) for i in range(5)]
        needed = plan(sites, budget(1)).remedy.needed_bandwidth
        assert needed is not None
        assert plan(sites, budget(needed * 1.0001)).feasible
        assert plan(sites, budget(needed * 0.999)).verdict is Verdict.INFEASIBLE


def test_no_bandwidth_saves_a_site_whose_cap_is_too_low() -> None:
    answer = plan([site("a", 600, 30, max_rate=10)], budget(100))
    assert answer.remedy.needed_bandwidth is None
    assert answer.remedy.relax == pytest.approx({"a": 30})
    assert answer.shortfall_bound == pytest.approx(30)


def test_alpha_stretches_a_site() -> None:
    slow = Site("a", expect=Bytes(100), statistics=SiteStatistics(alpha=1.5))
    assert plan([slow], budget(10)).makespan == pytest.approx(15)
    assert plan([slow], budget(10)).sites[0].bytes == 100
    assert fit_alpha([], []) == 1.0


def test_a_timetable_is_followed_over_weeks() -> None:
    nights = Timetable.parse(["08:00 0", "20:00 1 KB/s"], ZoneInfo("UTC"))
    night = 12 * 3600 * 1000
    answer = plan([site("a", 10 * night)], Budget(nights), start=MONDAY_MORNING)
    # One hour of the first night is left at 07:00, so the rest ends in the tenth night after.
    assert answer.makespan == pytest.approx(9 * 86400 + 13 * 3600 + 11 * 3600)
    assert sum((s.end - s.start) * s.rate for s in answer.sites[0].segments) == pytest.approx(
        10 * night
    )
    assert {float(piece.rate) for piece in answer.budget_pieces} == {0.0, 1000.0}


def test_a_timetable_of_one_rate_is_a_constant_budget() -> None:
    flat = Timetable.parse(["08:00 1 KB/s", "20:00 1 KB/s"], ZoneInfo("UTC"))
    answer = plan([site("a", 1e9)], Budget(flat), start=MONDAY_MORNING)
    assert answer.makespan == pytest.approx(1e6)
    assert len(answer.budget_pieces) == 1


def test_unlimited_bandwidth_leaves_the_sites_their_own_speed() -> None:
    answer = plan([site("a", 100, max_rate=10), site("b", 100, max_rate=5)], budget(UNLIMITED))
    assert [s.end for s in answer.sites] == pytest.approx([10, 20])


@pytest.mark.parametrize(
    ("sites", "limit", "words"),
    [
        ([Site("a")], 10.0, "no expected size"),
        ([site("a", 0)], 10.0, "expect"),
        ([site("a", float("nan"))], 10.0, "expect"),
        ([site("a", 10, max_rate=0)], 10.0, "max_rate"),
        ([site("a", 10, deadline=float("nan"))], 10.0, "deadline"),
        ([site("a", 10)], UNLIMITED, "max_rate"),
        ([site("a", 10)], 0.0, "above 0"),
    ],
)
def test_what_cannot_be_planned_is_said(sites: list[Site], limit: float, words: str) -> None:
    with pytest.raises(PlanningError, match=words):
        plan(sites, budget(limit))


def test_a_timetable_without_a_start_is_refused() -> None:
    table = Timetable.parse(["08:00 1 KB/s", "20:00 0"], ZoneInfo("UTC"))
    with pytest.raises(PlanningError, match="start"):
        plan([site("a", 10)], Budget(table))


def test_policies_are_found_whatever_their_case_and_near_misses_named() -> None:
    assert find_policy("realloc-maxt").name == "ReAlloc-MAXT"
    with pytest.raises(PlanningError, match="did you mean 'M-SUMT'"):
        find_policy("m-sumtt")
    with pytest.raises(PlanningError, match="ReAlloc"):
        plan([site("a", 1), site("b", 1)], budget(1, crawlers=1), "M-MAXT")


def test_compare_runs_every_policy_that_fits_and_shares_the_bounds() -> None:
    sites = [site("a", 600, 60), site("b", 400, 80), site("c", 300, 20)]
    assert [p.policy for p in compare(sites, budget(10))] == list(POLICY_NAMES)
    rounds = compare(sites, budget(10, crawlers=2))
    assert rounds[0].policy == "headgate"
    assert "M-MAXT" not in [p.policy for p in rounds]
    assert len({p.shortfall_bound for p in rounds}) == 1
    assert all(rounds[0].tardiness <= p.tardiness + 1e-6 for p in rounds)


def test_without_deadlines_nothing_is_needed_however_few_the_crawlers() -> None:
    answer = plan([site(f"s{k}", 100 + k, max_rate=3) for k in range(8)], budget(10, crawlers=2))
    assert answer.feasible
    assert answer.remedy.needed_bandwidth == answer.remedy.enough_bandwidth == 0


def test_nothing_to_do_is_a_plan() -> None:
    answer = plan([], budget(10))
    assert answer.feasible
    assert answer.makespan == 0


def test_without_the_solver_the_bound_is_looser_true_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sites = [site(name, 900, 100, max_rate=6) for name in "abcd"]
    closer = plan(sites, budget(10, crawlers=2))
    monkeypatch.setitem(sys.modules, "highspy", None)
    plain = plan(sites, budget(10, crawlers=2))
    assert plain.shortfall == pytest.approx(closer.shortfall), "it is the same plan"
    assert plain.shortfall_bound <= closer.shortfall_bound <= closer.shortfall
    assert plain.closer_bound_with == 'pip install "headgate[bounds]"'
    assert not closer.closer_bound_with
