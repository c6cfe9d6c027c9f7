"""Politeness to one host: when the next request may be sent, and when to give the host up.

Requests are throttled here, host by host; the rate limit in bytes is `bandwidth.rate_limiter`. The
bench asks before each fetch, and the frontier reports how each fetch ended. Five conditions must
all allow a request:

connections   at most ``connections`` at once; one if robots.txt sets a Crawl-delay. An answer that
              it is busy (`retries.is_busy`) halves the number, twenty good answers in a row give
              one back.
delay         from the start of one request to the start of the next: the user's minimum, the
              Crawl-delay, or ``public_delay`` at a public address, whichever is longest. A
              Crawl-delay above ``longest_crawl_delay`` is cut to it: at ten minutes a page nothing
              would be crawled, and robots.txt has better means to say so.
answer time   while ``at_once`` requests are in flight, the next one waits until the host's usual
              time to first byte has passed since the last start. So on average the host works on
              one request of ours at a time, and does not idle while we receive an answer. The
              usual time rises at once with a slow answer and falls half way with a quick one; an
              error does not lower it, as it may be quick without any work done. This is Scrapy's
              AutoThrottle with its target concurrency of 1.
busy pause    after an answer that it is busy: Retry-After if given, else 2, 4, 8 ... seconds.
failure pause after the second network failure in a row: 1, 2, 4 ... seconds.

Requests that were in flight when a pause began neither lengthen the pause nor count again. There is
no jitter: only one frontier talks to a host, and runs are reproducible.

A host is given up, with a reason for the report, if it is busy ``busy_limit`` times in a row, has a
Retry-After above ``longest_pause``, fails ``failure_limit`` times in a row on the network, or if
more than ``error_share`` of its latest hundred or so answers are failures or server errors (an
exponential moving average, used after the first fifty).
"""

from __future__ import annotations

import math
from typing import Self

import msgspec

from headgate.frontier.retries import pause_after
from headgate.model.site import NEAR_DELAY, POLITE_DELAY, Site

__all__ = ["HostPoliteness", "PolitenessRules"]

_GOOD_ANSWERS_PER_CONNECTION = 20
_SHARE_MEMORY = 100
_SHARE_FIRST = 50

_MOST_CONNECTIONS = 6
"""As in browsers."""
_POLITE_AT_ONCE = 1


class PolitenessRules(msgspec.Struct, frozen=True):
    """Politeness rules for hosts. All times are in seconds."""

    connections: int = _MOST_CONNECTIONS
    at_once: int | None = None
    """Requests in flight that need not wait for the answer time; None: ``connections``."""
    delay: float = 0.0
    public_delay: float = 0.0
    longest_crawl_delay: float = 60.0
    first_busy_pause: float = 2.0
    first_failure_pause: float = 1.0
    longest_pause: float = 3600.0
    busy_limit: int = 7
    failure_limit: int = 7
    error_share: float = 0.5
    guests: int = 1
    """Machines that crawl the host at the same time: they share a Crawl-delay."""

    @classmethod
    def for_site(cls, site: Site, guests: int = 1) -> Self:
        """The user's settings; by default, what is polite to an unknown server."""
        told = site.connections is not None or site.delay is not None
        return cls(
            site.connections or _MOST_CONNECTIONS,
            None if told else _POLITE_AT_ONCE,
            NEAR_DELAY if site.delay is None else site.delay,
            POLITE_DELAY if site.delay is None else 0.0,
            guests=guests,
        )


