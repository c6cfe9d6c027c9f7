"""Busy time counts once however many responses share it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.bandwidth.server_tally import FIRST_GUESS, MEMORY, ResponseSize, ServerTally

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


# What a response is expected to be: the mean, and steady.


def test_it_is_the_mean_at_first() -> None:
    size = ResponseSize()
    for wire_bytes in (4_000, 5_000, 6_000):
        size.add(wire_bytes)
    assert size.expected == pytest.approx((FIRST_GUESS + 15_000) / 4)


def test_one_long_page_says_little_about_the_next() -> None:
    size = ResponseSize()
    for _ in range(1_000):
        size.add(10_000)
    size.add(500_000)
    assert size.expected < 15_000


def test_it_follows_a_site_that_changes() -> None:
    size = ResponseSize()
    for _ in range(1_000):
        size.add(10_000)
    for _ in range(3 * MEMORY):
        size.add(30_000)
    assert size.expected == pytest.approx(30_000, rel=0.05)
