"""Windows and connections: enough for the share, no wider than a lump."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headgate.traffic.window import (
    LEAST_WINDOW,
    LUMP_SECONDS,
    SEGMENT,
    SURPRISE,
    Demand,
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


_RESPONSES = st.floats(500, 1e7)
_DEMANDS = st.builds(
    lambda total, part, rtt, response: Demand(total, part * total, rtt, response, most=100_000),
    _RATES,
    _PARTS,
    _TRIPS,
    _RESPONSES,
)


@given(demand=_DEMANDS)
def test_connections_carry_the_share(demand: Demand) -> None:
    wanted = opening(demand)
    assert wanted is not None
    per_round_trip = min(demand.response, wire_bytes(wanted.window - SEGMENT))
    at_work = connections(demand) - 1
    assert at_work * per_round_trip >= demand.share * demand.rtt


@given(demand=_DEMANDS)
def test_a_window_is_no_lump(demand: Demand) -> None:
    wanted = opening(demand)
    assert wanted is not None
    assert wanted.window % SEGMENT == 0
    assert wanted.window >= LEAST_WINDOW
    assert wanted.window <= max(LEAST_WINDOW, LUMP_SECONDS * demand.total + SEGMENT)


@given(demand=_DEMANDS)
def test_lengths_that_nobody_knows_do_not_add_up(demand: Demand) -> None:
    wanted = opening(demand)
    assert wanted is not None
    under_way = demand.total * demand.rtt / demand.response
    off_by = max(0, wanted.window - 4 * SEGMENT) * math.sqrt(under_way)
    assert off_by <= SURPRISE * demand.total * 1.001


@given(demand=_DEMANDS, most=st.integers(2, 20))
def test_few_connections_are_opened_wider(demand: Demand, most: int) -> None:
    few = structs.replace(demand, most=most)
    wanted = opening(few)
    assert wanted is not None
    assert (most - 1) * (wanted.window - SEGMENT) >= min(few.standing, (most - 1) * 3_900_000)
    assert connections(few) <= most


def test_without_a_limit_the_kernel_chooses() -> None:
    unlimited = Demand(math.inf, math.inf, 0.1, 14e3, most=8)
    assert opening(unlimited) is None
    assert connections(unlimited) == 8
    assert fits(None, None)
    assert not fits(4344, None)
    assert not fits(None, Opening(4344))


def test_a_window_fits_within_a_factor_of_two() -> None:
    assert fits(10_000, Opening(20_000))
    assert fits(20_000, Opening(10_000))
    assert not fits(10_000, Opening(20_001))
    assert not fits(20_001, Opening(10_000))


def test_reads_are_small_where_the_rate_is() -> None:
    assert read_quantum(1e5, 1e3) == SEGMENT
    assert read_quantum(1e6, 1e6) == 10_000
    assert read_quantum(1e7, 1e6) == 40_000


@given(waiting=st.integers(0, 500_000), quantum=st.integers(SEGMENT, 100_000))
def test_what_a_read_leaves_are_whole_segments(waiting: int, quantum: int) -> None:
    amount = whole_segments(waiting, quantum)
    assert amount == waiting or (waiting - amount) % SEGMENT == 0
    assert min(waiting, quantum) <= amount < quantum + SEGMENT
