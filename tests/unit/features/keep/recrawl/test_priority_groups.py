"""Priority groups, IIR and ICR as the paper has them; Nutch's schedule; signals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.keep.recrawl import page_histories
from headgate.features.keep.recrawl.priority_groups import (
    Counts,
    Groups,
    Icr,
    Iir,
    in_order,
    observed_intervals,
    reassignment_due,
)

GROUPS = Groups(np.array([0, 0, 1, 1]), np.array([60.0, 120.0]))


def test_intervals_are_reassigned_when_half_of_the_fastest_had_six_updates() -> None:
    counts = Counts(np.full(4, 9.0), np.array([6.0, 0.0, 0.0, 0.0]), 0.0)
    assert reassignment_due(GROUPS, counts)
    counts.updated[0] = 5.0
    assert not reassignment_due(GROUPS, counts)


def test_observed_intervals_leave_out_channels_without_updates() -> None:
    counts = Counts(np.full(4, 9.0), np.array([6.0, 3.0, 0.0, 0.0]), since=100.0)
    assert observed_intervals(GROUPS, counts, now=700.0).tolist() == [150.0, 240.0]


@given(st.lists(st.floats(1.0, 1e4), min_size=1, max_size=6))
def test_groups_in_order_are_apart_and_not_too_far_apart(intervals: list[float]) -> None:
    found = in_order(np.array(intervals))
    for before, after in itertools.pairwise(found):
        assert before <= after <= 3 * before * (1 + 1e-12)


def test_iir_follows_each_group_and_is_encouraged_by_a_rising_success() -> None:
    iir = Iir(delta=0.5)
    counts = Counts(np.full(4, 10.0), np.array([10.0, 10.0, 5.0, 5.0]), since=0.0)
    first = iir.reassigned(GROUPS, counts, now=1000.0)  # both rates rose from nothing
    assert first.intervals.tolist() == [50.0, 100.0]
    second = iir.reassigned(first, counts, now=1000.0)  # as successful as before
    assert second.intervals.tolist() == [100.0, 200.0]


def test_icr_shares_the_capacity_seen_in_the_first_ratios() -> None:
    icr = Icr(GROUPS.intervals, delta=0.0)
    counts = Counts(np.full(4, 10.0), np.array([6.0, 6.0, 3.0, 0.0]), since=0.0)
    found = icr.reassigned(GROUPS, counts, now=300.0)
    capacity = 15 / 300
    assert (GROUPS.sizes / found.intervals).sum() == pytest.approx(capacity)
    assert found.intervals[1] / found.intervals[0] == pytest.approx(2.0)


@pytest.mark.parametrize("delta", [0.2, 0.3, 0.4, 0.5])
def test_the_ratchet_of_icr_rests_where_the_law_says(delta: float) -> None:
    """p* = √(1 − δ): success comes to rest there, not at the capacity."""
    rng = np.random.default_rng(5)
    groups = Groups(np.zeros(50, dtype=int), np.array([60.0]))
    icr, now, rates = Icr(groups.intervals, delta), 0.0, []
    capacity = 50 / 90
    for _ in range(400):
        span = 60 * float(groups.intervals[0])
        wanted = 50 * span / float(groups.intervals[0])
        success = min(1.0, capacity * span / wanted * rng.normal(1.0, 0.02))
        counts = Counts(np.full(50, wanted / 50), np.full(50, wanted * success / 50), now)
        now += span
        groups = icr.reassigned(groups, counts, now)
        rates.append(math.log(success))
    assert math.exp(float(np.mean(rates[100:]))) == pytest.approx(math.sqrt(1 - delta), abs=0.05)


def test_nutch_looks_until_45_per_cent_of_the_looks_see_a_change() -> None:
    rng = np.random.default_rng(6)
    interval, seen = page_histories.FIRST_INTERVAL, []
    for _ in range(20_000):
        changed = bool(rng.random() < -math.expm1(-0.2 * interval))
        interval = page_histories.next_interval(interval, changed)
        seen.append(changed)
    assert np.mean(seen) == pytest.approx(0.45, abs=0.01)


def test_nutch_waits_as_long_as_a_known_change_is_ago() -> None:
    assert page_histories.next_look(look=100.0, changed_at=80.0, interval=8.0) == 100.0 - 4.0 + 20.0
