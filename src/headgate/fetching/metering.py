"""Waits for credit from the governor: connects its arithmetic with the clock.

`Meter` has the governor and one timer, set to the governor's next wake-up and again whenever a rate
changes. There are no locks: a waiter is a callback stored with its claim, and withdrawing removes
both.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable

from headgate.traffic.governor import Claim, Governor
from headgate.traffic.window import Demand

__all__ = ["Meter"]

_TIMER_SECONDS = 0.001
"""Resolution of uvloop's timers; buckets accumulate what they are late by."""


class Meter:
    """``_waiters``: the callback of every waiting claim."""

    def __init__(
        self,
        total: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        *,
        smooth: bool = False,
    ) -> None:
        self.governor = Governor(total, clock(), smooth=smooth)
        self.changes = 0
        """Incremented whenever a rate changes, so that windows are checked again."""
        self.under_way: Counter[str] = Counter()
        """Responses requested and not complete, by site."""
        self._clock = clock
        self._waiters: dict[Claim, Callable[[], None]] = {}
        self._timer: asyncio.Handle | None = None
        self._timer_at = math.inf

    def set_total(self, rate: float) -> None:
        """A new budget, from now on."""
        self.governor.set_total(rate, self._clock())
        self._changed()

    def set_site(
        self, site: str, rate: float, most: float | None = None, bound: float | None = None
    ) -> None:
        """A new share, from now on. ``most``: its limit with what other sites leave of theirs;
        ``bound``: with what nobody wants."""
        self.governor.set_site(site, rate, self._clock(), most, bound)
        self._changed()

    def forget_site(self, site: str) -> None:
        self.governor.forget_site(site)
        if not self.under_way[site]:
            del self.under_way[site]

    def demand(self, site: str, rtt: float, response: float, most: int) -> Demand:
        """What a site's connections should carry at the current rates."""
        governor = self.governor
        share = governor.share(site)
        return Demand(governor.total, share, rtt, response, most, governor.smooth)

    def claim(self, site: str, amount: float, then: Callable[[], None]) -> Claim | None:
        """Ask for credit: None if it is granted at once, else ``then`` is called with it later."""
        now = self._clock()
        if self.governor.take_at_once(site, amount, now):
            return None
        return self._wait_in_line(site, amount, then, now)

    def _wait_in_line(
        self, site: str, amount: float, then: Callable[[], None], now: float
    ) -> Claim | None:
        claim = self.governor.claim(site, amount, now)
        self._waiters[claim] = then
        self._grant(silent=claim)
        self._set_timer()
        return None if claim.granted else claim

    def withdraw(self, claim: Claim) -> None:
        """Withdraw a claim; harmless if it was granted already."""
        if self._waiters.pop(claim, None) is not None:
            self.governor.withdraw(claim)

    async def pay(self, site: str, amount: float) -> None:
        """Wait for credit; costs nothing if cancelled."""
        governor = self.governor
        if amount <= 0 or governor.free(site):
            return
        now = self._clock()
        if governor.take_at_once(site, amount, now):
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
        if not self.governor.free(site):
            self.governor.settle(site, surplus, self._clock())
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

    def _grant(self, silent: Claim | None = None) -> None:
        for claim in self.governor.grant(self._clock()):
            waiter = self._waiters.pop(claim)
            if claim is not silent:
                waiter()

    def _set_timer(self) -> None:
        moment = self.governor.wake_time() if self._waiters else math.inf
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
