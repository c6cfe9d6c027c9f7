"""Runs a survey with progress and interrupts."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from headgate.cli.terminal import on_interrupt, say
from headgate.engine.real_parts import real_parts
from headgate.engine.site_inputs import read_text
from headgate.engine.watcher import Watcher
from headgate.features.survey.job import SurveyJob, SurveyMoment, SurveyUnderWay, survey
from headgate.features.survey.report import SurveyReport
from headgate.features.survey.strategy.rules import StartList, start_url
from headgate.features.survey.view.text import survey_line
from headgate.model.budget import QuotaUse
from headgate.model.errors import UserMistake
from headgate.report.words import quota_is_used_up

__all__ = ["SurveyWatch", "read_starts", "survey_watched"]

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


class SurveyWatch(Watcher[SurveyUnderWay, SurveyMoment]):
    """One line, updated in place on a terminal; elsewhere a new line now and then."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._said = -_LINE_SECONDS
        self._run: SurveyUnderWay | None = None
        self._interrupts = 0
        self.goes_on = True
        """It was not interrupted."""
        self.begun = False
        """It has a run, which can be resumed."""

    def on_open(self) -> None:
        self.begun = True

    def on_start(self, running: SurveyUnderWay) -> None:
        self._run = running

    def on_progress(self, seen: SurveyMoment) -> None:
        seconds, surveyor = seen.seconds, seen.run.surveyor
        if self._quiet or (not self._terminal and seconds - self._said < _LINE_SECONDS):
            return
        self._said = seconds
        waiting = sum(tree.waiting for tree in surveyor.trees)
        line = survey_line(
            seconds,
            surveyor.probed,
            servers=len(surveyor.trees),
            hosts=len(surveyor.hosts),
            requests=surveyor.requests,
            size=surveyor.wire_bytes,
            waiting=waiting,
        )
        self._write(f"\r\x1b[2K{line}" if self._terminal else f"{line}\n")

    def on_messages(self, words: Sequence[str]) -> None:
        for word in words:
            say(word)

    def on_pause(self, use: QuotaUse, too_late: Sequence[str]) -> None:  # noqa: ARG002 - none
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


_COMPLAINTS = 20
_LIST_ENDINGS = (".txt", ".csv", ".lst", ".list")
"""A word with such an ending is a missing file, not a host."""


def read_starts(words: Sequence[str]) -> tuple[str, ...]:
    """The starting URLs of a survey: from the command line, a file or stdin.

    The URLs of a list, or the words themselves; in order, without repetitions.
    """
    if len(words) == 1 and (words[0] == "-" or Path(words[0]).is_file()):
        return _listed(words[0])
    starts = []
    for word in words:
        start = None if word.endswith(_LIST_ENDINGS) and "://" not in word else start_url(word)
        if start is None:
            raise UserMistake(_no_start(word))
        starts.append(start)
    return tuple(dict.fromkeys(starts))


def _no_start(word: str) -> str:
    if word == "-" or Path(word).is_file():
        return f"{word!r} is a list, and a list stands alone; put all URLs into one"
    if Path(word).is_dir():
        return f"{word!r} is a folder; name a list of URLs, or a URL"
    return f"{word!r} is no URL of http or https, nor a file"


def _listed(path: str) -> tuple[str, ...]:
    found = StartList.from_text(read_text(path))
    for number, text in found.bad_lines[:_COMPLAINTS]:
        say(f"{path}:{number}: {text[:80]!r} is no URL; left out")
    if len(found.bad_lines) > _COMPLAINTS:
        say(f"{path}: {len(found.bad_lines) - _COMPLAINTS:,} more lines are no URLs")
    if not found.urls:
        raise UserMistake(f"{path}: no line of it is a URL")
    return found.urls
