"""A survey with somebody looking on: progress, interrupts, and its result in words."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from headgate.cli.survey_page import survey_page
from headgate.crawling.survey_run import SurveyRun
from headgate.grid.survey import LOG_NAME, SurveyJob, survey
from headgate.model.survey_report import SurveyReport
from headgate.model.units import format_duration, format_size
from headgate.storage.replacing import write_whole
from headgate.storage.survey_log import read_survey
from headgate.survey.facts import SurveyFacts
from headgate.survey.server_tree import ServerState

__all__ = ["survey_text", "survey_watched", "write_page"]

INTERRUPTED = 130
_LINE_SECONDS = 5.0


async def survey_watched(job: SurveyJob, *, quiet: bool) -> SurveyReport:
    """Survey and show how it goes."""
    watch = _Watch(quiet=quiet)
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, watch.interrupt)
    try:
        return await survey(job, watch)
    finally:
        watch.close()


class _Watch:
    """One line, rewritten in place on a terminal, now and then a new one elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._said = -_LINE_SECONDS
        self._run: SurveyRun | None = None
        self._interrupts = 0

    def attach(self, run: SurveyRun) -> None:
        self._run = run

    def look(self, seconds: float, run: SurveyRun) -> None:
        if self._quiet or (not self._terminal and seconds - self._said < _LINE_SECONDS):
            return
        self._said = seconds
        trees = run.surveyor.trees
        probed = sum(tree.state is not ServerState.WAITING for tree in trees)
        requests = sum(tree.requests for tree in trees)
        size = format_size(sum(tree.wire_bytes for tree in trees))
        waiting = sum(tree.waiting for tree in trees)
        line = (
            f"{format_duration(seconds)}: {probed:,} of {len(trees):,} servers probed, "
            f"{len(run.surveyor.hosts):,} hosts found, {requests:,} requests, {size}, "
            f"{waiting:,} pages wait"
        )
        sys.stderr.write(f"\r\x1b[2K{line}" if self._terminal else f"{line}\n")
        sys.stderr.flush()

    def interrupt(self) -> None:
        """The first time: save and end. The second time: at once; what is stored is stored."""
        self._interrupts += 1
        if self._interrupts > 1 or self._run is None:
            os._exit(INTERRUPTED)
        self._run.stop("interrupted")

    def close(self) -> None:
        if self._terminal and not self._quiet:
            sys.stderr.write("\n")


def write_page(report: SurveyReport, folder: Path) -> None:
    """Beside the tables, for a browser."""
    facts = SurveyFacts.of(read_survey(folder / LOG_NAME))
    write_whole(folder / "report.html", survey_page(report, facts).encode("utf-8", "replace"))


def survey_text(report: SurveyReport, folder: Path) -> str:
    """The result in a few lines."""
    return "\n".join(_lines(report, folder))


def _lines(report: SurveyReport, folder: Path) -> Iterator[str]:
    size = format_size(report.wire_bytes)
    yield (
        f"{report.reachable:,} of {report.servers:,} servers answer;"
        f" they link to {report.hosts:,} other hosts ({report.links:,} pairs)"
    )
    yield (
        f"{report.requests:,} requests, {report.pages:,} pages"
        f" ({report.unchanged:,} unchanged), {size} in {format_duration(report.seconds)};"
        f" at most {report.most_requests:,} requests to one server"
    )
    yield f"ended: {report.ending}; about {report.share_found:.0%} of what could be found"
    for reason, count in sorted(report.unreachable.items(), key=lambda item: -item[1]):
        yield f"  {count:,} without a page: {reason}"
    yield "depth  requests  new hosts"
    for level in report.depths:
        yield f"{level.depth:5}  {level.requests:8,}  {level.new_hosts:9,}"
    yield f"tables and graph: {folder}"
    yield f"report: {folder / 'report.html'}"
