"""How many fetches at once: against a little queue played through by hand."""

from __future__ import annotations

import heapq
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.traffic.fan_out import fetches_at_once
from headgate.traffic.server_tally import ServerTally


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
