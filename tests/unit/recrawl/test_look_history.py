from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.recrawl.look_history import MOST_LOOKS, gaps_of, with_look
from headgate.recrawl.page_histories import histories_of, history_likelihoods
from headgate.recrawl.rate_grid import RateGrid
from headgate.recrawl.rate_posterior import FORGETTING

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


@given(st.lists(LOOKS, min_size=1, max_size=4))
def test_likelihoods_are_those_that_a_board_sums_up_look_by_look(
    pages: list[list[tuple[float, bool]]],
) -> None:
    histories = [history_of(looks) for looks in pages]
    found = history_likelihoods(GRID, histories_of(histories))
    for history, row in zip(histories, found, strict=True):
        for rate, found_for_rate in zip(GRID.rates, row, strict=True):
            total = 0.0
            for gap, changed in gaps_of(history):
                same = math.exp(-rate * gap / 86_400)
                seen = math.log(max(1 - same, 1e-300)) if changed else -rate * gap / 86_400
                total = FORGETTING * total + seen
            assert found_for_rate == pytest.approx(total, rel=1e-4, abs=1e-9)


def test_a_gap_that_is_no_time_is_a_second() -> None:
    assert [round(gap) for gap, _ in gaps_of(with_look(b"", -5.0, changed=True))] == [1]
