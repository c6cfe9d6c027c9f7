"""When visits under way fill the line."""

from __future__ import annotations

import pytest

from headgate.features.keep.visits import VisitPace, is_full, visit_seconds


def test_a_budget_without_bound_is_never_full() -> None:
    assert not is_full(None, [VisitPace(1e12, 1e9)] * 100)


def test_nobody_waits_for_visits_that_are_nearly_over() -> None:
    visits = [VisitPace(2_999.0, 5_000.0)] * 3
    assert not is_full(1_000.0, visits)
    assert is_full(1_000.0, [*visits, VisitPace(3_001.0, 5_000.0)])


def test_slow_servers_leave_room_for_others() -> None:
    slow = VisitPace(1e6, 300.0)
    assert not is_full(1_000.0, [slow] * 3)
    assert is_full(1_000.0, [slow] * 4)


@pytest.mark.parametrize(("interval", "seconds"), [(0.2, 5.0), (60.0, 60.0), (3600.0, 600.0)])
def test_visits_are_as_long_as_pages_are_left_alone(interval: float, seconds: float) -> None:
    assert visit_seconds(interval) == seconds
