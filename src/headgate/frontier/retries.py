"""Retry rules and backoff: which outcome is tried again, after how long, and how often.

Whatever tries again asks here: nodes, notices and the keeper wait by `Backoff`, too.

Transient failures of a page are retried after 1 and 4 seconds, three tries in all; permanent ones
are not. If a host is busy (429, 503), its URLs wait until it answers or is given up (`politeness`);
the bound of eight tries is for a single URL that answers so while others of its host are served: a
busy host is given up sooner, and a resumed run asks for its URLs again. `Frontier` counts, in
`Fetch.tries` and `Fetch.busy_answers`; a resumed run counts anew. robots.txt has the same three
tries. A body that broke off is requested once more by itself (`crawling.page_requests`).
"""

from __future__ import annotations

import math

import msgspec

from headgate.model.fetch import LEFT_OUT, FailureKind

__all__ = [
    "Backoff",
    "RetryRules",
    "blames_host",
    "is_busy",
    "is_momentary",
    "is_temporary",
    "pause_after",
    "retry_after",
]

_MOMENTARY_FAILURES = frozenset(
    {
        FailureKind.DNS,
        FailureKind.REFUSED,
        FailureKind.CONNECT_TIMEOUT,
        FailureKind.FIRST_BYTE_TIMEOUT,
        FailureKind.STALLED,
        FailureKind.CLOSED,
    }
)
_NOT_THE_HOSTS_FAULT = LEFT_OUT | {FailureKind.BAD_URL, FailureKind.TOO_SLOW}
_MOMENTARY_STATUSES = frozenset({408, 425, 500, 502, 504})
_BUSY_STATUSES = frozenset({429, 503})
_SERVER_ERROR = 500

_MOST_GROWTHS = 30
"""Powers beyond this one would overflow after some hundred failures."""
_LONGEST_NUMBER = 9
"""Digits of a Retry-After."""


class RetryRules(msgspec.Struct, frozen=True):
    """Tries of one URL, the first included."""

    tries: int = 3
    busy_tries: int = 8
    """Answers that the host is busy, with 429 and 503 counted together."""
    first_wait: float = 1.0
    growth: float = 4.0

    def wait(self, tries: int) -> float:
        """Seconds to wait after this many tries."""
        return pause_after(tries, first=self.first_wait, growth=self.growth)


def is_momentary(ending: FailureKind | int) -> bool:
    """Whether a failure or status is transient, and the host not busy."""
    if isinstance(ending, FailureKind):
        return ending in _MOMENTARY_FAILURES
    return ending in _MOMENTARY_STATUSES


def is_busy(status: int) -> bool:
    """Whether a host asks to be left alone for a while."""
    return status in _BUSY_STATUSES


def is_temporary(status: int) -> bool:
    """Whether a status says something of the server at that moment, and nothing of the URL.

    >>> is_temporary(404), is_temporary(408), is_temporary(429), is_temporary(501)
    (False, True, True, True)
    """
    return status >= _SERVER_ERROR or is_momentary(status) or is_busy(status)


def blames_host(kind: FailureKind) -> bool:
    """Whether a failure counts against the host; those due to our own limits do not."""
    return kind not in _NOT_THE_HOSTS_FAULT


def retry_after(header: str | None, wall: float) -> float | None:
    """Seconds from now, by the Retry-After header; None: there is none.

    >>> retry_after("30", 0.0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 20.0)
    (30.0, 40.0)
    """
    value = (header or "").strip()
    if value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER:
        return float(value)
    if not value:
        return None
    from email.utils import parsedate_to_datetime  # here: few servers send a date

    try:
        return max(parsedate_to_datetime(value).timestamp() - wall, 0.0)
    except (ValueError, OverflowError, OSError):
        return None


def pause_after(
    failures: int, *, first: float, growth: float = 2.0, longest: float = math.inf
) -> float:
    """Exponential backoff: seconds to wait after this many failures in a row.

    >>> [pause_after(failures, first=1.0, longest=5.0) for failures in (1, 2, 3, 4)]
    [1.0, 2.0, 4.0, 5.0]
    """
    return min(first * growth ** min(failures - 1, _MOST_GROWTHS), longest)


class Backoff(msgspec.Struct):
    """Pauses of one that tries again, longer after each failure in a row.

    >>> backoff = Backoff(first=10.0, longest=30.0)
    >>> backoff.failed(), backoff.rest(100.0), backoff.rests(119.0), backoff.rests(120.0)
    (10.0, 20.0, True, False)
    >>> backoff.failed(), backoff.failed(), backoff.reset(), backoff.failed()
    (30.0, 30.0, None, 10.0)
    """

    first: float
    longest: float = math.inf
    growth: float = 2.0
    _failures: int = 0
    """In a row."""
    _until: float = -math.inf

    def failed(self) -> float:
        """Count a failure; returns the seconds to wait."""
        self._failures += 1
        return pause_after(
            self._failures, first=self.first, growth=self.growth, longest=self.longest
        )

    def rest(self, now: float) -> float:
        """The same; until then it `rests`."""
        seconds = self.failed()
        self._until = now + seconds
        return seconds

    def rests(self, now: float) -> bool:
        return now < self._until

    def reset(self) -> None:
        """All is well: the next failure is the first again."""
        self._failures = 0
