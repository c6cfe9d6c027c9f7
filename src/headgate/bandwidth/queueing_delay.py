"""Queueing delay on our line, from round trips to several servers.

A round trip is distance plus whatever waits in front of it. The distance is the shortest round trip
to that server in the last ten minutes (RFC 6817's base delay); what a fresh one is longer by is
queueing. Several servers are probed, and the lower median counts: neither a server that is slow to
answer nor one on this side of the bottleneck is taken for the line.

A queue varies. A delay that stays constant while we send next to nothing is distance, not queue:
the path itself has become longer (`way_changed`).

Filled by probes, used by `make_way`.
"""

from __future__ import annotations

import math
from collections import deque

__all__ = ["LineDelay", "StandingQueue", "StillWatch"]

HISTORY_MINUTES = 10
_FRESH_SECONDS = 0.05
"""The shortest answer of a server within this time counts."""
_STALE_SECONDS = 1.0
_MOST_SERVERS = 64


class _Way:
    """One server: ``_minima`` holds the shortest round trip of each minute, oldest first."""

    __slots__ = ("_minima", "recent")

    def __init__(self, base: float, now: float) -> None:
        self._minima: deque[tuple[int, float]] = deque(((int(now // 60), base),))
        self.recent: deque[tuple[float, float]] = deque()

    @property
    def base(self) -> float:
        return min(shortest for _, shortest in self._minima)

    def add(self, delay: float, now: float) -> None:
        minute = int(now // 60)
        if self._minima[-1][0] < minute:
            self._minima.append((minute, delay))
        elif delay < self._minima[-1][1]:
            self._minima[-1] = (self._minima[-1][0], delay)
        while self._minima[0][0] <= minute - HISTORY_MINUTES:
            self._minima.popleft()
        self.recent.append((now, delay))
        while self.recent[0][0] < now - _FRESH_SECONDS and len(self.recent) > 1:
            self.recent.popleft()

    def queueing(self, now: float) -> float | None:
        """None: no recent answer."""
        if not self.recent or self.recent[-1][0] < now - _STALE_SECONDS:
            return None
        return min(delay for _, delay in self.recent) - self.base

    def begin_anew(self) -> None:
        """Measure the distance anew from now on."""
        if self.recent:
            minute = self._minima[-1][0]
            self._minima = deque(((minute, min(delay for _, delay in self.recent)),))

    def check(self) -> None:
        assert 0 < len(self._minima) <= HISTORY_MINUTES
        assert all(self.base <= delay for _, delay in self.recent)


class LineDelay:
    """Round trips in, queueing delay out; seconds."""

    def __init__(self) -> None:
        self._ways: dict[str, _Way] = {}

    def add(self, server: str, round_trip: float, now: float) -> None:
        """A server answered. The queue that others see now is not part of a new server's distance.

        >>> delay = LineDelay()
        >>> for server, trip in (("a", 0.02), ("b", 0.10), ("a", 0.05)):
        ...     delay.add(server, trip, now=1.0)
        >>> delay.queueing(1.0), delay.queueing(9.0)
        (0.0, None)
        """
        way = self._ways.get(server)
        if way is None:
            if len(self._ways) >= _MOST_SERVERS:
                del self._ways[next(iter(self._ways))]
            way = self._ways[server] = _Way(max(round_trip - (self.queueing(now) or 0.0), 0.0), now)
        way.add(round_trip, now)

    def queueing(self, now: float) -> float | None:
        """Seconds that packets wait in front of the line; None: no server answers."""
        answers = sorted(
            delay for way in self._ways.values() if (delay := way.queueing(now)) is not None
        )
        return answers[(len(answers) - 1) // 2] if answers else None

    def way_changed(self) -> None:
        for way in self._ways.values():
            way.begin_anew()

    def check(self) -> None:
        for way in self._ways.values():
            way.check()


STANDING_SECONDS = 0.25
"""The least delay over this time is the standing queue: bursts of our own come and go."""
STILL_SECONDS = 60.0
STILL_SPREAD_SECONDS = 0.002


class StandingQueue:
    """Recent queueing on the line: the standing queue, and constant delays that are no queue.

    Keeps a quarter of a second of delays.
    """

    __slots__ = ("_lately",)

    def __init__(self) -> None:
        self._lately: deque[tuple[float, float]] = deque()

    def clear(self) -> None:
        self._lately.clear()

    def with_next(self, queueing: float, now: float) -> float:
        """Seconds of standing queue, including this answer."""
        self._lately.append((now, queueing))
        while self._lately[0][0] < now - STANDING_SECONDS:
            self._lately.popleft()
        return min(delay for _, delay in self._lately)


class StillWatch:
    """Detects a delay that stays constant while we send next to nothing: it is the path, not a
    queue."""

    __slots__ = ("_high", "_low", "_since")

    def __init__(self) -> None:
        self._since = math.inf
        self._low = self._high = 0.0

    def restart(self) -> None:
        self._since = math.inf

    def is_the_way(self, queueing: float, now: float) -> bool:
        """Whether it was constant for a minute; then watching starts again."""
        self._low, self._high = min(self._low, queueing), max(self._high, queueing)
        if self._since == math.inf or self._high - self._low > STILL_SPREAD_SECONDS:
            self._since, self._low, self._high = now, queueing, queueing
        elif now - self._since > STILL_SECONDS:
            self._since = math.inf
            return True
        return False
