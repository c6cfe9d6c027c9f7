"""Which failed fetches are retried, and when.

Transient failures are retried after 1 and 4 seconds, three tries in all; permanent ones are not. If
a host is busy (429, 503), its URLs wait until it answers or is given up; the bound of eight tries
is for a single URL that answers so while its host is not busy.
"""

from __future__ import annotations

import msgspec

from headgate.model.fetch import LEFT_OUT, FailureKind

__all__ = ["RetryRules", "blames_host", "is_busy", "is_momentary"]

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


class RetryRules(msgspec.Struct, frozen=True):
    """Tries of one URL, the first included."""

    tries: int = 3
    busy_tries: int = 8
    first_wait: float = 1.0
    growth: float = 4.0

    def wait(self, tries: int) -> float:
        """Seconds to wait after this many tries."""
        return self.first_wait * self.growth ** (tries - 1)


def is_momentary(ending: FailureKind | int) -> bool:
    """Whether a failure or status is transient."""
    if isinstance(ending, FailureKind):
        return ending in _MOMENTARY_FAILURES
    return ending in _MOMENTARY_STATUSES


def is_busy(status: int) -> bool:
    return status in _BUSY_STATUSES


def blames_host(kind: FailureKind) -> bool:
    """Whether a failure counts against the host; those due to our own limits do not."""
    return kind not in _NOT_THE_HOSTS_FAULT
