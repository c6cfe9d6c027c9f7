"""Collections as a stranger may leave them, made once and copied for each test."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.acceptance.reckoning import interrupted
from tests.acceptance.small_web import SmallWeb, serving

from headgate.cli.main import main
from headgate.control.control_loop import ControlLoop
from headgate.features.survey.run import SurveyRun

__all__ = ["Entered", "Strange", "entered", "make_crawl", "make_survey", "without_the_web"]


@dataclass(frozen=True)
class Strange:
    """A collection with a finished run and one that is not."""

    path: Path

    @property
    def spool(self) -> Path:
        (found,) = (self.path / "spool").iterdir()
        return found

    @property
    def unfinished(self) -> Path:
        return self.path / "runs" / self.spool.name

    @property
    def finished(self) -> Path:
        runs = (self.path / "runs").iterdir()
        return next(run for run in runs if run.name != self.spool.name)

    def copy(self, to: Path) -> Strange:
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.path, to, symlinks=True)
        return Strange(to)


def make_crawl(folder: Path) -> Strange:
    return _made("crawl", folder)


def make_survey(folder: Path) -> Strange:
    return _made("survey", folder)


def _made(command: str, folder: Path) -> Strange:
    words = (command, "--out", folder, "--quiet")
    with serving(SmallWeb(12)) as web:
        finish = [sys.executable, "-m", "headgate", *map(str, words), web.seed]
        fast = ["--delay", "0s"] if command == "survey" else []
        subprocess.run([*finish, *fast], check=True, capture_output=True, timeout=60)
        web.pages, web.seconds_per_page = 60, 0.2
        interrupted(signal.SIGINT, *words, web.seed, web=web, after_seconds=1.0)
    return Strange(folder)


def without_the_web(patch: pytest.MonkeyPatch) -> None:
    """Everything but the fetching: whom a damaged file would have us ask is nobody's wish."""

    async def crawl_nothing(control_loop: ControlLoop) -> None:
        control_loop.interrupt("interrupted")

    async def survey_nothing(_: SurveyRun) -> str:
        return "interrupted"

    patch.setattr(ControlLoop, "run", crawl_nothing)
    patch.setattr(SurveyRun, "run", survey_nothing)


@dataclass(frozen=True)
class Entered:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line; what was mended may be told before it."""
        line = self.err.splitlines()[-1]
        assert line.startswith("headgate: ")
        assert "; " in line or "damaged" not in line, "what is wrong, and what to do"
        return line


def entered(capture: pytest.CaptureFixture[bytes], *words: object) -> Entered:
    """The command line in this process: a traceback is an exception here."""
    code = main([str(word) for word in words])
    out, err = capture.readouterr()
    return Entered(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
