"""When a crawl saves its time: every second, and seldom in a pause, which may last for hours."""

from __future__ import annotations

from typing import cast

import pytest
from tests.unit.views.reports import simple_report

from headgate.jobs.report_saving import ReportSaving
from headgate.model.run_report import RunReport
from headgate.storage.run_state import RunState


class Noting:
    """Stands in for `RunState`."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float]] = []

    def save(self, seconds: float, _report: RunReport | None, next_within: float) -> None:
        self.times.append((seconds, next_within))


def saved(looks: list[tuple[float, bool]]) -> list[tuple[float, float]]:
    """When what was saved, and how soon the next would be."""
    state = Noting()
    saving = ReportSaving(cast(RunState, state), simple_report, lambda: 0.0)
    for now, pausing in looks:
        saving.look(now, 0, 0, pausing=pausing)
    return state.times


def test_the_time_is_saved_every_second() -> None:
    looks = [(half / 2, False) for half in range(6)]
    assert saved(looks) == [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]


def test_a_pause_is_told_when_it_begins_and_saved_seldom() -> None:
    looks = [(0.0, False), (0.5, True), *((2.5 + 2 * look, True) for look in range(10))]
    assert saved(looks) == [(0.0, 1.0), (0.5, 10.0), (10.5, 10.0), (20.5, 10.0)]


@pytest.mark.parametrize("ends", [2.5, 9.5])
def test_after_a_pause_the_time_is_saved_every_second_again(ends: float) -> None:
    looks = [(0.0, True), (ends, False), (ends + 0.5, False), (ends + 1.0, False)]
    assert saved(looks) == [(0.0, 10.0), (ends, 1.0), (ends + 1.0, 1.0)]
