"""What algorithms remember within a decision or for good: each thing a value depends on is varied,
with the others fixed."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest

from headgate.bandwidth import server_speed
from headgate.engine import process_messages
from headgate.model.timetable import DayKind
from headgate.report.charts import svg
from headgate.scheduling import deadline_guard
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.replan import (
    CrawlState,
    OpenSite,
    Progressed,
    replan,
)
from headgate.scheduling.reserve import NO_RESERVE, WHOLE_RESERVE
from headgate.scheduling.tardiness import _Decomposition


def state(*, rate: float = 100.0) -> CrawlState:
    sites = {name: OpenSite(1_000.0, deadline=50.0, cap=90.0) for name in ("a", "b")}
    return CrawlState(sites, deque(sites), Capacity.constant(rate), slots=2)


def test_weights_of_a_measure_go_by_minute_and_kind_of_day() -> None:
    kinds = list(DayKind)
    cases = list(itertools.product((0, 61, 720), kinds))
    for minute, kind in cases * 2:
        assert server_speed._weights(minute) == server_speed._weights.__wrapped__(minute)
        found = server_speed._steady_weights(minute, kind)
        assert found == server_speed._steady_weights.__wrapped__(minute, kind)
    assert len({server_speed._steady_weights(*case) for case in cases}) == len(cases)
    assert server_speed._weights.cache_info().maxsize == 16
    assert server_speed._steady_weights.cache_info().maxsize == 16


def test_the_budget_ahead_goes_by_budget_and_time() -> None:
    made = state()
    turning = Capacity.from_pieces([(0.0, 100.0), (10.0, 50.0)])
    for capacity, now in ((made.capacity, 0.0), (turning, 0.0), (turning, 20.0), (turning, 5.0)):
        made.capacity, made.now = capacity, now
        ahead = made.problem(["a"]).capacity
        assert ahead.rate_at(0.0) == capacity.rate_at(now)
        assert ahead.rate_at(6.0) == capacity.rate_at(now + 6.0)


def test_the_problem_of_a_decision_goes_by_the_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lives as long as one decision, in which the state stands still."""
    made, asked = state(), []
    guarded = deadline_guard.guarded_rates

    def watched(problem, look_seconds, held):  # type: ignore[no-untyped-def]
        for reserve in (NO_RESERVE, WHOLE_RESERVE, NO_RESERVE):
            found = problem(reserve)
            own = made.problem([*made.running, *made.waiting], reserve)
            assert np.allclose(found.work, own.work)
            assert np.allclose(found.deadlines, own.deadlines)
            asked.append(found)
        return guarded(problem, look_seconds, held)

    monkeypatch.setattr(deadline_guard, "guarded_rates", watched)
    made.sites["a"].reserve = 10.0
    for remaining in (2_000.0, 500.0):
        replan(made, Progressed(1.0, {"a": remaining}))
    assert len(asked) == 6
    assert asked[0] is asked[2] is not asked[1]
    assert asked[0].work[0] != asked[3].work[0]


@pytest.mark.parametrize("start", [0.0, 3.0])
def test_least_lateness_goes_by_jobs_and_start(start: float) -> None:
    durations, deadlines = [4.0, 3.0, 2.0, 5.0], [5.0, 5.0, 6.0, 7.0]
    shared = _Decomposition(durations, deadlines, 1_000)
    for jobs in ((0, 1, 2, 3), (1, 2, 3), (0, 1), (0, 1, 2, 3)):
        for began in (start, start + 1.0):
            alone = _Decomposition(durations, deadlines, 1_000)
            assert shared.least(jobs, began) == alone.least(jobs, began)
            assert shared.order(jobs, began) == alone.order(jobs, began)
    others = _Decomposition(durations, [20.0] * 4, 1_000)
    assert others.least((0, 1, 2, 3), 0.0) == 0.0


def test_files_of_the_package_go_by_their_name() -> None:
    for name in ("colours.css", "charts.css", "page.js", "colours.css"):
        assert svg.own_file(name) == svg.own_file.__wrapped__(name)
    assert svg._light_style() == svg._light_style.__wrapped__()
    assert svg.own_file.cache_info().currsize <= 5, "the package has no more"


def test_the_version_of_messages_is_that_of_their_types() -> None:
    assert process_messages.version() == process_messages.version.__wrapped__()
