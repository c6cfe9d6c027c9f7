"""The rival of admission: as many downloads at once as the last measurement allows.

Above the limit one fetcher is stopped, below it one more is started: the method that Diligenti et
al. 2004 compare with. A stopped fetcher finishes its document; aborting would waste what was
received. The rate responds late, by a round trip and by the length of documents, so the number
overshoots both ways and the rate oscillates.
"""

from __future__ import annotations

import math

from headgate.traffic.admission import Start, Taken
from headgate.traffic.score_queue import Download, ScoreQueue

__all__ = ["OnOff"]


class OnOff:
    """``allowed`` fetchers may run; those beyond stop at the end of their document."""

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

    def starts(self, _now: float) -> list[Start]:
        """The best downloads that politeness allows, up to the number of fetchers."""
        started = []
        while self.limit > 0 and len(self._servers) < self.allowed and self._queue.best(1):
            download = self._queue.start(0)
            self._servers[download.key] = download.server
            started.append(Start(download, Taken(0.0, math.inf), 0))
        return started
