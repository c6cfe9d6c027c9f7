"""A token bucket that may owe.

Tokens grow by ``rate`` per second up to ``burst`` and fall by what is taken. Taking asks for
nothing but ``tokens >= 0``, so an amount larger than the burst is possible: the bucket goes into
debt and the next taker waits until it is paid back. From this, over any stretch of t seconds, no
more than ``rate * t + burst + the largest amount taken`` leaves the bucket, and with what is given
back up to two bursts more.

It starts with nothing saved. An infinite rate never runs out; a rate of 0 never recovers. Time does
not go back: a moment before the last one counts as the last one.
"""

from __future__ import annotations

import math

__all__ = ["Bucket"]


_GIVEN_BACK = 3.0
"""Bursts that may be there at once, if they were given back."""


class Bucket:
    """One rate. ``tokens`` grow up to the burst; only what was given back goes beyond."""

    __slots__ = ("_at", "_tokens", "burst", "rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate = rate
        self.burst = math.inf if math.isinf(rate) else burst
        self._tokens = _savings(rate)
        self._at = now

    def tokens(self, now: float) -> float:
        """What may be taken; negative when in debt.

        >>> bucket = Bucket(rate=100.0, burst=10.0, now=0.0)
        >>> bucket.take(60.0, now=0.0)
        >>> bucket.tokens(0.1), bucket.ready_time(), bucket.tokens(9.0)
        (-50.0, 0.6, 10.0)
        """
        if self.rate == math.inf or now <= self._at or self._tokens >= self.burst:
            return self._tokens
        return min(self.burst, self._tokens + self.rate * (now - self._at))

    def ready_time(self) -> float:
        """The first moment without debt: a past one when there is none now."""
        if self._tokens >= 0:
            return self._at
        return self._at - self._tokens / self.rate if self.rate > 0 else math.inf

    def saved_time(self, amount: float) -> float:
        """The first moment with so much saved, if nothing is taken: a past one when it is there.

        >>> Bucket(rate=100.0, burst=10.0, now=1.0).saved_time(5.0)
        1.05
        """
        if self._tokens >= amount:
            return self._at
        return self._at + (amount - self._tokens) / self.rate if self.rate > 0 else math.inf

    def take(self, amount: float, now: float) -> None:
        """Take, into debt if need be."""
        self._tokens = self.tokens(now) - amount
        self._at = max(self._at, now)

    def give_back(self, amount: float, now: float) -> None:
        """What was taken and not used. Other than savings it may pass the burst, up to three times:
        it was due a moment ago, and had it been lost, the line would have stood still for it."""
        tokens = self.tokens(now)
        self._tokens = max(tokens, min(_GIVEN_BACK * self.burst, tokens + amount))
        self._at = max(self._at, now)

    def set_rate(self, rate: float, burst: float, now: float) -> None:
        """From now on another rate; debts stay, savings shrink to the new burst."""
        tokens = self.tokens(now)
        self._at = max(self._at, now)
        self.rate = rate
        self.burst = math.inf if math.isinf(rate) else burst
        self._tokens = min(tokens, burst) if math.isfinite(rate + tokens) else _savings(rate)

    def check(self) -> None:
        assert self.rate >= 0
        assert self.burst >= 0
        assert self._tokens <= _GIVEN_BACK * self.burst
        assert not math.isnan(self._tokens)


def _savings(rate: float) -> float:
    """What a bucket of this rate begins with."""
    return math.inf if math.isinf(rate) else 0.0
