"""The account of one response: credit is permission for bytes to arrive.

What may arrive at any moment is bounded by the window and by the response:

    permitted = min(read + window, length of the response)

so the account keeps  paid >= arrived + wire(permitted − received)  (to a frame) before every step
that permits more: the request (nothing read, length as expected) and each read (which opens the
window again by as much). ``arrived`` and ``received`` come from the kernel's own count of the
connection, so that whatever was guessed — segment sizes, the kernel's window, the response's
length — is set right at the next step and, at the latest, at the end.

The connection's owner asks `due`, waits for the governor, calls `pay`, then acts. At the end
`balance` says what to give back (positive) or to owe (negative).
"""

from __future__ import annotations

import math

from headgate.traffic.window import FRAME_HEADERS, SEGMENT, wire_bytes

__all__ = ["Credit"]

_UNEXPECTED = math.inf
_WORTH_WAITING = SEGMENT + FRAME_HEADERS
"""Less than a frame is left to the next step or to the end."""
_STREAM_PART = SEGMENT / (SEGMENT + FRAME_HEADERS)


class Credit:
    """One response's payments. ``paid`` only grows."""

    __slots__ = ("expected", "length", "paid", "window")

    def __init__(self, expected: float, window: float) -> None:
        self.expected = expected
        """Wire bytes foreseen for the whole response."""
        self.window = window
        self.length: float | None = None
        """Stream bytes of the whole response once its head told."""
        self.paid = 0.0

    def due_before_request(self) -> float:
        """What the server may send unasked.

        >>> Credit(expected=900.0, window=4344).due_before_request()
        900.0
        >>> Credit(expected=1e9, window=4344).due_before_request()
        4542.0
        """
        return max(0.0, min(self.expected, wire_bytes(self.window)) - self.paid)

    def due_before_read(self, read: int, received: int, arrived: float) -> float:
        """What is to be paid so that everything up to stream byte ``read`` may be taken.

        ``received`` stream bytes and ``arrived`` wire bytes came so far.
        """
        permitted = min(read + self.window, self._foreseen(read, received))
        due = arrived + wire_bytes(max(0.0, permitted - received)) - self.paid
        return due if due >= _WORTH_WAITING else 0.0

    def pay(self, amount: float) -> None:
        self.paid += amount

    def balance(self, arrived: float) -> float:
        """At the end of a whole response: paid and not arrived."""
        return self.paid - arrived

    def balance_when_cut(self, read: int, received: int, arrived: float) -> float:
        """The same when the connection is dropped: what was permitted may be on its way already."""
        permitted = min(read + self.window, self._foreseen(read, received))
        coming = wire_bytes(max(0.0, permitted - received))
        surplus = self.paid - arrived
        return min(surplus, max(0.0, surplus - coming))

    def _foreseen(self, read: int, received: int) -> float:
        if self.length is not None:
            return self.length
        expected = self.expected * _STREAM_PART
        return expected if max(read, received) <= expected else _UNEXPECTED

    def check(self) -> None:
        assert self.paid >= 0
        assert self.window > 0
