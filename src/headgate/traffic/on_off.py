"""The rival of admission: as many downloads at once as the last measurement allows.

Above the limit one fetcher is stopped, below it one more is started: what Diligenti et al. 2004
compare themselves with. A stopped fetcher ends the document it is at; to break it off would waste
what has come of it. The rate answers late, by a round trip and by the length of documents, so the
number overshoots both ways and the rate swings.
"""

from __future__ import annotations

import math

from headgate.traffic.admission import Start, Taken
from headgate.traffic.score_queue import Download, ScoreQueue

__all__ = ["OnOff"]


class OnOff:
    """``allowed`` fetchers may be at work; those at work beyond it are stopped as they end."""

    def __init__(self, limit: float, fetchers: int = 64, per_server: int = 2) -> None:
        self.allowed = 1
        self.limit = limit
        """May be changed."""
        self._fetchers = fetchers
        self._queue = ScoreQueue(per_server)
        self._servers: dict[str, str] = {}
        """Of the downloads that run."""

    def measured(self, rate: float) -> None:
        """The rate of the last while; called at a steady beat."""
        step = -1 if rate > self.limit else 1
        self.allowed = min(max(self.allowed + step, 1), self._fetchers)

    def offer(self, download: Download) -> None:
        """Put a download in line."""
        self._queue.add(download)

    def exchange(self, key: str, download: Download) -> None:
        """Put another in the place of one in line."""
        self._queue.exchange(key, download)

    def withdraw(self, key: str) -> None:
        """A download in line is not wanted any more."""
        self._queue.remove(key)

    def ended(self, key: str) -> None:
        """A download is over."""
        self._queue.ended(self._servers.pop(key))

    def starts(self, _now: float) -> list[Start]:
        """The best that politeness lets start, up to the number allowed."""
        started = []
        while self.limit > 0 and len(self._servers) < self.allowed and self._queue.best(1):
            download = self._queue.start(0)
            self._servers[download.key] = download.server
            started.append(Start(download, Taken(0.0, math.inf), 0))
        return started
