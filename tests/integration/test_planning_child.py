"""The plan of a running crawl, made in a process of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headgate.control.completion_forecast import plan_the_rest
from headgate.control.forecast import Forecast, Source
from headgate.engine import planning_child
from headgate.model.budget import Budget
from headgate.model.errors import PlanningError, WorldFault
from headgate.model.site import Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds

SITES = (Site("a", expect=Bytes(1e6), deadline=Seconds(30.0)), Site("b", expect=Bytes(5e5)))
BUDGET = Budget(BytesPerSecond(100e3), crawlers=2)
KNOWN = {site.name: Forecast(float(site.expect or 0), Source.USER) for site in SITES}
START = datetime(2026, 11, 16, tzinfo=UTC)


def test_it_is_the_same_plan() -> None:
    made = asyncio.run(
        planning_child.plan_in_child(
            SITES, BUDGET, forecasts=KNOWN, start=START, seconds=2.0, quota_used=0.0
        )
    )
    assert made == plan_the_rest(SITES, BUDGET, KNOWN, START, 2.0)


def test_what_goes_wrong_there_is_raised_here() -> None:
    unlimited = Budget(BytesPerSecond(float("inf")), crawlers=2)
    with pytest.raises(PlanningError):
        asyncio.run(
            planning_child.plan_in_child(
                SITES, unlimited, forecasts=KNOWN, start=START, seconds=0.0, quota_used=0.0
            )
        )


def test_a_process_that_dies_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(WorldFault, match="without an answer"):
        asyncio.run(
            planning_child.plan_in_child(
                SITES, BUDGET, forecasts=KNOWN, start=START, seconds=0.0, quota_used=0.0
            )
        )


def test_it_gives_way_to_the_crawl() -> None:
    says = "import os; from headgate.engine import planning_child as child; child.give_way();"
    says += "print(os.nice(0), os.sched_getscheduler(0))"
    said = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True, check=True)
    nice, scheduler = map(int, said.stdout.split())
    assert nice >= min(os.nice(0) + 5, 19)
    assert scheduler not in (os.SCHED_RR, os.SCHED_FIFO)
