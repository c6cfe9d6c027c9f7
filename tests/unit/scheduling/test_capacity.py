"""Budgets cut to a quota: never more than it in any period, never less than could be had."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.budget import Budget, Period, Quota, QuotaUse
from headgate.model.errors import PlanningError
from headgate.model.site import Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.scheduling.capacity import Capacity, within_quota
from headgate.scheduling.planner import plan

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
DAY = 86400.0


def budget(rate: float, quota: str) -> Budget:
    return Budget(BytesPerSecond(rate), quota=Quota.parse(quota, ZoneInfo("UTC")))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_period_has_more_than_the_quota_and_none_wastes_it(data: st.DataObject) -> None:
    rate = st.floats(0.1, 50.0) | st.just(0.0)
    gaps = data.draw(st.lists(st.floats(1.0, 2 * DAY), max_size=8))
    starts = [0.0]
    for gap in gaps:
        starts.append(starts[-1] + gap)
    pieces = [(start, data.draw(rate)) for start in starts[:-1]]
    pieces.append((starts[-1], data.draw(st.floats(0.1, 50.0))))
    quota = Quota(Bytes(data.draw(st.floats(1.0, 3e6))), Period.DAY, ZoneInfo("Europe/Berlin"))
    moment = NOON + timedelta(seconds=data.draw(st.floats(0, 200 * DAY)))
    use = QuotaUse(quota, data.draw(st.floats(0.0, 3e6)), moment)
    whole, cut = (
        Capacity.from_pieces(pieces),
        Capacity.from_pieces(within_quota(pieces, use, horizon=5 * DAY)),
    )
    began, left = 0.0, use.left
    while began <= 5 * DAY:
        ends = (quota.resets(moment + timedelta(seconds=began + 1e-3)) - moment).total_seconds()
        could = float(whole.bytes_by(ends) - whole.bytes_by(began))
        does = float(cut.bytes_by(ends) - cut.bytes_by(began))
        assert does == pytest.approx(min(could, left), rel=1e-6, abs=1e-3)
        began, left = ends, quota.bytes


def test_a_rest_too_small_to_be_timed_is_spent() -> None:
    quota = Quota(Bytes(1e6), Period.DAY, ZoneInfo("UTC"))
    use = QuotaUse(quota, 1e6 - 1e-9, NOON)  # lasts 1e-15 s, which 1e4 s do not feel
    cut = within_quota([(0.0, 0.0), (1e4, 1e6)], use, horizon=DAY)
    Capacity.from_pieces(cut)
    assert cut[:2] == [(0.0, 0.0), (DAY / 2, 1e6)]


def test_a_plan_knows_when_the_quota_does_not_suffice() -> None:
    sites = [Site("a", expect=Bytes(3e6), deadline=Seconds(3600.0))]
    assert plan(sites, budget(1e6, "4 MB/day"), start=NOON).feasible
    used = plan(sites, budget(1e6, "4 MB/day"), start=NOON, quota_used=2e6)
    assert not used.feasible
    # Two megabytes at noon, the third after midnight.
    assert used.sites[0].end == pytest.approx(DAY / 2 + 1.0)


def test_a_month_of_quotas() -> None:
    sites = [Site("a", expect=Bytes(10e6))]
    made = plan(sites, budget(1e6, "4 MB/month"), start=NOON)
    january = (datetime(2027, 1, 1, tzinfo=UTC) - NOON).total_seconds()
    assert made.makespan == pytest.approx(january + 2.0)


def test_a_long_month_may_use_up_what_a_short_one_does_not() -> None:
    """At 1 B/s a quota of thirty days' bytes lasts through February, but not through March."""
    sites = [Site("a", expect=Bytes(70 * DAY))]
    start = datetime(2027, 1, 31, tzinfo=UTC)
    made = plan(sites, budget(1.0, f"{30 * DAY:.0f} B/month"), start=start)
    assert made.makespan == pytest.approx(71 * DAY)


def test_a_quota_needs_a_start() -> None:
    with pytest.raises(PlanningError, match="a quota needs to know when"):
        plan([Site("a", expect=Bytes(1.0))], budget(1.0, "1 MB/day"))
