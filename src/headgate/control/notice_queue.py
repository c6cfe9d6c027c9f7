"""Which change notice to deliver next, and when: pure, time is an argument.

Each listener has a queue of its own with one delivery at a time, so that notices come in order and
a slow listener holds up nobody else. A failed delivery is retried after a pause that grows with the
listener's consecutive failures, since mostly the listener is down; after some tries the notice is
given up. Notices that come while too many wait are dropped and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

__all__ = ["MOST_TRIES", "MOST_WAITING", "NoticeQueue", "Outcome", "pause_after"]

MOST_WAITING = 10_000
MOST_TRIES = 6
_AT_ONCE = 4
_FIRST_PAUSE, _LONGEST_PAUSE = 10.0, 3_600.0
_GROWTH = 4.0


class Outcome(Enum):
    TOLD = auto()
    REFUSED = auto()
    """The listener rejects it; another try would not help."""
    FAILED = auto()
    """Another try may succeed."""


def pause_after(failures: int) -> float:
    """Seconds before the next try.

    >>> [pause_after(failures) for failures in range(1, 7)]
    [10.0, 40.0, 160.0, 640.0, 2560.0, 3600.0]
    """
    return min(_FIRST_PAUSE * _GROWTH ** min(failures - 1, 10), _LONGEST_PAUSE)


@dataclass(slots=True)
class _Listener:
    """Notices by number, the oldest first; if ``busy``, the first is being delivered."""

    waiting: deque[int] = field(default_factory=deque)
    busy: bool = False
    tries: int = 0
    """Of the first notice."""
    failures: int = 0
    """In a row."""
    not_before: float = 0.0


@dataclass(slots=True)
class NoticeQueue:
    told: int = 0
    failed: int = 0
    dropped: int = 0
    waiting: int = 0
    _listeners: dict[str, _Listener] = field(default_factory=dict)
    _busy: int = 0

    def add(self, number: int, to: str) -> bool:
        """Whether it was queued; False: it was dropped."""
        if self.waiting >= MOST_WAITING:
            self.dropped += 1
            return False
        self._listeners.setdefault(to, _Listener()).waiting.append(number)
        self.waiting += 1
        return True

    def start(self, now: float) -> Iterator[tuple[str, int]]:
        """Notices to deliver now; each is in progress until `ended`."""
        for to, listener in list(self._listeners.items()):
            if self._busy >= _AT_ONCE:
                return
            if listener.waiting and not listener.busy and listener.not_before <= now:
                listener.busy = True
                self._busy += 1
                # To the end, so that listeners take turns.
                self._listeners[to] = self._listeners.pop(to)
                yield to, listener.waiting[0]

    def ended(self, to: str, outcome: Outcome, now: float) -> bool:
        """Record the outcome of a delivery; whether the notice is done."""
        listener = self._listeners[to]
        listener.busy = False
        self._busy -= 1
        listener.tries += 1
        if outcome is Outcome.FAILED:
            listener.failures += 1
            listener.not_before = now + pause_after(listener.failures)
            if listener.tries < MOST_TRIES:
                return False
        else:
            listener.failures = 0
        self.told += outcome is Outcome.TOLD
        self.failed += outcome is not Outcome.TOLD
        listener.waiting.popleft()
        listener.tries = 0
        self.waiting -= 1
        if not listener.waiting and not listener.failures:
            del self._listeners[to]
        return True

    def next_try(self) -> float | None:
        """When `start` has something again; None: not until something is added or ended."""
        if self._busy >= _AT_ONCE:
            return None
        moments = [
            listener.not_before
            for listener in self._listeners.values()
            if listener.waiting and not listener.busy
        ]
        return min(moments, default=None)

    def check(self) -> None:
        """The invariants, for tests."""
        assert self.waiting == sum(len(one.waiting) for one in self._listeners.values())
        assert self._busy == sum(one.busy for one in self._listeners.values()) <= _AT_ONCE
        assert self.waiting <= MOST_WAITING
        assert all(one.waiting for one in self._listeners.values() if one.busy)
