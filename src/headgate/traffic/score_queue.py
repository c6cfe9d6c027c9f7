"""Downloads that wait, best score first; of equal scores, the one that came first.

The number of running downloads per server is limited. Downloads for a busy server are set aside, so
that the best few in line may all start. Each end of a download puts one of its server's back in
line: the best, at its old rank.

A waiting download can be removed, or replaced by another of the same source, which inherits how
often it was passed over: it is the server that did not fit.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from dataclasses import dataclass

__all__ = ["Download", "ScoreQueue", "Waiting"]


@dataclass(frozen=True, slots=True)
class Download:
    """A document to fetch."""

    key: str
    """Unique among all that wait or run, usually the URL."""
    server: str
    """Address of the server whose speed counts."""
    score: float


class Waiting:
    """A download in line, and how often it was passed over because it did not fit."""

    __slots__ = ("_rank", "download", "passed_over", "since")

    def __init__(self, download: Download, number: int) -> None:
        self.download = download
        self.passed_over = 0
        self.since: float | None = None
        """When it was first passed over."""
        self._rank = (download.score, -number)

    def __lt__(self, other: Waiting) -> bool:
        """Worse, or equal and later: lists have the best at their end, where removal is cheap."""
        return self._rank < other._rank


class ScoreQueue:
    """A server has downloads aside only if as many are in line as it could start."""

    def __init__(self, per_server: int) -> None:
        self._per_server = per_server
        self._by_key: dict[str, Waiting] = {}
        """All that wait, in line or aside."""
        self._line: list[Waiting] = []
        self._aside: dict[str, list[Waiting]] = defaultdict(list)
        self._running: Counter[str] = Counter()
        self._count = 0

    def __len__(self) -> int:
        """All that wait."""
        return len(self._by_key)

    def add(self, download: Download) -> None:
        waiting = self._by_key[download.key] = Waiting(download, self._count)
        insort(self._line, waiting)
        self._count += 1

    def remove(self, key: str) -> Waiting:
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

    def best(self, count: int) -> list[Waiting]:
        """The best ``count`` downloads whose servers are not busy, best first."""
        found: list[Waiting] = []
        busy: list[Waiting] = []
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


def _taken_out(waiting: list[Waiting], one: Waiting) -> bool:
    """Whether it was there."""
    place = bisect_left(waiting, one)
    if place == len(waiting) or waiting[place] is not one:
        return False
    del waiting[place]
    return True
