from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.keep.recrawl.arrays import FloatArray
from headgate.features.keep.recrawl.page_histories import histories_of, rate_probabilities
from headgate.features.keep.recrawl.rates import BECOMES_ANOTHER, RateGrid
from headgate.model.look_history import MOST_LOOKS, gaps_of, with_look

GRID = RateGrid()
LOOKS = st.lists(st.tuples(st.floats(1.0, 1e9), st.booleans()), max_size=MOST_LOOKS)


def history_of(looks: list[tuple[float, bool]]) -> bytes:
    history = b""
    for gap, changed in looks:
        history = with_look(history, gap, changed)
    return history


@given(LOOKS)
def test_two_bytes_keep_a_look_to_a_thousandth(looks: list[tuple[float, bool]]) -> None:
    kept = gaps_of(history_of(looks))
    assert [changed for _, changed in kept] == [changed for _, changed in looks]
    assert [gap for gap, _ in kept] == pytest.approx([gap for gap, _ in looks], rel=1e-3)


@given(LOOKS, st.integers(0, 40))
def test_the_oldest_looks_go_first(looks: list[tuple[float, bool]], more: int) -> None:
    history = history_of([*looks, *[(60.0, True)] * more])
    assert len(history) == 2 * min(len(looks) + more, MOST_LOOKS)
    assert all(changed for _, changed in gaps_of(history)[-more:] if more)


def expected_over_all_ways(looks: list[tuple[float, bool]], prior: FloatArray) -> FloatArray:
    """By brute force: every way in which the page may have become another at some of its looks, or
    not, weighed by how probable it is and by how well it agrees with the looks."""
    total = np.zeros(len(prior))
    for became in itertools.product((False, True), repeat=len(looks)):
        weight, rates = 1.0, prior.copy()
        for (gap, changed), another in zip(looks, became, strict=True):
            same = np.exp(-GRID.rates * gap / 86_400)
            joint = rates * (1 - same if changed else same)
            seen = float(joint.sum())
            weight *= seen * (BECOMES_ANOTHER if another else 1 - BECOMES_ANOTHER)
            rates = prior if another else joint / seen
        total += weight * rates
    return np.asarray(total / total.sum())


@given(
    st.lists(st.tuples(st.floats(60.0, 3e7), st.booleans()), max_size=7),
    st.lists(st.floats(0.01, 1.0), min_size=len(GRID), max_size=len(GRID)),
)
def test_probabilities_are_means_over_all_ways_to_have_become_another_page(
    looks: list[tuple[float, bool]], weights: list[float]
) -> None:
    prior = np.array(weights) / sum(weights)
    history = history_of(looks)
    found = rate_probabilities(GRID, histories_of([history, b""]), prior)
    wanted = expected_over_all_ways(gaps_of(history), prior)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(found[1], prior, rtol=1e-12)


@given(LOOKS)
def test_probabilities_are_such_after_any_looks(looks: list[tuple[float, bool]]) -> None:
    (found,) = rate_probabilities(GRID, histories_of([history_of(looks)]), GRID.usual)
    assert found.sum() == pytest.approx(1.0)
    assert (found > 0).all()


def test_a_page_that_falls_silent_is_soon_held_for_another() -> None:
    """For one that only rarely stood still it would take as many looks as it had changes."""
    busy, day = [(86_400.0, True)] * 20, 86_400.0
    histories = [history_of([*busy, *[(day, False)] * quiet]) for quiet in (0, 3, 6)]
    rates = rate_probabilities(GRID, histories_of(histories), GRID.usual) @ GRID.rates
    assert rates[0] > 2.0
    assert rates[1] < 0.5 * rates[0]
    assert rates[2] < 0.1 * rates[0]


def test_a_gap_that_is_no_time_is_a_second() -> None:
    assert [round(gap) for gap, _ in gaps_of(with_look(b"", -5.0, changed=True))] == [1]
