"""Orders of one machine against brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.scheduling.arrays import FloatArray
from headgate.scheduling.tardiness import edd_order, mdd_order, smith_order, total_tardiness_order

Jobs = tuple[FloatArray, FloatArray]


def lateness(order: object, durations: FloatArray, deadlines: FloatArray) -> float:
    chosen = np.asarray(order, dtype=np.intp)
    ends = np.cumsum(durations[chosen])
    return float(np.maximum(ends - deadlines[chosen], 0.0).sum())


@st.composite
def jobs(draw: st.DrawFn, most: int = 6) -> Jobs:
    """Small whole numbers, so that ties and equal deadlines are common."""
    durations = draw(st.lists(st.integers(1, 12), min_size=1, max_size=most))
    deadline = st.one_of(st.integers(-3, 40).map(float), st.just(np.inf))
    deadlines = draw(st.lists(deadline, min_size=len(durations), max_size=len(durations)))
    return np.array(durations, dtype=float), np.array(deadlines)


@given(jobs())
def test_order_is_as_good_as_the_best_of_all(drawn: Jobs) -> None:
    durations, deadlines = drawn
    order = total_tardiness_order(durations, deadlines)
    assert order is not None
    assert sorted(order) == list(range(len(durations)))
    least = min(lateness(p, durations, deadlines) for p in permutations(range(len(durations))))
    assert lateness(order, durations, deadlines) == pytest.approx(least, abs=1e-9)


def least_by_subsets(durations: FloatArray, deadlines: FloatArray) -> float:
    """Brute force over subsets (Held and Karp): the last job of each set in turn."""
    count = len(durations)
    best = np.full(1 << count, np.inf)
    best[0] = 0.0
    for chosen in range(1, 1 << count):
        members = [i for i in range(count) if chosen >> i & 1]
        end = sum(durations[i] for i in members)
        best[chosen] = min(
            best[chosen ^ (1 << last)] + max(0.0, end - deadlines[last]) for last in members
        )
    return float(best[-1])


@pytest.mark.parametrize("seed", range(60))
def test_nine_sites_against_all_subsets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    durations = rng.uniform(1, 20, 9)
    deadlines = rng.uniform(0, durations.sum() * rng.uniform(0.3, 1.2), 9)
    order = total_tardiness_order(durations, deadlines)
    assert order is not None
    assert lateness(order, durations, deadlines) == pytest.approx(
        least_by_subsets(durations, deadlines)
    )


def test_hundreds_that_are_all_late_go_shortest_first() -> None:
    """Each job is a problem within the one before."""
    durations = np.random.default_rng(0).uniform(1, 100, 300)
    order = total_tardiness_order(durations, np.zeros(300))
    assert order is not None
    assert order.tolist() == np.argsort(durations).tolist()


@pytest.mark.parametrize("sites", [200, 400])
def test_gives_up_rather_than_run_forever(sites: int) -> None:
    rng = np.random.default_rng(0)
    durations = rng.uniform(1, 100, sites)
    deadlines = rng.uniform(0.02, 0.6, sites) * durations.sum()
    assert total_tardiness_order(durations, deadlines, most_subproblems=500) is None


@given(jobs(most=12))
def test_mdd_follows_its_rule_at_every_step(drawn: Jobs) -> None:
    durations, deadlines = drawn
    left = set(range(len(durations)))
    time = 0.0
    for job in mdd_order(durations, deadlines):
        modified = {i: max(time + durations[i], deadlines[i]) for i in left}
        assert modified[job] == min(modified.values())
        left.remove(job)
        time += durations[job]
    assert not left


@given(jobs())
def test_smith_is_the_earliest_of_the_orders_on_time(drawn: Jobs) -> None:
    durations, deadlines = drawn
    order = smith_order(durations, deadlines)
    on_time = [
        np.cumsum(durations[list(p)]).sum()
        for p in permutations(range(len(durations)))
        if lateness(p, durations, deadlines) == 0
    ]
    assert (order is None) == (not on_time)
    if order is not None:
        assert lateness(order, durations, deadlines) == 0
        assert np.cumsum(durations[order]).sum() == pytest.approx(min(on_time))


def test_edd_takes_the_shorter_of_two_equal_deadlines_first() -> None:
    assert edd_order(np.array([3.0, 1.0, 2.0]), np.array([5.0, 5.0, 4.0])).tolist() == [2, 1, 0]
