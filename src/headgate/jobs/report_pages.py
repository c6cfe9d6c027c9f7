"""The report as a page, in the folder of its run: whoever asked for the run finds the same.

What draws it is imported when it is drawn: a crawl need not load a survey's charts, nor its own
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
    """Of what the log in that folder says."""
    from headgate.storage.journals.survey_log import SURVEY_LOG, read_survey
    from headgate.surveying.facts import SurveyFacts
    from headgate.views.survey_page import survey_page

    facts = SurveyFacts.of(lambda: read_survey(folder / SURVEY_LOG))
    write_whole(folder / PAGE, survey_page(report, facts).encode("utf-8", "replace"))
