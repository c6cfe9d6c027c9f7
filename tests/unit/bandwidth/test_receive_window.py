"""Windows and connections: enough for the share, no wider than a lump."""

from __future__ import annotations

import heapq
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from headgate.bandwidth.receive_window import (
    LEAST_WINDOW,
    LUMP_SECONDS,
    SEGMENT,
    SURPRISE,
    ConnectionDemand,
    Opening,
    connections,
    fetches_at_once,
    fits,
    opening,
    read_quantum,
    whole_segments,
    wire_bytes,
)
from headgate.bandwidth.server_tally import ServerTally

_RATES = st.floats(1e3, 2e7)
_PARTS = st.floats(0.001, 1)
_TRIPS = st.floats(0, 0.3)


_RESPONSES = st.floats(500, 1e7)
_DEMANDS = st.builds(
    lambda total, part, rtt, response: ConnectionDemand(
        total, part * total, rtt, response, most=100_000
    ),
    _RATES,
    _PARTS,
    _TRIPS,
    _RESPONSES,
)


@given(demand=_DEMANDS)
def test_connections_carry_the_share(demand: ConnectionDemand) -> None:
    wanted = opening(demand)
    assert wanted is not None
    per_round_trip = min(demand.response, wire_bytes(wanted.window - SEGMENT))
    at_work = connections(demand) - 1
    assert at_work * per_round_trip >= demand.share * demand.rtt


@given(demand=_DEMANDS)
def test_a_window_is_no_lump(demand: ConnectionDemand) -> None:
    wanted = opening(demand)
    assert wanted is not None
    assert wanted.window % SEGMENT == 0
    assert wanted.window >= LEAST_WINDOW
    assert wanted.window <= max(LEAST_WINDOW, LUMP_SECONDS * demand.total + SEGMENT)


@given(demand=_DEMANDS)
def test_lengths_that_nobody_knows_do_not_add_up(demand: ConnectionDemand) -> None:
    wanted = opening(demand)
    assert wanted is not None
    under_way = demand.total * demand.rtt / demand.response
    off_by = max(0, wanted.window - 4 * SEGMENT) * math.sqrt(under_way)
    assert off_by <= SURPRISE * demand.total * 1.001


@given(demand=_DEMANDS, most=st.integers(2, 20))
def test_few_connections_are_opened_wider(demand: ConnectionDemand, most: int) -> None:
    few = structs.replace(demand, most=most)
    wanted = opening(few)
    assert wanted is not None
    assert (most - 1) * (wanted.window - SEGMENT) >= min(few.standing, (most - 1) * 3_900_000)
    assert connections(few) <= most


def test_without_a_limit_the_kernel_chooses() -> None:
    unlimited = ConnectionDemand(math.inf, math.inf, 0.1, 14e3, most=8)
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


# How many fetches at once: against a little queue played through by hand.


def _tally(seconds: float, held: float = 0.0, requests: int = 10) -> ServerTally:
    tally = ServerTally(requests=requests)
    tally.response_seconds = requests * (seconds + held)
    tally.held_seconds = requests * held
    return tally


def _rate(fetches: int, seconds: float, response: float) -> float:
    """Bytes per second of so many fetches at once, each beginning when one has ended."""
    ends = [seconds * (1 + number / fetches) for number in range(fetches)]
    heapq.heapify(ends)
    done = 0
    while ends[0] < 100 * seconds:
        heapq.heapreplace(ends, ends[0] + seconds)
        done += 1
    return done * response / (100 * seconds)


@settings(deadline=None)
@given(share=st.floats(1e3, 1e6), seconds=st.floats(0.01, 5.0), response=st.floats(1e3, 1e5))
def test_as_many_as_the_share_takes_and_not_many_more(
    share: float, seconds: float, response: float
) -> None:
    fetches = fetches_at_once(1, share, response, _tally(seconds))
    if fetches < 200:
        assert _rate(fetches, seconds, response) >= 0.97 * share
    assert (fetches - 1) * response / seconds <= 1.25 * share


def test_our_own_holding_back_asks_for_no_more() -> None:
    alone = fetches_at_once(2, 1e5, 1e4, _tally(0.5))
    assert fetches_at_once(2, 1e5, 1e4, _tally(0.5, held=7.0)) == alone


def test_windows_ask_for_more_on_a_long_way() -> None:
    assert fetches_at_once(15, 1e6, 11e3, _tally(0.01)) == 15


def test_nothing_known_or_nothing_limited_is_left_to_windows() -> None:
    assert fetches_at_once(3, 1e5, 1e4, None) == 3
    assert fetches_at_once(3, 1e5, 1e4, ServerTally()) == 3
    assert fetches_at_once(8, math.inf, 1e4, _tally(5.0)) == 8
