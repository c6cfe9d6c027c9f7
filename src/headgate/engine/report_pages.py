"""Writes ``report.html`` into the folder of a run, whichever door the run was started through.

The views are imported when the page is made: a crawl loads neither a survey's charts, nor its own
before it has ended.
"""

from __future__ import annotations

from pathlib import Path

from headgate.model.run_report import RunReport
from headgate.storage.atomic_write import write_whole

__all__ = [
    "PAGE",
    "write_report_page",
]

PAGE = "report.html"


def write_report_page(report: RunReport, folder: Path) -> None:
    from headgate.report.page import report_page

    write_whole(folder / PAGE, report_page(report).encode())
