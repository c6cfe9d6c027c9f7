"""What somebody who looks on a crawl is told of its plan."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from tests.unit.report.charts.plans import make_plan, make_site, make_stopped_site

from headgate.cli.crawl_progress import CrawlWatch
from headgate.cli.live_view import ProgressView
from headgate.cli.terminal import OpeningWords
from headgate.model.plan import Plan, Verdict


def told(plan: Plan | None, capsys: pytest.CaptureFixture[str], *, limited: bool = True) -> str:
    view = ProgressView(Console(file=io.StringIO()))
    CrawlWatch([], limited=limited, view=view, opening=OpeningWords(quiet=True)).on_plan(plan, {})
    return capsys.readouterr().err


ON_TIME = make_site("on-time", [(0, 10, 100)], deadline=20)
LATE = make_site("late", [(0, 15, 100)], deadline=10)
STOPPED = make_stopped_site("stopped", [(0, 10, 100)], deadline=10, left=500)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (make_plan(ON_TIME), ""),
        (
            make_plan(LATE, verdict=Verdict.OPEN),
            "headgate: this plan misses 1 of 1 deadline, by 5.0s in all\n",
        ),
        (
            make_plan(STOPPED, verdict=Verdict.OPEN),
            "headgate: this plan stops 1 site at the deadline with 500 B left\n",
        ),
    ],
)
def test_what_the_plan_misses(plan: Plan, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(plan, capsys) == words


def test_only_a_crawl_without_a_limit_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    """A short one under a limit is over before it has a plan."""
    assert "no bandwidth limits" in told(None, capsys, limited=False)
    assert told(None, capsys) == ""
