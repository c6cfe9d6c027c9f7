"""A response's account never permits a byte that is not paid, whatever the response does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.traffic.credit import Credit
from headgate.traffic.window import FRAME_HEADERS, SEGMENT, Opening, wire_bytes

_TRIFLE = 256.0
_WARM = 1e9
"""Bytes carried before, so that only the window binds."""


class _Connection:
    """A server that sends what the windows let it, at once; a fresh one starts slowly.

    ``held_back`` is the segment that a used connection announces only when something has come.
    """

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

    def send(self, held_back: int = 0) -> None:
        grown = self.carried + self.received
        window = min(self.window, Opening(self.window).buffer + grown)
        more = min(self.read + window - held_back, self.size) - self.received
        more = int(max(0, min(more, 10 * SEGMENT + grown)))
        self.received += more
        self.segments += -(-more // SEGMENT)


@given(
    size=st.integers(1, 300_000),
    window=st.integers(3, 60).map(lambda segments: segments * SEGMENT),
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
    wire.send(held_back=SEGMENT if carried else 0)
    surprise = max(0.0, wire.arrived - credit.paid)
    assert surprise <= max(0.0, wire_bytes(min(size, window)) - expected) + FRAME_HEADERS + 1
    credit.length = size
    credit.pay(credit.unpaid(0, wire.received, wire.arrived))
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
    assert credit.paid == wire_bytes(window - SEGMENT)
    arrived = wire_bytes(window)
    credit.pay(credit.unpaid(0, window - SEGMENT, wire_bytes(window - SEGMENT)))
    assert credit.paid == arrived
    assert credit.due_before_read(SEGMENT, window, arrived) == wire_bytes(SEGMENT)


def test_a_cut_response_keeps_paying_for_what_is_on_its_way() -> None:
    window = 4 * SEGMENT
    credit = Credit(expected=1e6, window=window, carried=_WARM)
    credit.pay(credit.due_before_request())
    assert credit.balance_when_cut(read=0, received=0, arrived=0.0) == 0.0
    assert credit.balance_when_cut(read=0, received=window, arrived=7_000.0) < 0
    credit.length = SEGMENT
    left = credit.balance_when_cut(read=0, received=SEGMENT, arrived=wire_bytes(SEGMENT))
    assert left == wire_bytes(window - SEGMENT) - wire_bytes(SEGMENT)
