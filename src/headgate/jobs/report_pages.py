"""Writes ``report.html`` into the folder of a run, whichever door the run was started through.

The views are imported when the page is made: a crawl loads neither a survey's charts, nor its own
before it has ended.
"""

from __future__ import annotations

from pathlib import Path

from headgate.model.run_report import RunReport
from headgate.model.survey_report import SurveyReport
from headgate.storage.replacing import write_whole

__all__ = ["PAGE", "write_report_page", "write_survey_page"]

PAGE = "report.html"


def write_report_page(report: RunReport, folder: Path) -> None:
    from headgate.views.report_page import report_page

    write_whole(folder / PAGE, report_page(report).encode())


def write_survey_page(report: SurveyReport, folder: Path) -> None:
    """From the survey's log in the folder."""
    from headgate.storage.journals.survey_log import SURVEY_LOG, read_survey
    from headgate.surveying.facts import SurveyFacts
    from headgate.views.survey_page import survey_page

    facts = SurveyFacts.of(lambda: read_survey(folder / SURVEY_LOG))
    write_whole(folder / PAGE, survey_page(report, facts).encode("utf-8", "replace"))
