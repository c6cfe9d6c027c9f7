"""The picture's rectangles add up to the plan."""

from __future__ import annotations

import pytest
from tests.unit.report.charts.plans import make_plan, make_site

from headgate.report.charts.rate_bands import Band, gantt_bands, stacked_bands, summed_bands

FIRST = make_site("first", [(0, 10, 60)], deadline=8)
SECOND = make_site("second", [(0, 5, 40), (10, 20, 100)])


def test_bars_are_cut_at_the_deadline_and_as_thick_as_their_rate() -> None:
    bands = gantt_bands([FIRST, SECOND], 100)
    assert [(band.row, band.start, band.end, band.late) for band in bands] == [
        (0, 0, 8, False),
        (0, 8, 10, True),
        (1, 0, 5, False),
        (1, 10, 20, False),
    ]
    thickness = [band.high - band.low for band in bands]
    assert thickness[2] < thickness[0] == thickness[1] < thickness[3] < 1


def test_rates_are_piled_without_gaps_and_joined() -> None:
    assert stacked_bands([FIRST, SECOND]) == [
        Band(1, 0, 5, 60, 100, late=False),
        Band(0, 0, 8, 0, 60, late=False),
        Band(0, 8, 10, 0, 60, late=True),
        Band(1, 10, 20, 0, 100, late=False),
    ]


def test_very_many_sites_are_summed() -> None:
    plan = make_plan(FIRST, SECOND)
    bands = summed_bands(plan, span=20, count=10)
    assert sum((band.high - band.low) * (band.end - band.start) for band in bands) == pytest.approx(
        sum(site.bytes for site in plan.sites)
    )
    assert {band.start for band in bands if band.late} == {8}
