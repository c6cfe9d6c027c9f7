"""The account of one response: credit is permission for bytes to arrive.

What may arrive at any moment is bounded by our window, by the response, and by the server's own
congestion window, which starts at ten segments and cannot have grown by more than what arrived:

    permitted = min(read + window, length of the response, received + congestion window)

so the account ensures paid >= arrived + wire(permitted − received) before every step that permits
more: the request (length as expected) and each read (which opens the window again by as much). The
head is an exception: it is read as soon as it arrives, so that the length is known, and what that
opens of the window is owed. ``arrived`` and ``received`` come from the kernel's counters, so that
estimates (segment sizes, the kernel's window, the response's length) are corrected at the next step
or, at the latest, at the end.

A window bounds bytes, not segments, and each segment has headers. If a response comes in ``crumbs``
(tiny segments), a filter drops them while it waits, and a few are paid in advance before it is
opened. Full segments pass, within the window; they come when the server's timer fires. If windows
were paid in full, those of many such responses would all be filled later at once; if not at all,
they would come on top of the rest. A quarter is paid in advance, and the rest is owed when it
arrives.

The connection asks `due`, waits for the limiter, calls `pay`, then acts. At the end `balance` says
what to return (positive) or to owe (negative).
"""

from __future__ import annotations

from headgate.bandwidth.receive_window import FRAME_HEADERS, SEGMENT, Opening, wire_bytes

__all__ = ["CRUMBS_AHEAD", "Credit"]

_INITIAL_CONGESTION_WINDOW = 10 * SEGMENT
CRUMBS_AHEAD = 3.0 * (FRAME_HEADERS + 1)
"""Wire bytes of a few segments of one byte."""
_PART_OF_WINDOW = 0.25
"""Chosen on ten servers that send nothing but crumbs, at 50 KB/s (`bench.bandwidth`)."""
_WORTH_WAITING = 256
"""Smaller amounts are left to the next step or to the end."""
_STREAM_PART = SEGMENT / (SEGMENT + FRAME_HEADERS)


class Credit:
    """The payments for one response. ``paid`` decreases only by refunds."""

    __slots__ = (
        "_carried",
        "_first_window",
        "_owed",
        "at_least",
        "crumbs",
        "expected",
        "length",
        "paid",
        "window",
    )

    def __init__(self, expected: float, window: float, carried: float = 0.0) -> None:
        self.expected = expected
        """Wire bytes expected of the whole response."""
        self.window = window
        self._first_window = Opening(int(window)).announced
        self._carried = carried
        """Stream bytes of the connection before this response."""
        self.crumbs = False
        """Stays true."""
        self.length: float | None = None
        """Stream bytes of the whole response, once its head is known."""
        self.at_least = 0.0
        """Known lower bound of the length before that; taken for the length."""
        self.paid = 0.0
        self._owed = 0.0
        """Bytes that arrived unpaid since the last payment."""

    def foresee(self, length: float) -> bool:
        """The head is known: the whole response has so many stream bytes. Returns whether that is
        far more than expected."""
        self.length = length
        return length > 2 * self.expected

    def foresee_at_least(self, length: float) -> None:
        """The head cannot be read yet, but so many stream bytes will come."""
        self.at_least = length

    def widen(self, window: float) -> None:
        """The receive window has another size now."""
        self.window = window

    def due_before_request(self) -> float:
        """What the server may send before the next payment: the window.

        >>> Credit(expected=900.0, window=4344).due_before_request()
        900.0
        >>> Credit(expected=1e9, window=4344, carried=1e6).due_before_request()
        4542.0
        """
        unasked = min(self._announced(0), self._congestion_window(0))
        return max(0.0, min(self.expected, wire_bytes(unasked)) - self.paid)

    def due_before_read(self, read: int, received: int, arrived: float) -> float:
        """What has to be paid before everything up to stream byte ``read`` may be read.

        ``received`` stream bytes and ``arrived`` wire bytes so far. A small amount need not wait,
        but many together do: a server may send a byte per segment.
        """
        if self.crumbs:
            return self.unpaid(read, received, arrived + CRUMBS_AHEAD)
        due = self.unpaid(read, received, arrived)
        return due if due and due + self._owed >= _WORTH_WAITING else 0.0

    def unpaid(self, read: int, received: int, arrived: float) -> float:
        """Bytes that arrived or will arrive unpaid when this much has been read."""
        return max(0.0, arrived + self._coming(read, received) - self.paid)

    def to_owe(self, read: int, received: int, arrived: float) -> float:
        """What to pay late: bytes that arrive without a read of ours.

        As long as the length is not known, these are the bytes that arrived. If those that may
        arrive counted, too, each segment of a response longer than expected would be owed before it
        is read, and no read would ever wait.
        """
        if self.length is None and not self.crumbs:
            return max(0.0, arrived - self.paid)
        return self.unpaid(read, received, arrived)

    def pay(self, amount: float) -> None:
        self.paid += amount
        self._owed = 0.0

    def owe(self, amount: float) -> None:
        """Pay late, for bytes that arrived without a read."""
        self.paid += amount
        self._owed += amount

    def balance(self, arrived: float) -> float:
        """At the end of a whole response: paid and not arrived."""
        return self.paid - arrived

    def balance_when_cut(self, read: int, received: int, arrived: float) -> float:
        """The same when the connection is closed: bytes that were permitted may be on their way."""
        surplus = self.paid - arrived
        return min(surplus, max(0.0, surplus - self._coming(read, received)))

    def _coming(self, read: int, received: int) -> float:
        """Wire bytes that may still arrive without another step of ours."""
        permitted = min(read + self._announced(received), self._foreseen(read, received))
        coming = wire_bytes(min(max(0.0, permitted - received), self._congestion_window(received)))
        return coming * _PART_OF_WINDOW if self.crumbs else coming

    def _announced(self, received: int) -> float:
        """The kernel begins with what was asked of it and goes up to the window as bytes come."""
        return min(self.window, self._first_window + self._carried + received)

    def _congestion_window(self, received: int) -> float:
        return _INITIAL_CONGESTION_WINDOW + self._carried + received

    def _foreseen(self, read: int, received: int) -> float:
        if self.length is not None:
            return self.length
        if self.at_least > read:
            return self.at_least
        # Longer than expected: the head will say by how much, or the next read will. A whole window
        # would be owed for nothing, and what is given back later finds the bucket full.
        return max(self.expected * _STREAM_PART, max(read, received) + SEGMENT)

    def check(self) -> None:
        assert self.paid >= 0
        assert self.window > 0
