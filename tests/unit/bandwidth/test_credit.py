"""A response's account never permits a byte that is not paid, whatever the response does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.bandwidth.credit import Credit
from headgate.bandwidth.receive_window import FRAME_HEADERS, SEGMENT, Opening, wire_bytes

_TRIFLE = 256.0
_WARM = 1e9
"""Bytes carried before, so that only the window binds."""


class _Connection:
    """A server that sends what the windows let it, at once; a fresh one starts slowly."""

    def __init__(self, size: int, window: int, carried: float) -> None:
        self.size = size
        self.window = window
        self.carried = carried
        self.read = 0
        self.received = 0
        self.segments = 0

    @property
    def arrived(self) -> float:
        return self.received + FRAME_HEADERS * self.segments

    def send(self) -> None:
        grown = self.carried + self.received
        window = min(self.window, Opening(self.window).announced + grown)
        more = min(self.read + window, self.size) - self.received
        more = int(max(0, min(more, 10 * SEGMENT + grown)))
        self.received += more
        self.segments += -(-more // SEGMENT)


@given(
    size=st.integers(1, 300_000),
    window=st.integers(2, 60).map(lambda segments: segments * SEGMENT),
    expected=st.floats(1, 400_000),
    quantum=st.integers(1, 60).map(lambda segments: segments * SEGMENT),
    carried=st.sampled_from([0.0, 30_000.0, _WARM]),
)
def test_whatever_arrives_was_paid(
    size: int, window: int, expected: float, quantum: int, carried: float
) -> None:
    wire = _Connection(size, window, carried)
    credit = Credit(expected, window, carried)
    credit.pay(credit.due_before_request())
    wire.send()
    surprise = max(0.0, wire.arrived - credit.paid)
    assert surprise <= max(0.0, wire_bytes(min(size, window)) - expected) + FRAME_HEADERS + 1
    wire.read = min(SEGMENT, wire.received)  # the head
    credit.length = size
    credit.owe(credit.unpaid(wire.read, wire.received, wire.arrived))
    wire.send()
    assert credit.paid + _TRIFLE >= wire.arrived
    while wire.read < size:
        amount = min(quantum, wire.received - wire.read)
        due = credit.due_before_read(wire.read + amount, wire.received, wire.arrived)
        credit.pay(due)
        assert credit.paid + _TRIFLE >= wire.arrived
        wire.read += amount
        wire.send()
        assert credit.paid + _TRIFLE >= wire.arrived
        credit.check()
    assert credit.paid - credit.balance(wire.arrived) == wire.arrived


def test_a_response_that_fits_its_expectation_is_read_freely() -> None:
    credit = Credit(expected=11_000.0, window=40_000)
    credit.pay(credit.due_before_request())
    assert credit.due_before_read(read=5_000, received=5_000, arrived=5_300.0) == 0.0
    credit.length = 10_200
    assert credit.due_before_read(read=10_200, received=10_200, arrived=10_800.0) == 0.0
    assert credit.balance(10_800.0) == 200.0


def test_a_long_response_pays_for_what_each_read_opens() -> None:
    window = 4 * SEGMENT
    credit = Credit(expected=1e6, window=window, carried=_WARM)
    credit.pay(credit.due_before_request())
    assert credit.paid == wire_bytes(window)
    arrived = wire_bytes(window)
    assert credit.due_before_read(3 * SEGMENT, window, arrived) == wire_bytes(3 * SEGMENT)


def test_a_fresh_connection_pays_for_what_it_announces() -> None:
    credit = Credit(expected=1e6, window=3 * SEGMENT)
    assert credit.due_before_request() == wire_bytes(2 * 1460), "one segment is announced later"


def test_bytes_that_come_one_by_one_wait_as_soon_as_they_are_many() -> None:
    credit = Credit(expected=100.0, window=3 * SEGMENT)
    credit.pay(credit.due_before_request())
    received, reads = 0, 0
    while not credit.due_before_read(received, received, received * (1.0 + FRAME_HEADERS)):
        received += 1
        reads += 1
        arrived = received * (1.0 + FRAME_HEADERS)
        credit.owe(credit.unpaid(received - 1, received, arrived))
        assert reads < 10


def test_crumbs_are_paid_a_few_at_a_time() -> None:
    credit = Credit(expected=1e6, window=2 * SEGMENT, carried=_WARM)
    credit.pay(credit.due_before_request())
    crumb = FRAME_HEADERS + 1.0
    in_full = credit.unpaid(read=20, received=20, arrived=20 * crumb)
    credit.crumbs = True
    in_part = credit.unpaid(read=20, received=20, arrived=20 * crumb)
    assert in_part < in_full, "the window comes when the server's timer says so"
    credit.pay(credit.due_before_read(read=60, received=60, arrived=60 * crumb))
    assert credit.due_before_read(read=60, received=60, arrived=60 * crumb) == 0.0
    due = credit.due_before_read(read=70, received=70, arrived=70 * crumb)
    assert due == pytest.approx(10 * crumb)


def test_a_cut_response_keeps_paying_for_what_is_on_its_way() -> None:
    window = 4 * SEGMENT
    credit = Credit(expected=1e6, window=window, carried=_WARM)
    credit.pay(credit.due_before_request())
    assert credit.balance_when_cut(read=0, received=0, arrived=0.0) == 0.0
    assert credit.balance_when_cut(read=0, received=window, arrived=8_000.0) < 0
    credit.length = SEGMENT
    left = credit.balance_when_cut(read=0, received=SEGMENT, arrived=wire_bytes(SEGMENT))
    assert left == wire_bytes(window) - wire_bytes(SEGMENT)
