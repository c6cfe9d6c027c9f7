"""What `headgate lab sarss2010` found at full scale, seed 1, REC: golden figures of minutes.

The world's first 500 minutes are played again; who changes them runs the whole once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headgate_lab.papers.sarss2010.printed import QUALITY, TASKS
from headgate_lab.papers.sarss2010.simulation import PULL_AGE, PULL_FRESH, Extent, Run, simulate

GOLDEN = json.loads(Path(__file__).with_name("golden").joinpath("sarss2010.json").read_text())
RUNS: dict[str, Any] = {run["strategy"]: run for run in GOLDEN["runs"]}
DOCS = Path(__file__).parents[2] / "docs/lab.md"


@pytest.mark.parametrize("strategy", GOLDEN["first_500_minutes"])
def test_the_world_is_the_one_that_was_played(strategy: str) -> None:
    found = simulate(Extent(1, 500), Run("REC", strategy, 1))
    expected = GOLDEN["first_500_minutes"][strategy]
    assert [sum(found.submitted), sum(found.updated)] == expected


def test_tables_1_and_2() -> None:
    fixed = RUNS["FIXED"]
    for ours, paper in zip(fixed["submitted"], TASKS["REC", "FIXED"], strict=True):
        assert round(ours, -3) == paper
    weighted, alike = QUALITY["REC", "FIXED"]
    assert fixed["weighted_quality"] == pytest.approx(weighted, rel=0.08)
    assert fixed["quality"] == pytest.approx(alike, rel=0.08)
    tasks = [sum(RUNS[name]["submitted"]) for name in ("FIXED", "ICR", "IIR")]
    assert tasks == sorted(tasks, reverse=True)
    queues = [RUNS[name]["queue"] for name in ("FIXED", "ICR", "IIR")]
    assert queues == sorted(queues, reverse=True)


def test_pulls_reach_what_was_set_before() -> None:
    fixed = RUNS["FIXED"]["weighted_task_freshness"]
    assert RUNS[PULL_FRESH]["weighted_task_freshness"] >= 1.85 * fixed
    assert RUNS[PULL_AGE]["weighted_task_freshness"] >= 1.5 * fixed
    assert RUNS[PULL_AGE]["covered"] >= 0.99


def test_docs_have_these_figures() -> None:
    words = DOCS.read_text(encoding="utf-8")
    for run in RUNS.values():
        assert f"{run['weighted_quality']:.3f}" in words
        assert f"{run['weighted_task_freshness']:.3f}, {run['weighted_freshness']:.3f}" in words
