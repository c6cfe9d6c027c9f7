"""A hundred seeds of the fault simulation; `make simulate` plays two thousand."""

from __future__ import annotations

import pytest
from tests.simulation.faults import play

SEEDS_OF_A_TEST = 10


@pytest.mark.parametrize("first", range(0, 100, SEEDS_OF_A_TEST))
def test_nothing_is_lost_whatever_goes_wrong(first: int) -> None:
    wrong = "".join(play(seed) for seed in range(first, first + SEEDS_OF_A_TEST))
    assert not wrong, wrong
