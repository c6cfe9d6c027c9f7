"""A token bucket that may go into debt.

Tokens grow by ``rate`` per second up to ``burst`` and fall by what is taken. Taking requires only
``tokens >= 0``, so an amount larger than the burst is possible: the bucket goes into debt, and the
next has to wait until it is paid back. So over any t seconds at most ``rate * t + burst + the
largest amount taken`` leaves the bucket, and with returned tokens up to two bursts more.

It starts empty. An infinite rate never runs out; a rate of 0 never recovers. Time does not go back:
an earlier time counts as the last one.
"""

from __future__ import annotations

import math

__all__ = ["Bucket"]


_GIVEN_BACK = 3.0
"""Most tokens after returns, in bursts."""


class Bucket:
    """One rate. ``tokens`` grow up to the burst; only returned tokens go beyond."""

    __slots__ = ("_at", "_tokens", "burst", "rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate = rate
        self.burst = math.inf if math.isinf(rate) else burst
        self._tokens = _savings(rate)
        self._at = now

    def tokens(self, now: float) -> float:
        """Tokens available; negative: debt.

        >>> bucket = Bucket(rate=100.0, burst=10.0, now=0.0)
        >>> bucket.take(60.0, now=0.0)
        >>> bucket.tokens(0.1), bucket.ready_time(), bucket.tokens(9.0)
        (-50.0, 0.6, 10.0)
        """
        if self.rate == math.inf or now <= self._at or self._tokens >= self.burst:
            return self._tokens
        return min(self.burst, self._tokens + self.rate * (now - self._at))

    def ready_time(self) -> float:
        """The time at which the debt is paid; in the past if there is none."""
        if self._tokens >= 0:
            return self._at
        return self._at - self._tokens / self.rate if self.rate > 0 else math.inf

    def saved_time(self, amount: float) -> float:
        """The time at which ``amount`` will be available if nothing is taken; in the past if it is
        already.

        >>> Bucket(rate=100.0, burst=10.0, now=1.0).saved_time(5.0)
        1.05
        """
        if self._tokens >= amount:
            return self._at
        return self._at + (amount - self._tokens) / self.rate if self.rate > 0 else math.inf

    def take(self, amount: float, now: float) -> None:
        """Take, into debt if necessary."""
        self._tokens = self.tokens(now) - amount
        self._at = max(self._at, now)

    def give_back(self, amount: float, now: float) -> None:
        """Return what was taken and not used. It may exceed the burst up to three times: if it were
        lost, the line would idle for that long."""
        tokens = self.tokens(now)
        self._tokens = max(tokens, min(_GIVEN_BACK * self.burst, tokens + amount))
        self._at = max(self._at, now)

    def set_rate(self, rate: float, burst: float, now: float) -> None:
        """Change the rate; debts stay, tokens are cut to the new burst."""
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
    """Initial tokens at this rate."""
    return math.inf if math.isinf(rate) else 0.0
