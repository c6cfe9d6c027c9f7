"""How many downloads to start so that a limit is filled: admission by estimates.

Diligenti et al. 2004. Downloads wait by score. The manager looks at the best few of them
(``look_ahead``, the paper's maxd) and starts the first for which there is room under the limit L,
and again until none fits. What a download takes of the limit is recorded when it starts, and the
same number is returned when it ends, even if the estimate has changed: the sum cannot drift.

Three rules say what a download takes, given the estimate B of its server's speed:

by_estimates   the paper's: B, if it fits. B is cut to L, or a server faster than the limit would
               never have its turn. Nothing holds a download to B.
by_shares      the repaired one: min(1.5 B, what is left), if what is left is worth a start. The
               number is a share, and whoever runs the download holds it there with a bucket. So
               shares decide and buckets enforce, and an estimate that is wrong costs a connection
               more or less, never the limit. What a download does not use of its share is lost.
by_use         Headgate's, where one bucket holds the whole line as well: counts min(B, what is
               left), what the download will use, and lets it have 1.5 times that. Shares add up to
               more than L, the line's bucket does not let through more, and little is lost.

A server that already has downloads running divides its speed among them: the next one is counted
with B / (n + 1).

A large download could be passed over for ever, since there is always a smaller one. So for a
download that was best in line and passed over ``most_passes`` times or for ``patience`` seconds,
free capacity is reserved: until it fits, nothing behind it starts. This is the reservation of EASY
back-filling without back-filling, since the duration of downloads is unknown.

Events in, decisions out: `starts` is called after `offer` and `ended`, and at intervals. Estimates
and the time are arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from headgate.traffic.score_queue import Download, ScoreQueue, Waiting

__all__ = [
    "Admission",
    "AdmissionRules",
    "Estimate",
    "Start",
    "Taken",
    "Taking",
    "by_estimates",
    "by_shares",
    "by_use",
]

Estimate = Callable[[str], float]
"""The speed of one download from a server, by its address: bytes per second, above 0."""


class Taken(NamedTuple):
    """Bytes per second."""

    counted: float
    """Part of the limit, while the download runs."""
    share: float
    """Rate that a bucket enforces; infinite: none."""


Taking = Callable[[float, float, float], Taken | None]
"""(estimate, what is left of the limit, the limit) → what a download takes; None: no room."""

_HEADROOM = 1.5
"""Speeds of single downloads vary around the estimate; a share must not slow the faster half."""
_WORTH_OF_ESTIMATE = 0.25
_WORTH_OF_LIMIT = 0.05
"""Less room than either is left unused: with too small a share a download would take for ever."""


def by_estimates(estimate: float, left: float, limit: float) -> Taken | None:
    """The paper's rule.

    >>> by_estimates(30.0, 50.0, 140.0), by_estimates(60.0, 50.0, 140.0)
    (Taken(counted=30.0, share=inf), None)
    >>> by_estimates(500.0, 140.0, 140.0)  # faster than the limit: alone
    Taken(counted=140.0, share=inf)
    """
    asked = min(estimate, limit)
    return Taken(asked, math.inf) if asked <= left else None


def by_shares(estimate: float, left: float, limit: float) -> Taken | None:
    """The repaired rule.

    >>> by_shares(30.0, 50.0, 140.0), by_shares(60.0, 50.0, 140.0), by_shares(60.0, 7.0, 140.0)
    (Taken(counted=45.0, share=45.0), Taken(counted=50.0, share=50.0), None)
    """
    share = min(_HEADROOM * estimate, left)
    return Taken(share, share) if _worth_a_start(estimate, left, limit) else None


def by_use(estimate: float, left: float, limit: float) -> Taken | None:
    """Headgate's rule, under a bucket for the whole limit.

    >>> by_use(30.0, 50.0, 140.0), by_use(60.0, 50.0, 140.0), by_use(60.0, 7.0, 140.0)
    (Taken(counted=30.0, share=45.0), Taken(counted=50.0, share=75.0), None)
    """
    used = min(estimate, left)
    return Taken(used, _HEADROOM * used) if _worth_a_start(estimate, left, limit) else None


def _worth_a_start(estimate: float, left: float, limit: float) -> bool:
    return left > min(_WORTH_OF_ESTIMATE * estimate, _WORTH_OF_LIMIT * limit)


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """Settings of a crawl."""

    limit: float
    """L in bytes per second, at the start."""
    taking: Taking = by_use
    look_ahead: int = 6
    fetchers: int = 64
    """Concurrent downloads over all servers."""
    per_server: int = 2
    """Concurrent downloads from one server, for politeness."""
    most_passes: int = 50
    patience: float = 30.0


@dataclass(frozen=True, slots=True)
class Start:
    """Start this download now."""

    download: Download
    taken: Taken
    passed_over: int
    """Number of better downloads that did not fit."""


class Admission:
    """``taken`` is the sum over running downloads, at most the limit when they started."""

    def __init__(self, rules: AdmissionRules, estimate: Estimate) -> None:
        self.limit = rules.limit
        """May be changed; running downloads are not affected."""
        self._rules = rules
        self._estimate = estimate
        self._queue = ScoreQueue(rules.per_server)
        self._running: dict[str, Start] = {}

    @property
    def taken(self) -> float:
        """CB: what running downloads are expected to use. Summed each time, so that rounding errors
        do not add up."""
        return math.fsum(start.taken.counted for start in self._running.values())

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def offer(self, download: Download) -> None:
        """Put a download in line."""
        self._queue.add(download)

    def exchange(self, key: str, download: Download) -> None:
        """Replace a waiting download by another, which inherits how often it was passed over."""
        self._queue.exchange(key, download)

    def withdraw(self, key: str) -> None:
        """Remove a waiting download."""
        self._queue.remove(key)

    def ended(self, key: str) -> None:
        """A download has ended, successfully or not; what it took is free again."""
        self._queue.ended(self._running.pop(key).download.server)

    def starts(self, now: float) -> list[Start]:
        """The downloads to start now, in order; they count as running."""
        started: list[Start] = []
        while self.limit > 0 and len(self._running) < self._rules.fetchers:
            start = self._next(now)
            if start is None:
                break
            self._running[start.download.key] = start
            started.append(start)
        return started

    def check(self) -> None:
        self._queue.check()
        assert len(self._running) <= self._rules.fetchers

    def _next(self, now: float) -> Start | None:
        """The first of the best few that fits."""
        rules, left = self._rules, self.limit - self.taken
        best = self._queue.best(rules.look_ahead)
        for place, waiting in enumerate(best):
            server = waiting.download.server
            estimate = self._estimate(server) / (self._queue.running(server) + 1)
            taken = rules.taking(estimate, left, self.limit)
            if taken is not None:
                for passed in best[:place]:
                    passed.passed_over += 1
                    passed.since = now if passed.since is None else passed.since
                return Start(self._queue.start(place), taken, place)
            if place == 0 and self._has_a_claim(waiting, now):
                return None
        return None

    def _has_a_claim(self, waiting: Waiting, now: float) -> bool:
        long_ago = waiting.since is not None and now - waiting.since > self._rules.patience
        return long_ago or waiting.passed_over > self._rules.most_passes
