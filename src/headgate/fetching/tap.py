"""One response's account at the meter: how much of it may be read now.

The connection asks before every read. If nothing may be read, a claim waits for credit and the
connection is called back once it is granted; meanwhile the bytes stay in the kernel, the window
shrinks, and the server waits. At the end, what was paid and what arrived are settled.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from headgate.fetching.metering import Meter
from headgate.fetching.tcp import Line
from headgate.traffic import window
from headgate.traffic.credit import Credit
from headgate.traffic.governor import Claim

__all__ = ["Tap"]

_GROWN_WINDOW = 64_000
"""Assumed window if a limit was set during a response: the kernel's own."""
_TLS_OVERHEAD = 1.02
_LONG_SECONDS = 1.0
"""A response that takes no longer than this at the site's share is over soon in any window."""


class Tap:
    """At most one claim waits; ``_then`` is its callback."""

    __slots__ = (
        "_base",
        "_changes",
        "_claim",
        "_credit",
        "_due",
        "_line",
        "_meter",
        "_most_connections",
        "_put_right_at",
        "_quantum",
        "_sealed",
        "_sharing",
        "_site",
        "_then",
    )

    def __init__(
        self,
        meter: Meter,
        site: str,
        line: Line,
        expected: float,
        most: int,
        *,
        sealed: bool = False,
    ) -> None:
        """``sealed``: by TLS."""
        self._meter = meter
        self._sealed = sealed
        self._site = site
        self._line = line
        self._most_connections = most
        self._credit = Credit(expected, line.window or _GROWN_WINDOW, carried=line.read)
        self._base = line.read
        """Stream bytes of earlier responses."""
        self._claim: Claim | None = None
        self._then: Callable[[int], None] = _nobody
        self._due = 0.0
        self._put_right_at = 0
        """Wire bytes of the connection when the account was last corrected."""
        self._changes = -1
        self._sharing = 0
        """Responses that the window was chosen for."""
        self._quantum = 0

    @property
    def foreseen(self) -> bool:
        return self._credit.length is not None

    @property
    def crumbs(self) -> bool:
        """Whether the response comes in segments that are mostly headers."""
        return self._credit.crumbs

    @property
    def arrived(self) -> int:
        """Wire bytes of the response so far."""
        return self._line.arrivals()[1] - self._line.settled

    async def pay_for_request(self) -> None:
        due = self._credit.due_before_request()
        await self._meter.pay(self._site, due)
        self._credit.pay(due)

    def forgive(self) -> None:
        """What arrived so far is free: the limit was set during the response."""
        self._credit.pay(self._line.arrivals()[1] - self._line.settled)

    def foresee(self, awaited: int) -> None:
        """The head says how many bytes of the body are still to come after those read.

        Now that the length is known, what reading the head opened of the window is owed."""
        coming = awaited * _TLS_OVERHEAD if self._sealed else awaited
        self._credit.length = self._line.read - self._base + coming
        if self._credit.length > 2 * self._credit.expected:
            self._changes = -1  # its window will change
        self._put_right(*self._line.arrivals())

    def foresee_record(self, awaited: int) -> None:
        """For a response over TLS whose head cannot be read yet: so many bytes are still to come,
        and it seems to end with them."""
        self._credit.at_least = self._line.read - self._base + awaited

    def allowance(self, then: Callable[[int], None]) -> int:
        """The number of bytes that may be read now; 0: none, and ``then`` is called with it later.

        If the kernel has no data, one byte may be read, to detect the end.
        """
        arrivals = self._line.arrivals()
        self._put_right(*arrivals)
        amount, due = self._next_read(*arrivals)
        if due > 0:
            self._due, self._then = due, then
            self._claim = self._meter.claim(self._site, due, self._granted)
            if self._claim is not None:
                return 0
            self._credit.pay(due)
        return max(amount, 1)

    def reconcile(self) -> bool:
        """Owe bytes that arrive without a read of ours, and take back payments for bytes that will
        not come.

        A response may be longer than expected, and probes and retransmissions arrive while a claim
        waits. Returns whether anything arrived since the last call.
        """
        arrivals = self._line.arrivals()
        if arrivals[1] == self._put_right_at:
            return False
        self._put_right(*arrivals)
        return True

    def _put_right(self, stream: int, wire: int) -> None:
        """Before the first arrival, the payment with the request remains."""
        line, credit = self._line, self._credit
        self._put_right_at = wire
        if stream == self._base:
            return
        received, arrived = stream - self._base, wire - line.settled
        credit.crumbs = credit.crumbs or window.in_crumbs(received, arrived)
        unpaid = credit.to_owe(line.read - self._base, received, arrived)
        if unpaid > 0:
            credit.owe(unpaid)
            self._meter.settle(self._site, -unpaid)

    def close(self, *, whole: bool) -> int:
        """Settle; returns the wire bytes of this response."""
        if self._claim is not None:
            self._meter.withdraw(self._claim)
            self._claim = None
        line = self._line
        received = 0 if whole else line.arrivals()[0] - self._base
        arrived = line.settle()
        if whole:
            surplus = self._credit.balance(arrived)
        else:
            read = line.read - self._base
            surplus = self._credit.balance_when_cut(read, received, arrived)
        self._meter.settle(self._site, surplus)
        return arrived

    def _next_read(self, stream: int, wire: int) -> tuple[int, float]:
        """What can be read, and what has to be paid before."""
        line = self._line
        if line.read == self._base:
            quantum = window.head_quantum(self._meter.governor.total, sealed=self._sealed)
            if quantum:
                return window.whole_segments(stream - line.read, quantum), 0.0
        amount = window.whole_segments(stream - line.read, self._current_quantum())
        return amount, self._credit.due_before_read(
            line.read - self._base + amount, stream - self._base, wire - line.settled
        )

    def _granted(self) -> None:
        """More may have arrived meanwhile: it is read, too, for a small debt."""
        self._claim = None
        self._credit.pay(self._due)
        amount, due = self._next_read(*self._line.arrivals())
        if due > 0:
            self._credit.pay(due)
            self._meter.settle(self._site, -due)
        self._then(max(amount, 1))

    def _current_quantum(self) -> int:
        """Under today's rates; the window follows them too where it can, and the length that the
        head told of a response that goes on for long: it is no surprise any more, and may be the
        last that there is. Many windows widened for a moment each would be a wave, as would many
        that are each as wide as if it were alone."""
        meter, credit = self._meter, self._credit
        under_way = meter.under_way[self._site]
        if self._changes != meter.changes or 2 * under_way < self._sharing:
            self._changes, self._sharing = meter.changes, under_way
            length = credit.length or 0.0
            if length < max(credit.expected, _LONG_SECONDS * meter.governor.share(self._site)):
                length = credit.expected
            demand = meter.demand(self._site, self._line.rtt, length, self._most_connections)
            self._quantum = window.read_quantum(demand.total, demand.share)
            wanted = window.opening(replace(demand, under_way=under_way))
            if wanted is not None and self._line.window is not None:
                self._line.widen(wanted)
                self._credit.window = self._line.window
        return self._quantum


def _nobody(_amount: int) -> None:
    """Placeholder before the first claim."""
