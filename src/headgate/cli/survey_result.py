"""A survey's result: in words for a terminal, and as a page beside its tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headgate.cli.plan_words import plural
from headgate.cli.survey_page import survey_page
from headgate.model.survey_report import SurveyReport
from headgate.model.units import format_duration, format_size
from headgate.storage.replacing import write_whole
from headgate.storage.survey_log import SURVEY_LOG, read_survey
from headgate.survey.facts import SurveyFacts

__all__ = ["survey_text", "write_page"]


def write_page(report: SurveyReport, folder: Path) -> None:
    """Beside the tables, for a browser."""
    facts = SurveyFacts.of(read_survey(folder / SURVEY_LOG))
    write_whole(folder / "report.html", survey_page(report, facts).encode("utf-8", "replace"))


def survey_text(report: SurveyReport, folder: Path) -> str:
    """The result in a few lines."""
    return "\n".join(_lines(report, folder))


def _lines(report: SurveyReport, folder: Path) -> Iterator[str]:
    size = format_size(report.wire_bytes)
    yield (
        f"{report.reachable:,} of {plural(report.servers, 'server')} answered;"
        f" links to {plural(report.hosts, 'other host')} ({plural(report.links, 'pair')})"
    )
    yield (
        f"{plural(report.requests, 'request')}, {plural(report.pages, 'page')}"
        f" ({report.unchanged:,} unchanged), {size} in {format_duration(report.seconds)};"
        f" at most {plural(report.most_requests, 'request')} to one server"
    )
    yield f"ended: {report.ending}; about {report.share_found:.0%} of what could be found"
    for reason, count in sorted(report.unreachable.items(), key=lambda item: -item[1]):
        yield f"  {count:,} without a page: {reason}"
    yield from _depths(report)
    yield f"tables and graph: {folder}"
    yield f"report: {folder / 'report.html'}"


def _depths(report: SurveyReport) -> Iterator[str]:
    """What each depth cost and brought; and what is left of it would."""
    walked = {level.depth: level for level in report.depths}
    ahead = {level.depth: level for level in report.ahead}
    left = "  not asked  would bring" if ahead else ""
    yield f"depth  requests  new hosts{left}"
    for depth in sorted(walked.keys() | ahead.keys()):
        was, more = walked.get(depth), ahead.get(depth)
        line = f"{depth:5}  " + (
            f"{was.requests:8,}  {was.new_hosts:9,}" if was else f"{'':8}  {'':9}"
        )
        yield line + (f"  {more.requests:9,}  {more.new_hosts:11,.0f}" if more else "")