class HostPoliteness:
    """State of one host. ``in_flight`` never rises above the connections allowed at that time."""

    __slots__ = (
        "_answer_seconds",
        "_at_once",
        "_busy",
        "_calm_from",
        "_connections",
        "_delay",
        "_error_share",
        "_failures",
        "_latest_start",
        "_most_connections",
        "_outcomes",
        "_rules",
        "_well",
        "given_up",
        "in_flight",
        "next_start",
    )

    def __init__(self, rules: PolitenessRules) -> None:
        self._rules = rules
        self._most_connections = rules.connections
        self._connections = rules.connections
        self._at_once = rules.connections if rules.at_once is None else rules.at_once
        self._delay = rules.delay
        self._latest_start = -math.inf
        self._answer_seconds = math.inf
        """The host's usual time to first byte; infinity: not known yet."""
        self._busy = 0
        """Times busy in a row."""
        self._failures = 0
        """Network failures in a row."""
        self._well = 0
        """Good answers in a row."""
        self._calm_from = -math.inf
        """Failures of requests sent before this time do not count again."""
        self._error_share = 0.0
        self._outcomes = 0
        self.in_flight = 0
        self.next_start = -math.inf
        """No request is sent before this time."""
        self.given_up = ""
        """The reason; empty while the host is crawled."""

    @property
    def full(self) -> bool:
        return self.in_flight >= self._connections

    @property
    def opens(self) -> float:
        """When the next request may be sent if none ends before; infinity: not until one ends."""
        if self.in_flight >= self._connections:
            return math.inf
        if self.in_flight >= self._at_once:
            return max(self.next_start, self._latest_start + self._answer_seconds)
        return self.next_start

    @property
    def seconds_per_request(self) -> float:
        """Least time per request that politeness requires in the long run; 0: none, or not known
        yet."""
        paced = self._at_once < self._connections and not math.isinf(self._answer_seconds)
        return max(self._delay, self._answer_seconds if paced else 0.0)

    def ready(self, now: float) -> bool:
        """Whether a request may be sent. A host that was given up is always ready, so that its URLs
        are dropped."""
        return bool(self.given_up) or now >= self.opens

    def found_public(self) -> None:
        """The host is at a public address."""
        self._delay = max(self._delay, self._rules.public_delay)

    def crawl_delay(self, seconds: float) -> None:
        """Apply the Crawl-delay of robots.txt."""
        wanted = min(seconds, self._rules.longest_crawl_delay) * self._rules.guests
        self._delay = max(self._delay, wanted)
        if seconds > 0:
            self._most_connections = self._connections = 1

    def started(self, now: float) -> None:
        self.in_flight += 1
        self._latest_start = now
        self.next_start = max(self.next_start, now + self._delay)

    def took(self, seconds: float, *, error: bool = False) -> None:
        """Note a time to first byte; ``error``: of an error status."""
        usual = self._answer_seconds
        if math.isinf(usual):
            self._answer_seconds = seconds
        elif seconds > usual or not error:
            self._answer_seconds = max(seconds, (usual + seconds) / 2)

    def answered(self) -> None:
        """The host answered, and neither that it is busy nor with a server error."""
        self.in_flight -= 1
        self._busy = self._failures = 0
        self._well += 1
        if self._well % _GOOD_ANSWERS_PER_CONNECTION == 0:
            self._connections = min(self._connections + 1, self._most_connections)
        self._weigh(error=False)

    def excused(self) -> None:
        """The fetch ended for a reason that says nothing about the host."""
        self.in_flight -= 1

    def erred(self, reason: str) -> None:
        """The host answered with a server error, such as 500."""
        self.in_flight -= 1
        self._failures = self._well = 0
        self._weigh(error=True, reason=reason)

    def failed(self, reason: str, started: float, now: float) -> None:
        """The network failed: no complete answer to a request sent at ``started``."""
        self.in_flight -= 1
        self._well = 0
        self._weigh(error=True, reason=reason)
        if started < self._calm_from:
            return
        self._failures += 1
        if self._failures >= self._rules.failure_limit:
            self._give_up(f"{self._failures} network failures in a row, last: {reason}")
        elif self._failures > 1:
            pause = pause_after(self._failures - 1, first=self._rules.first_failure_pause)
            self._pause(pause, now)

    def busy(self, reason: str, started: float, now: float, retry_after: float | None) -> None:
        """The host answered that it is busy, with Retry-After or without."""
        self.in_flight -= 1
        self._failures = self._well = 0
        if retry_after is not None and retry_after > self._rules.longest_pause:
            self._give_up(f"{reason}: asks to come back in {retry_after:.0f} s")
            return
        if started >= self._calm_from:
            self._busy += 1
            self._connections = max(1, self._connections // 2)
        if self._busy >= self._rules.busy_limit:
            self._give_up(f"busy {self._busy} times in a row, last: {reason}")
        elif retry_after is not None:
            self._pause(retry_after, now)
        elif started >= self._calm_from:
            self._pause(pause_after(self._busy, first=self._rules.first_busy_pause), now)

    def check(self) -> None:
        assert 0 <= self.in_flight <= self._rules.connections
        assert 1 <= self._connections <= self._most_connections <= max(1, self._rules.connections)
        assert self._at_once >= 1
        assert self._answer_seconds >= 0.0
        assert 0.0 <= self._error_share <= 1.0
        assert self._busy <= self._rules.busy_limit
        assert self._failures <= self._rules.failure_limit

    def _pause(self, seconds: float, now: float) -> None:
        self.next_start = max(self.next_start, now + min(seconds, self._rules.longest_pause))
        self._calm_from = max(self._calm_from, now)

    def _weigh(self, *, error: bool, reason: str = "") -> None:
        self._outcomes += 1
        weight = 1 / min(self._outcomes, _SHARE_MEMORY)
        self._error_share += ((1.0 if error else 0.0) - self._error_share) * weight
        too_many = self._outcomes >= _SHARE_FIRST and self._error_share > self._rules.error_share
        if error and too_many:
            self._give_up(f"{self._error_share:.0%} of recent answers are errors, last: {reason}")

    def _give_up(self, reason: str) -> None:
        self.given_up = self.given_up or reason
