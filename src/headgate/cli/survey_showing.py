"""A survey with somebody looking on: progress and interrupts."""

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
    """Survey and show how it goes."""
    watch = SurveyWatch(quiet=quiet)
    loop = asyncio.get_running_loop()
    on_interrupt(loop, watch.interrupt)
    try:
        return await survey(job, real_parts(), watch)
    finally:
        watch.close()


class SurveyWatch:
    """One line, rewritten in place on a terminal, now and then a new one elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._said = -_LINE_SECONDS
        self._run: SurveyUnderWay | None = None
        self._interrupts = 0
        self.goes_on = True
        """Nobody has ended it."""

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
        """Also said when nobody watches: a survey that stands still for weeks must say why."""
        say(quota_is_used_up(use))

    def interrupt(self) -> None:
        """The first time: save and end. The second time: at once; what is stored is stored."""
        self._interrupts += 1
        self.goes_on = False
        if self._interrupts > 1 or self._run is None:
            os._exit(INTERRUPTED)
        self._run.stop("interrupted")

    def close(self) -> None:
        if self._terminal and not self._quiet:
            self._write("\n")

    def _write(self, text: str) -> None:
        """No survey ends for want of a listener."""
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
