"""Which fetches that ended badly are worth another try, and when.

Failures of the moment are tried again after 1 and 4 seconds, three tries in all; failures that
will be the same next time are not. A host that is merely busy (429, 503) keeps its URLs until it
answers or is given up; eight tries are for the single URL that is busy while its host is not.
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
        """Seconds before the next try, after so many."""
        return self.first_wait * self.growth ** (tries - 1)


def is_momentary(ending: FailureKind | int) -> bool:
    """Whether a failure or status may be different in a moment."""
    if isinstance(ending, FailureKind):
        return ending in _MOMENTARY_FAILURES
    return ending in _MOMENTARY_STATUSES


def is_busy(status: int) -> bool:
    return status in _BUSY_STATUSES


def blames_host(kind: FailureKind) -> bool:
    """Whether a failure counts against the host: not if our own limits made it."""
    return kind not in _NOT_THE_HOSTS_FAULT
