"""Partitions of sites over machines: against the exact optimum of small ones, and for all."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.grid.placement.batches import (
    FloatArray,
    Owners,
    Remainder,
    best_batch,
    circular,
    loads,
    local_search,
    lower_bound,
    lpt,
    makespan,
    multifit,
    pechnikov,
)

Partition = Callable[[FloatArray, FloatArray], Owners]

PARTITIONS: dict[str, Partition] = {
    "circular": circular,
    "LPT": lpt,
    "MULTIFIT": multifit,
    "best batch": best_batch,
    **{r.value: partial(pechnikov, remainder=r) for r in Remainder},
}
works = st.lists(st.floats(0.01, 1e4), min_size=1, max_size=40).map(np.array)
speeds = st.lists(st.floats(0.1, 10.0), min_size=1, max_size=6).map(np.array)
few = st.lists(st.integers(1, 30).map(float), min_size=1, max_size=7).map(np.array)
few_speeds = st.lists(st.integers(1, 5).map(float), min_size=1, max_size=3).map(np.array)


def optimum(work: FloatArray, speeds: FloatArray) -> float:
    """Every way there is."""
    ways = np.array(list(product(range(len(speeds)), repeat=len(work))))
    on = ways[:, :, None] == np.arange(len(speeds))
    return float(((on * work[:, None]).sum(axis=1) / speeds).max(axis=1).min())


@pytest.mark.parametrize("name", PARTITIONS)
@given(works, speeds)
def test_every_site_is_on_one_machine_and_no_partition_beats_the_bound(
    name: str, work: FloatArray, speeds: FloatArray
) -> None:
    owners = PARTITIONS[name](work, speeds)
    assert owners.shape == work.shape
    assert ((owners >= 0) & (owners < len(speeds))).all()
    assert loads(owners, work, speeds) @ speeds == pytest.approx(work.sum())
    assert makespan(owners, work, speeds) >= lower_bound(work, speeds) * (1 - 1e-9)


@given(few, few_speeds)
def test_the_bound_is_below_the_optimum_and_the_proven_ratios_hold(
    work: FloatArray, speeds: FloatArray
) -> None:
    best = optimum(work, speeds) * (1 + 1e-9)
    machines = len(speeds)
    assert lower_bound(work, speeds) <= best
    assert makespan(lpt(work, speeds), work, speeds) <= best * 2 * machines / (machines + 1)
    assert makespan(multifit(work, speeds), work, speeds) <= best * 1.4
    if (speeds == speeds[0]).all():
        ratio = 4 / 3 - 1 / (3 * machines)
        assert makespan(lpt(work, speeds), work, speeds) <= best * ratio


@given(few, few_speeds)
def test_the_best_batch_is_no_worse_than_what_it_starts_from_nor_far_from_the_optimum(
    work: FloatArray, speeds: FloatArray
) -> None:
    found = makespan(best_batch(work, speeds), work, speeds)
    for start in (lpt, multifit):
        assert found <= makespan(start(work, speeds), work, speeds) * (1 + 1e-9)
    assert found <= optimum(work, speeds) * 1.4


@given(works, speeds)
def test_after_a_local_search_no_single_move_or_swap_helps(
    work: FloatArray, speeds: FloatArray
) -> None:
    start = np.arange(len(work)) % len(speeds)
    owners = local_search(start, work, speeds)
    end = makespan(owners, work, speeds)
    assert end <= makespan(start, work, speeds) * (1 + 1e-9)
    if end <= lower_bound(work, speeds) * (1 + 1e-6):
        return
    last = int(np.argmax(loads(owners, work, speeds)))
    for site in np.flatnonzero(owners == last):
        for other in range(len(speeds)):
            moved = owners.copy()
            moved[site] = other
            assert loads(moved, work, speeds)[[last, other]].max() >= end * (1 - 1e-9)
        for other_site in np.flatnonzero(owners != last):
            swapped = owners.copy()
            swapped[[site, other_site]] = owners[[other_site, site]]
            pair = [last, int(owners[other_site])]
            assert loads(swapped, work, speeds)[pair].max() >= end * (1 - 1e-9)


def test_sites_by_a_power_law_are_spread_to_a_thousandth_of_the_bound() -> None:
    rng = np.random.default_rng(3)
    speeds = 1 / np.array([95.0, 84.6, 105.7, 110.4, 85.8])
    works = ((1 - rng.random((20, 99))) ** (-1 / 1.2)).tolist()
    ratios = [
        makespan(best_batch(work, speeds), work, speeds) / lower_bound(work, speeds)
        for work in map(np.array, works)
    ]
    assert np.mean(ratios) <= 1.001


def test_thousands_of_sites_take_not_much_longer_than_lpt_alone() -> None:
    rng = np.random.default_rng(5)
    work, speeds = rng.uniform(2400.0, 7200.0, 5000), np.array([1.0, 1.3, 0.7, 1.1])
    moments = [time.process_time()]
    for way in (lpt, best_batch):
        owners = way(work, speeds)
        moments.append(time.process_time())
    of_lpt, of_all = np.diff(moments)
    assert of_all < 30 * of_lpt
    assert makespan(owners, work, speeds) <= lower_bound(work, speeds) * (1 + 1e-6)


def test_the_paper_leaves_what_exceeds_a_share() -> None:
    """Clients 0 and 1 of speeds 1 and 2: shares 4 and 8 of 12."""
    sizes, speeds = np.array([7.0, 2.0, 2.0, 1.0]), np.array([1.0, 2.0])
    # Fast: 7, then 2 would exceed 8. Slow: 2 and 2, then 1 would exceed 4. 1 remains.
    assert pechnikov(sizes, speeds, Remainder.CYCLIC).tolist() == [1, 0, 0, 0]
    assert pechnikov(sizes, speeds, Remainder.SHARE).tolist() == [1, 0, 0, 1]
    assert pechnikov(sizes, speeds, Remainder.EARLIEST).tolist() == [1, 0, 0, 1]


def test_a_site_larger_than_every_share_leaves_all_sites_to_step_five() -> None:
    sizes, speeds = np.array([10.0, 1.0, 1.0]), np.array([1.0, 1.0])
    assert pechnikov(sizes, speeds, Remainder.CYCLIC).tolist() == [1, 0, 1]
