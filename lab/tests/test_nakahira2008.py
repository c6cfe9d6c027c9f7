"""The reproduction on one small web: all its parts, and that the survey's order pays."""

from __future__ import annotations

import pytest

from headgate_lab.papers.nakahira2008.report import chapter
from headgate_lab.papers.nakahira2008.reproduction import (
    MARKS,
    Reproduction,
    WebResult,
    as_json,
    survey_web,
)
from headgate_lab.papers.page import lab_page


@pytest.fixture(scope="module")
def result() -> WebResult:
    return survey_web(60, sites=250)


def test_the_most_promising_first_costs_less_than_the_depth_cut(result: WebResult) -> None:
    """At 80 % of the hosts; so small a web leaves little to learn from for more."""
    assert result.policy_loads[0] < 0.95 * result.cut_loads[0]


def test_a_survey_stops_near_the_share_it_was_told(result: WebResult) -> None:
    assert 0.75 < result.stopped_share < 0.98
    assert result.stopped_load < result.load_by_depth[8]


def test_the_page_shows_figures_and_loads(result: WebResult) -> None:
    reproduction = Reproduction(250, [result], [])
    page = lab_page([(chapter(reproduction), 1.0)])
    assert page.count('plane wide"') == 3
    assert f"{result.policy_loads[0]:.1%}" in page
    assert as_json(reproduction)["marks"] == list(MARKS)
