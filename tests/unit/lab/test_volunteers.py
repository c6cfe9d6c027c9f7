"""A tenth of SARSS's world for a tenth of its time, beside the paper's tables."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.lab.worlds.volunteers import FIRST_INTERVALS, Figures, Strategy, Volunteers
from headgate.recrawl.icr import Icr
from headgate.recrawl.iir import Iir

MINUTES = 10_000
CHANNELS = np.array([54, 395, 715, 382, 54])
WEIGHTS = np.array([16, 8, 4, 2, 1])


def play(machines: int, strategy: Strategy | None = None) -> Figures:
    return Volunteers(machines, 10, 1, strategy).run(MINUTES)


@pytest.fixture(scope="module")
def fixed() -> Figures:
    return play(140)


def test_tasks_of_fixed_intervals_are_those_of_table_1(fixed: Figures) -> None:
    expected = CHANNELS * MINUTES / np.array(FIRST_INTERVALS)
    # The first task of a channel comes at any moment of its first interval.
    assert (np.abs(np.array(fixed.submitted) - expected) <= CHANNELS).all()
    assert fixed.intervals == list(FIRST_INTERVALS)


def test_update_quality_is_that_of_table_2(fixed: Figures) -> None:
    kept = np.array(fixed.updated) * np.array(FIRST_INTERVALS) / MINUTES
    assert (WEIGHTS * kept).sum() / CHANNELS.sum() == pytest.approx(1.9987, rel=0.08)
    assert kept.sum() / CHANNELS.sum() == pytest.approx(0.5571, rel=0.08)


def test_strategies_submit_less_and_wait_less_in_the_paper_s_order(fixed: Figures) -> None:
    icr, iir = play(140, Icr(np.array(FIRST_INTERVALS), 0.5)), play(140, Iir(0.5))
    assert sum(fixed.submitted) > sum(icr.submitted) > sum(iir.submitted)
    assert fixed.mean_queue > icr.mean_queue > iir.mean_queue


def test_twice_the_machines_do_more_and_nothing_is_updated_unasked(fixed: Figures) -> None:
    twice = play(280)
    assert 1.6 * sum(fixed.updated) < sum(twice.updated) < 2.1 * sum(fixed.updated)
    for figures in (fixed, twice):
        assert all(u <= s for u, s in zip(figures.updated, figures.submitted, strict=True))
