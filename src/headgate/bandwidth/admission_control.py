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
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headgate.bandwidth.server_speed import Measure, Rule, ServerSpeeds
from headgate.model.timetable import LocalMoment

__all__ = [
    "WAYS",
    "Admission",
    "AdmissionRules",
    "Download",
    "FetcherManager",
    "OnOff",
    "StartDownload",
    "Taking",
    "Way",
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
class StartDownload:
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
        self._running: dict[str, StartDownload] = {}

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

    def starts(self, now: float) -> list[StartDownload]:
        """The downloads to start now, in order; they count as running."""
        started: list[StartDownload] = []
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

    def _next(self, now: float) -> StartDownload | None:
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
                return StartDownload(self._queue.start(place), taken, place)
            if place == 0 and self._has_a_claim(waiting, now):
                return None
        return None

    def _has_a_claim(self, waiting: WaitingDownload, now: float) -> bool:
        long_ago = waiting.since is not None and now - waiting.since > self._rules.patience
        return long_ago or waiting.passed_over > self._rules.most_passes


_HELD_BACK = 0.95
"""Above this part of its share, or of the whole limit, a download may have been held back by us."""
_GUESSED_PART = 0.1
"""A server's speed before any was measured, as a part of the limit."""
_GUESSED_SPEED = 100_000.0
"""The same without a limit, in bytes per second."""


@dataclass(frozen=True, slots=True)
class Way:
    """The rules in use."""

    taking: Taking | None
    """What a download takes of the limit; None: on/off control."""
    estimator: Rule = Rule.RATIO

    @property
    def enforced(self) -> bool:
        """Whether buckets hold downloads to their shares."""
        return self.taking in (by_shares, by_use)


WAYS = {
    "shares": Way(by_use),
    "estimates": Way(by_estimates, Rule.PAPER),
    "on-off": Way(None),
}
"""Choices for a crawl, Headgate's own first."""


class FetcherManager:
    """The fetcher manager: downloads wait by score, some start, and each that ends is a
    measurement.

    All of Diligenti et al. 2004 in one place, for the lab and for crawls: `Admission` or its rival
    `OnOff` decides what starts, `server_speed` estimates a server's speed at this hour, and every
    download that ends is a measure of it. A `Way` selects among the published and repaired rules.

    If buckets enforce shares, a download that we held back gives only a lower bound of its server's
    speed: otherwise estimates would sink and downloads multiply.

    Time is an argument: ``now`` counts the seconds of a run, a moment says which hour of which day.

    Of one run. A started download counts as running until `came` or `ended` is called.
    """

    def __init__(
        self, way: Way, limit: float, speeds: ServerSpeeds, *, look_ahead: int, per_server: int
    ) -> None:
        self.way = way
        self.speeds = speeds
        self._rate = 0.0
        """Of the last while."""
        self._moment: LocalMoment
        self._running: dict[str, StartDownload] = {}
        if way.taking is None:
            self._control: Admission | OnOff = OnOff(limit, per_server=per_server)
        else:
            rules = AdmissionRules(limit, way.taking, look_ahead, per_server=per_server)
            self._control = Admission(rules, self._estimate)

    @property
    def limit(self) -> float:
        """Bytes per second; 0: nothing starts."""
        return self._control.limit

    @limit.setter
    def limit(self, rate: float) -> None:
        self._control.limit = rate

    @property
    def predicted(self) -> float:
        """Predicted sum of the speeds of running downloads; 0: not predicted."""
        return self._control.taken if isinstance(self._control, Admission) else 0.0

    def offer(self, download: Download) -> None:
        self._control.offer(download)

    def exchange(self, key: str, download: Download) -> None:
        """Another in the place of one that waits."""
        self._control.exchange(key, download)

    def withdraw(self, key: str) -> None:
        """One that waits is not wanted any more."""
        self._control.withdraw(key)

    def starts(self, now: float, moment: LocalMoment) -> Sequence[StartDownload]:
        self._moment = moment
        started = self._control.starts(now)
        self._running |= {start.download.key: start for start in started}
        return started

    def came(self, key: str, measure: Measure, moment: LocalMoment) -> None:
        """A download is complete. Whether we held it back is decided here, not by the measure."""
        share = self._running[key].taken.share
        streamed = measure.seconds - measure.first_byte_seconds
        by_share = measure.bytes > _HELD_BACK * share * streamed
        by_line = self.way.enforced and self._rate > _HELD_BACK * self.limit
        told = Measure(
            measure.bytes, measure.seconds, measure.requests, measure.first_byte_seconds,
            at_least=by_share or by_line,
        )  # fmt: skip
        self.speeds.learn(self._running[key].download.server, told, moment)
        self.ended(key)

    def ended(self, key: str) -> None:
        """A download has ended, without a measure of its server."""
        del self._running[key]
        self._control.ended(key)

    def measured(self, rate: float) -> None:
        """The recent rate; called at regular intervals."""
        self._rate = rate
        if isinstance(self._control, OnOff):
            self._control.measured(rate)

    def _estimate(self, server: str) -> float:
        guess = min(_GUESSED_PART * self.limit, _GUESSED_SPEED)
        return self.speeds.rate(server, self._moment) or guess


class OnOff:
    """The rival of admission: as many downloads at once as the last measurement allows.

    Above the limit one fetcher is stopped, below it one more is started: the method that Diligenti
    et al. 2004 compare with. A stopped fetcher finishes its document; aborting would waste what was
    received. The rate responds late, by a round trip and by the length of documents, so the number
    overshoots both ways and the rate oscillates.

    ``allowed`` fetchers may run; those beyond stop at the end of their document.
    """

    def __init__(self, limit: float, fetchers: int = 64, per_server: int = 2) -> None:
        self.allowed = 1
        self.limit = limit
        """May be changed."""
        self._fetchers = fetchers
        self._queue = ScoreQueue(per_server)
        self._servers: dict[str, str] = {}
        """Servers of running downloads."""

    def measured(self, rate: float) -> None:
        """The recent rate; called at regular intervals."""
        step = -1 if rate > self.limit else 1
        self.allowed = min(max(self.allowed + step, 1), self._fetchers)

    def offer(self, download: Download) -> None:
        """Put a download in line."""
        self._queue.add(download)

    def exchange(self, key: str, download: Download) -> None:
        """Replace a waiting download by another."""
        self._queue.exchange(key, download)

    def withdraw(self, key: str) -> None:
        """Remove a waiting download."""
        self._queue.remove(key)

    def ended(self, key: str) -> None:
        """A download is over."""
        self._queue.ended(self._servers.pop(key))

    def starts(self, _now: float) -> list[StartDownload]:
        """The best downloads that politeness allows, up to the number of fetchers."""
        started = []
        while self.limit > 0 and len(self._servers) < self.allowed and self._queue.best(1):
            download = self._queue.start(0)
            self._servers[download.key] = download.server
            started.append(StartDownload(download, Taken(0.0, math.inf), 0))
        return started


@dataclass(frozen=True, slots=True)
class Download:
    """A document to fetch."""

    key: str
    """Unique among all that wait or run, usually the URL."""
    server: str
    """Address of the server whose speed counts."""
    score: float


class WaitingDownload:
    """A download in line, and how often it was passed over because it did not fit."""

    __slots__ = ("_rank", "download", "passed_over", "since")

    def __init__(self, download: Download, number: int) -> None:
        self.download = download
        self.passed_over = 0
        self.since: float | None = None
        """When it was first passed over."""
        self._rank = (download.score, -number)

    def __lt__(self, other: WaitingDownload) -> bool:
        """Worse, or equal and later: lists have the best at their end, where removal is cheap."""
        return self._rank < other._rank


class ScoreQueue:
    """Downloads that wait, best score first; of equal scores, the one that came first.

    The number of running downloads per server is limited. Downloads for a busy server are set
    aside, so that the best few in line may all start. Each end of a download puts one of its
    server's back in line: the best, at its old rank.

    A waiting download can be removed, or replaced by another of the same source, which inherits how
    often it was passed over: it is the server that did not fit.

    A server has downloads aside only if as many are in line as it could start.
    """

    def __init__(self, per_server: int) -> None:
        self._per_server = per_server
        self._by_key: dict[str, WaitingDownload] = {}
        """All that wait, in line or aside."""
        self._line: list[WaitingDownload] = []
        self._aside: dict[str, list[WaitingDownload]] = defaultdict(list)
        self._running: Counter[str] = Counter()
        self._count = 0

    def __len__(self) -> int:
        """All that wait."""
        return len(self._by_key)

    def add(self, download: Download) -> None:
        waiting = self._by_key[download.key] = WaitingDownload(download, self._count)
        insort(self._line, waiting)
        self._count += 1

    def remove(self, key: str) -> WaitingDownload:
        """Remove it."""
        waiting = self._by_key.pop(key)
        server = waiting.download.server
        aside = self._aside.get(server, [])
        if not _taken_out(self._line, waiting):
            _taken_out(aside, waiting)
            if not aside:
                del self._aside[server]
        elif aside:
            insort(self._line, aside.pop())
            if not aside:
                del self._aside[server]
        return waiting

    def exchange(self, key: str, download: Download) -> None:
        """Replace it by another, ranked by its own score."""
        before = self.remove(key)
        self.add(download)
        waiting = self._by_key[download.key]
        waiting.passed_over, waiting.since = before.passed_over, before.since

    def best(self, count: int) -> list[WaitingDownload]:
        """The best ``count`` downloads whose servers are not busy, best first."""
        found: list[WaitingDownload] = []
        busy: list[WaitingDownload] = []
        while self._line and len(found) < count:
            waiting = self._line.pop()
            (busy if self._busy(waiting.download.server) else found).append(waiting)
        self._line.extend(reversed(found))
        for waiting in busy:
            insort(self._aside[waiting.download.server], waiting)
        return found

    def start(self, place: int) -> Download:
        """Remove the one at this index of `best`: it runs now."""
        download = self._line.pop(-1 - place).download
        del self._by_key[download.key]
        self._running[download.server] += 1
        return download

    def running(self, server: str) -> int:
        return self._running[server]

    def ended(self, server: str) -> None:
        """One of a server's downloads has ended."""
        self._running[server] -= 1
        if not self._running[server]:
            del self._running[server]
        aside = self._aside.get(server)
        if aside is not None:
            insort(self._line, aside.pop())
            if not aside:
                del self._aside[server]

    def check(self) -> None:
        assert all(a < b for a, b in zip(self._line, self._line[1:], strict=False))
        aside_too = sum(map(len, self._aside.values()))
        assert len(self._by_key) == len(self._line) + aside_too
        in_line = Counter(waiting.download.server for waiting in self._line)
        for server, aside in self._aside.items():
            assert aside
            assert in_line[server] >= self._per_server - self._running[server]
        assert all(0 < count <= self._per_server for count in self._running.values())

    def _busy(self, server: str) -> bool:
        return self._running[server] >= self._per_server


def _taken_out(waiting: list[WaitingDownload], one: WaitingDownload) -> bool:
    """Whether it was there."""
    place = bisect_left(waiting, one)
    if place == len(waiting) or waiting[place] is not one:
        return False
    del waiting[place]
    return True
