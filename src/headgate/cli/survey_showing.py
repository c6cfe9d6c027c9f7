"""Runs a survey with progress and interrupts."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from headgate.cli.interrupts import on_interrupt
from headgate.cli.speaking import say
from headgate.jobs.real_parts import real_parts
from headgate.jobs.surveys.survey import SurveyJob, SurveyUnderWay, survey
from headgate.model.quota import QuotaUse
from headgate.model.survey_report import SurveyReport
from headgate.views.quota_words import quota_is_used_up
from headgate.views.survey_text import survey_line

__all__ = ["SurveyWatch", "survey_watched"]

INTERRUPTED = 130
_LINE_SECONDS = 5.0


async def survey_watched(job: SurveyJob, *, quiet: bool) -> SurveyReport:
    """Survey and show progress."""
    watch = SurveyWatch(quiet=quiet)
    loop = asyncio.get_running_loop()
    on_interrupt(loop, watch.interrupt)
    try:
        return await survey(job, real_parts(), watch)
    finally:
        watch.close()


class SurveyWatch:
    """One line, updated in place on a terminal; elsewhere a new line now and then."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._said = -_LINE_SECONDS
        self._run: SurveyUnderWay | None = None
        self._interrupts = 0
        self.goes_on = True
        """It was not interrupted."""

    def attach(self, run: SurveyUnderWay) -> None:
        self._run = run

    def look(self, seconds: float, run: SurveyUnderWay) -> None:
        if self._quiet or (not self._terminal and seconds - self._said < _LINE_SECONDS):
            return
        self._said = seconds
        surveyor = run.surveyor
        waiting = sum(tree.waiting for tree in surveyor.trees)
        line = survey_line(
            seconds, surveyor.probed, len(surveyor.trees), len(surveyor.hosts),
            surveyor.requests, surveyor.wire_bytes, waiting,
        )  # fmt: skip
        self._write(f"\r\x1b[2K{line}" if self._terminal else f"{line}\n")

    def mended(self, remarks: Sequence[str]) -> None:
        for remark in remarks:
            say(remark)

    def paused(self, use: QuotaUse) -> None:
        """Also printed with --quiet: a survey that pauses for weeks must say why."""
        say(quota_is_used_up(use))

    def interrupt(self) -> None:
        """First time: save and end. Second time: at once; what is stored stays stored."""
        self._interrupts += 1
        self.goes_on = False
        if self._interrupts > 1 or self._run is None:
            os._exit(INTERRUPTED)
        self._run.stop("interrupted")

    def close(self) -> None:
        if self._terminal and not self._quiet:
            self._write("\n")

    def _write(self, text: str) -> None:
        """Errors are ignored: a closed terminal must not end a survey."""
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
