"""A repeated survey knows where the first was rich."""

from __future__ import annotations

from headgate.features.survey.strategy.entries import SurveyEntry
from headgate_lab.papers.nakahira2008.playing import play
from headgate_lab.worlds.virtual_web import make_web


def test_the_second_survey_needs_fewer_pages_for_the_same_share() -> None:
    web = make_web(80, sites=80)
    first_log: list[SurveyEntry] = []
    second_log: list[SurveyEntry] = []
    first = play(web, log=first_log)
    second = play(web, earlier=first_log, log=second_log)
    assert {entry.url for entry in first_log} == {entry.url for entry in second_log}
    assert first.hosts[-1] == second.hosts[-1]
    assert second.load_at(0.8, web) < 0.6 * first.load_at(0.8, web)
