"""Waits for credit from the rate limiter: connects its arithmetic with the clock.

`Meter` has the limiter and one timer, set to the limiter's next wake-up and again whenever a rate
changes. There are no locks: a waiter is a callback stored with its claim, and withdrawing removes
both.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable

from msgspec.structs import replace

from headgate.bandwidth import receive_window
from headgate.bandwidth.credit import Credit
from headgate.bandwidth.rate_limiter import CreditClaim, RateLimiter
from headgate.bandwidth.receive_window import ConnectionDemand
from headgate.fetching.tcp import TcpConnection

__all__ = ["Meter", "ResponseMeter"]

_TIMER_SECONDS = 0.001
"""Resolution of uvloop's timers; buckets accumulate what they are late by."""


class Meter:
    """``_waiters``: the callback of every waiting claim."""

    def __init__(
        self,
        total: float = math.inf,
        *,
        clock: Callable[[], float],
        smooth: bool = False,
    ) -> None:
        self.limiter = RateLimiter(total, clock(), smooth=smooth)
        self.changes = 0
        """Incremented whenever a rate changes, so that windows are checked again."""
        self.under_way: Counter[str] = Counter()
        """Responses requested and not complete, by site."""
        self._clock = clock
        self._waiters: dict[CreditClaim, Callable[[], None]] = {}
        self._timer: asyncio.Handle | None = None
        self._timer_at = math.inf

    def set_total(self, rate: float) -> None:
        """A new budget, from now on."""
        self.limiter.set_total(rate, self._clock())
        self._changed()

    def set_site(
        self, site: str, rate: float, most: float | None = None, bound: float | None = None
    ) -> None:
        """A new share, from now on. ``most``: its limit with what other sites leave of theirs;
        ``bound``: with what nobody wants."""
        self.limiter.set_site(site, rate, self._clock(), most, bound)
        self._changed()

    def forget_site(self, site: str) -> None:
        self.limiter.forget_site(site)
        if not self.under_way[site]:
            del self.under_way[site]

    def demand(self, site: str, rtt: float, response: float, most: int) -> ConnectionDemand:
        """What a site's connections should carry at the current rates."""
        limiter = self.limiter
        share = limiter.share(site)
        return ConnectionDemand(
            limiter.total, share, rtt=rtt, response=response, most=most, smooth=limiter.smooth
        )

    def claim(self, site: str, amount: float, then: Callable[[], None]) -> CreditClaim | None:
        """Ask for credit: None if it is granted at once, else ``then`` is called with it later."""
        now = self._clock()
        if self.limiter.take_at_once(site, amount, now):
            return None
        return self._wait_in_line(site, amount, then, now)

    def _wait_in_line(
        self, site: str, amount: float, then: Callable[[], None], now: float
    ) -> CreditClaim | None:
        claim = self.limiter.claim(site, amount, now)
        self._waiters[claim] = then
        self._grant(silent=claim)
        self._set_timer()
        return None if claim.granted else claim

    def withdraw(self, claim: CreditClaim) -> None:
        """Withdraw a claim; harmless if it was granted already."""
        if self._waiters.pop(claim, None) is not None:
            self.limiter.withdraw(claim)

    async def pay(self, site: str, amount: float) -> None:
        """Wait for credit; costs nothing if cancelled."""
        limiter = self.limiter
        if amount <= 0 or limiter.free(site):
            return
        now = self._clock()
        if limiter.take_at_once(site, amount, now):
            return
        paid = asyncio.get_running_loop().create_future()
        claim = self._wait_in_line(
            site, amount, lambda: None if paid.done() else paid.set_result(None), now
        )
        if claim is None:
            return
        try:
            await paid
        except asyncio.CancelledError:
            self.withdraw(claim)
            if claim.granted:
                self.settle(site, amount)
            raise

    def settle(self, site: str, surplus: float) -> None:
        """Return an overpayment, or owe an underpayment."""
        if not self.limiter.free(site):
            self.limiter.settle(site, surplus, self._clock())
            if self._waiters:
                self._set_timer()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = math.inf

    def _changed(self) -> None:
        self.changes += 1
        if self._waiters:
            self._set_timer()

    def _grant(self, silent: CreditClaim | None = None) -> None:
        for claim in self.limiter.grant(self._clock()):
            waiter = self._waiters.pop(claim)
            if claim is not silent:
                waiter()

    def _set_timer(self) -> None:
        moment = self.limiter.wake_time() if self._waiters else math.inf
        if moment == self._timer_at or abs(moment - self._timer_at) < _TIMER_SECONDS:
            return
        self.close()
        self._timer_at = moment
        if moment == math.inf:
            return
        loop, delay = asyncio.get_running_loop(), moment - self._clock()
        if delay <= 0:  # something was returned: waiting for the timer would idle the line
            self._timer = loop.call_soon(self._on_timer)
        else:
            self._timer = loop.call_later(max(delay, _TIMER_SECONDS), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._timer_at = math.inf
        self._grant()
        self._set_timer()


_GROWN_WINDOW = 64_000
"""Assumed window if a limit was set during a response: the kernel's own."""
_TLS_OVERHEAD = 1.02
_LONG_SECONDS = 1.0
"""A response that takes no longer than this at the site's share is over soon in any window."""


class ResponseMeter:
    """One response's account at the meter: how much of it may be read now.

    The connection asks before every read. If nothing may be read, a claim waits for credit and the
    connection is called back once it is granted; meanwhile the bytes stay in the kernel, the window
    shrinks, and the server waits. At the end, what was paid and what arrived are settled.

    At most one claim waits; ``_then`` is its callback.
    """

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
        line: TcpConnection,
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
        self._claim: CreditClaim | None = None
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
        if self._credit.foresee(self._line.read - self._base + coming):
            self._changes = -1  # its window will change
        self._put_right(*self._line.arrivals())

    def foresee_record(self, awaited: int) -> None:
        """For a response over TLS whose head cannot be read yet: so many bytes are still to come,
        and it seems to end with them."""
        self._credit.foresee_at_least(self._line.read - self._base + awaited)

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
        credit.crumbs = credit.crumbs or receive_window.in_crumbs(received, arrived)
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
            quantum = receive_window.head_quantum(self._meter.limiter.total, sealed=self._sealed)
            if quantum:
                return receive_window.whole_segments(stream - line.read, quantum), 0.0
        amount = receive_window.whole_segments(stream - line.read, self._current_quantum())
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
            if length < max(credit.expected, _LONG_SECONDS * meter.limiter.share(self._site)):
                length = credit.expected
            demand = meter.demand(self._site, self._line.rtt, length, self._most_connections)
            self._quantum = receive_window.read_quantum(demand.total, demand.share)
            wanted = receive_window.opening(replace(demand, under_way=under_way))
            if wanted is not None and self._line.window is not None:
                self._line.widen(wanted)
                self._credit.widen(self._line.window)
        return self._quantum


def _nobody(_amount: int) -> None:
    """Placeholder before the first claim."""
