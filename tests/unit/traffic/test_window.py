"""Windows and connections: enough for the share, no wider than a lump."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from headgate.traffic.window import (
    LEAST_WINDOW,
    LUMP_SECONDS,
    SEGMENT,
    Opening,
    connections,
    fits,
    opening,
    read_quantum,
    whole_segments,
    wire_bytes,
)

_RATES = st.floats(1e3, 2e7)
_PARTS = st.floats(0.001, 1)
_TRIPS = st.floats(0, 0.3)


@given(total=_RATES, part=_PARTS, rtt=_TRIPS, response=st.floats(500, 1e7))
def test_connections_carry_the_share(
    total: float, part: float, rtt: float, response: float
) -> None:
    share = part * total
    wanted = opening(total, share, rtt)
    assert wanted is not None
    per_round_trip = min(response, wire_bytes(wanted.window - SEGMENT))
    at_work = connections(total, share, rtt, response) - 1
    assert at_work * per_round_trip >= share * rtt


@given(total=_RATES, part=_PARTS, rtt=_TRIPS)
def test_a_window_is_no_lump(total: float, part: float, rtt: float) -> None:
    wanted = opening(total, part * total, rtt)
    assert wanted is not None
    assert wanted.window % SEGMENT == 0
    assert wanted.window >= LEAST_WINDOW
    assert wanted.window <= max(LEAST_WINDOW, LUMP_SECONDS * total + SEGMENT)


def test_without_a_limit_the_kernel_chooses() -> None:
    assert opening(math.inf, math.inf, 0.1) is None
    assert fits(None, None)
    assert not fits(4344, None)
    assert not fits(None, Opening(4344))


def test_a_window_fits_within_a_factor_of_two() -> None:
    assert fits(10_000, Opening(20_000))
    assert fits(20_000, Opening(10_000))
    assert not fits(10_000, Opening(20_001))
    assert not fits(20_001, Opening(10_000))


def test_reads_are_small_where_the_rate_is() -> None:
    assert read_quantum(1e5, 1e3) == LEAST_WINDOW
    assert read_quantum(1e6, 1e6) == 10_000
    assert read_quantum(1e7, 1e6) == 40_000


@given(waiting=st.integers(0, 500_000), quantum=st.integers(SEGMENT, 100_000))
def test_what_a_read_leaves_are_whole_segments(waiting: int, quantum: int) -> None:
    amount = whole_segments(waiting, quantum)
    assert amount == waiting or (waiting - amount) % SEGMENT == 0
    assert min(waiting, quantum) <= amount < quantum + SEGMENT
