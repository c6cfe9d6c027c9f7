"""Busy time counts once however many responses share it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.traffic.server_tally import ServerTally

_STRETCHES = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 50)), max_size=60)


@given(_STRETCHES)
def test_busy_time_is_the_union_of_the_responses(stretches: list[tuple[int, int]]) -> None:
    tally = ServerTally()
    covered: set[int] = set()
    for began, seconds in sorted(stretches, key=sum):
        tally.count(began, began + seconds, 10, 0.1, 0.0)
        covered.update(range(began, began + seconds))
    assert tally.busy_seconds == len(covered)
    assert tally.requests == len(stretches)


def test_a_request_that_waited_for_credit_was_held_though_the_server_was_idle() -> None:
    tally = ServerTally()
    tally.count(began=10.0, ended=11.0, bytes_=1000, first_byte_seconds=0.2, held=9.0)
    assert (tally.busy_seconds, tally.held_seconds, tally.response_seconds) == (1.0, 9.0, 9.0)


def test_two_processes_add_up() -> None:
    one, other = ServerTally({"a.example"}), ServerTally({"b.example"})
    one.count(0.0, 2.0, 100, 0.5, 0.0)
    other.count(1.0, 2.0, 50, 0.25, 0.5)
    both = one.plus(other)
    assert both.hosts == {"a.example", "b.example"}
    assert (both.bytes, both.busy_seconds) == (150, 3.0)
