"""One response's account at the meter: how much of it may be read now.

The connection asks before every read. When the answer is nothing, a claim is in line and the
connection is called back once it is paid; meanwhile the bytes stay in the kernel, the window stays
shut by as much, and the server waits. At the end what was paid and what arrived are settled.
"""

from __future__ import annotations

from collections.abc import Callable

from headgate.fetching.metering import Meter
from headgate.fetching.tcp import Line
from headgate.traffic import window
from headgate.traffic.credit import Credit
from headgate.traffic.governor import Claim

__all__ = ["Tap"]

_GROWN_WINDOW = 64_000
"""Stands for the kernel's own window where a limit came while a response ran."""
_TLS_OVERHEAD = 1.02


class Tap:
    """At most one claim is in line; ``_then`` is whom it is for."""

    __slots__ = (
        "_base",
        "_changes",
        "_claim",
        "_credit",
        "_due",
        "_line",
        "_meter",
        "_quantum",
        "_site",
        "_then",
    )

    def __init__(self, meter: Meter, site: str, line: Line, expected: float) -> None:
        self._meter = meter
        self._site = site
        self._line = line
        self._credit = Credit(expected, line.window or _GROWN_WINDOW, carried=line.read)
        self._base = line.read
        """Stream bytes of earlier responses."""
        self._claim: Claim | None = None
        self._then: Callable[[int], None] = _nobody
        self._due = 0.0
        self._changes = -1
        self._quantum = 0

    @property
    def foreseen(self) -> bool:
        return self._credit.length is not None

    async def pay_for_request(self) -> None:
        due = self._credit.due_before_request()
        await self._meter.pay(self._site, due)
        self._credit.pay(due)

    def forgive(self) -> None:
        """What arrived until now came free: the limit began in the middle of the response."""
        self._credit.pay(self._line.arrivals()[1] - self._line.settled)

    def foresee(self, awaited: int, *, sealed: bool) -> None:
        """The head told how many bytes of body are still to come after those read."""
        coming = awaited * _TLS_OVERHEAD if sealed else awaited
        self._credit.length = self._line.read - self._base + coming

    def allowance(self, then: Callable[[int], None]) -> int:
        """How many bytes may be read now; 0: none, and ``then`` is called with the number later.

        With nothing waiting in the kernel one may be read: to find that this is the end.
        """
        self.reconcile()
        amount, due = self._next_read()
        if due > 0:
            self._due, self._then = due, then
            self._claim = self._meter.claim(self._site, due, self._granted)
            if self._claim is not None:
                return 0
            self._credit.pay(due)
        return max(amount, 1)

    def reconcile(self) -> None:
        """Owe at once what no read of ours brings forth.

        The last segment of a window follows the first ones, and probes and repetitions come while
        a claim waits. Before the first arrival, the request's payment stands.
        """
        line = self._line
        stream, wire = line.arrivals()
        if stream == self._base:
            return
        unpaid = self._credit.unpaid(
            line.read - self._base, stream - self._base, wire - line.settled
        )
        if unpaid > 0:
            self._credit.pay(unpaid)
            self._meter.settle(self._site, -unpaid)

    def close(self, *, whole: bool) -> int:
        """Settle; the wire bytes that arrived for this response."""
        if self._claim is not None:
            self._meter.withdraw(self._claim)
            self._claim = None
        line = self._line
        read, received = line.read - self._base, line.arrivals()[0] - self._base
        arrived = line.settle()
        if whole:
            surplus = self._credit.balance(arrived)
        else:
            surplus = self._credit.balance_when_cut(read, received, arrived)
        self._meter.settle(self._site, surplus)
        return arrived

    def _next_read(self) -> tuple[int, float]:
        """What there is to read, and what is to be paid before."""
        line = self._line
        stream, wire = line.arrivals()
        amount = window.whole_segments(stream - line.read, self._current_quantum())
        return amount, self._credit.due_before_read(
            line.read - self._base + amount, stream - self._base, wire - line.settled
        )

    def _granted(self) -> None:
        """More may have come in the meantime: it is read along, for a small debt."""
        self._claim = None
        self._credit.pay(self._due)
        amount, due = self._next_read()
        self._credit.pay(due)
        self._meter.settle(self._site, -due)
        self._then(max(amount, 1))

    def _current_quantum(self) -> int:
        """Under today's rates; the window follows them too where it can."""
        meter = self._meter
        if self._changes != meter.changes:
            self._changes = meter.changes
            total, share = meter.governor.total, meter.governor.share(self._site)
            self._quantum = window.read_quantum(total, share)
            wanted = window.opening(total, share, self._line.rtt, smooth=meter.governor.smooth)
            if wanted is not None and self._line.window is not None:
                self._line.widen(wanted)
                self._credit.window = self._line.window
        return self._quantum


def _nobody(_amount: int) -> None:
    """Before the first claim there is no one to call."""
