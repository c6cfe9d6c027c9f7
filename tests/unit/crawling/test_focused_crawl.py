"""The harvest curve against the list of all pages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.crawling.focused_crawl import HarvestCurve


@given(st.lists(st.booleans(), max_size=2000))
def test_points_are_true_few_and_end_at_the_end(pages: list[bool]) -> None:
    curve = HarvestCurve()
    for relevant in pages:
        curve.add(relevant)
    points = curve.points
    assert len(points) <= 202
    assert points[-1] == (len(pages), sum(pages))
    assert all(found == sum(pages[:count]) for count, found in points)
    assert list(points) == sorted(set(points))
