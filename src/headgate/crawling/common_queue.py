"""One queue over all sites of a node: the best page of all goes next while there is room on the
line. `headgate.bandwidth.admission_control` decides; this performs its decisions.

Every site has one place in the queue, with the best page that its frontier could fetch now. When
its turn comes, the frontier says which page is best by then, so a page found meanwhile is not late,
and politeness remains with the frontier. robots.txt does not go through the queue.

If shares are enforced, a site is limited to the sum of the shares of its fetches in progress, and
all sites to the total; otherwise nothing is limited, as in the paper.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headgate.bandwidth.admission_control import WAYS, Download, FetcherManager, StartDownload
from headgate.bandwidth.server_speed import Measure, ServerSpeed, ServerSpeeds
from headgate.crawling.ports import Clock, Rates
from headgate.frontier.events import Ready
from headgate.frontier.priority_queue import LEVELS, score_of
from headgate.frontier.scope import host_of
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.score_order import QueueTally, ScoreOrder
from headgate.model.timetable import Calendar

__all__ = ["CommonQueue", "KnownSpeed", "QueuePlace"]

KnownSpeed = tuple[str, str, ServerSpeed]
"""(host, address, speed of the server by earlier runs)."""

_BEAT_SECONDS = 1.0
"""Interval at which the rate is measured and waiting pages are checked."""
_PER_SERVER = 1
"""Concurrent fetches from one address: how several would share a server's speed is not known
beforehand, and there are other servers."""


class _Meter(Protocol):
    @property
    def meter(self) -> Rates: ...

    def carried(self) -> int: ...


Begin = Callable[[], str | None]
"""Called when a site's turn has come: it starts its best fetch and returns the URL, if any."""


@dataclass(slots=True)
class QueuePlace:
    """A site's place in the queue; ``waiting`` is its best page."""

    site: str
    begin: Begin
    most: float
    """The site's ``max_rate``, bytes per second."""
    _queue: CommonQueue
    tally: QueueTally = field(default_factory=QueueTally)
    waiting: Download | None = None
    under_way: dict[str, StartDownload] = field(default_factory=dict)
    """By URL."""

    def ready(self, best: Ready | None) -> None:
        """Set the best page that the site could fetch now, if any."""
        self._queue.line_up(self, best)

    def over(self, url: str, outcome: Fetched | FetchFailure | None = None) -> None:
        """A fetch has ended; idempotent."""
        start = self.under_way.pop(url, None)
        if start is not None:
            self._queue.landed(self, start, outcome)

    def leave(self) -> None:
        """The site has ended."""
        self.ready(None)
        for url in list(self.under_way):
            self.over(url)


class CommonQueue:
    """The queue of one node, within one event loop."""

    def __init__(
        self,
        order: ScoreOrder,
        calendar: Calendar,
        known: Sequence[KnownSpeed],
        fetcher: _Meter,
        clock: Clock,
    ) -> None:
        way = WAYS[order.admission]
        speeds = {address: speed for _, address, speed in known}
        self._manager = FetcherManager(
            way,
            0.0,
            ServerSpeeds(rule=way.estimator, find=speeds.get),
            look_ahead=order.look_ahead,
            per_server=_PER_SERVER,
        )
        self._calendar = calendar
        self._fetcher = fetcher
        self._clock = clock
        self._places: dict[str, QueuePlace] = {}
        """By the key of their waiting page."""
        self._addresses = {host: address for host, address, _ in known}
        """Last known address of each host."""
        self._number = 0
        self._looking = False
        self._carried = fetcher.carried()
        self._timer = asyncio.get_running_loop().call_later(_BEAT_SECONDS, self._beat)

    def place(self, site: str, begin: Begin, most: float) -> QueuePlace:
        self._fetcher.meter.set_site(site, most)
        return QueuePlace(site, begin, most, self)

    def set_total(self, rate: float) -> None:
        self._manager.limit = rate
        self._fetcher.meter.set_total(rate if self._manager.way.enforced else math.inf)
        self._look_soon()

    def line_up(self, place: QueuePlace, best: Ready | None) -> None:
        """Replace the best page of a site; one of the same score keeps its place."""
        before = place.waiting
        if best is None:
            if before is not None:
                place.waiting = None
                del self._places[before.key]
                self._manager.withdraw(before.key)
            return
        host = host_of(best.url)
        server, score = self._addresses.get(host, host), _score(best.level)
        if before is not None and (before.server, before.score) == (server, score):
            return
        self._number += 1
        place.waiting = download = Download(str(self._number), server, score)
        if before is None:
            self._manager.offer(download)
        else:
            del self._places[before.key]
            self._manager.exchange(before.key, download)
        self._places[download.key] = place
        self._look_soon()

    def landed(
        self, place: QueuePlace, start: StartDownload, outcome: Fetched | FetchFailure | None
    ) -> None:
        key = start.download.key
        if isinstance(outcome, Fetched):
            self._addresses[host_of(outcome.url)] = outcome.address or start.download.server
            measure = Measure(outcome.wire_bytes, outcome.seconds, 1, outcome.first_byte_seconds)
            self._manager.came(key, measure, self._calendar.moment(self._clock.wall()))
        else:
            self._manager.ended(key)
        self._hold(place)
        self._look_soon()

    def close(self) -> None:
        self._timer.cancel()

    def _look_soon(self) -> None:
        """Once per iteration of the event loop."""
        if not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._looking = False
        moment = self._calendar.moment(self._clock.wall())
        for start in self._manager.starts(self._clock.now(), moment):
            place = self._places.pop(start.download.key)
            place.waiting = None
            url = place.begin()
            if url is None:
                self._manager.ended(start.download.key)
                continue
            place.under_way[url] = start
            self._hold(place)
            passed, tally = start.passed_over, place.tally
            place.tally = QueueTally(
                tally.begun + 1, tally.out_of_order + (passed > 0), tally.places + passed
            )

    def _hold(self, place: QueuePlace) -> None:
        """Limit a site to the shares of its fetches in progress; without any, robots.txt may be
        fetched all the same."""
        if self._manager.way.enforced:
            shares = math.fsum(start.taken.share for start in place.under_way.values())
            self._fetcher.meter.set_site(place.site, min(shares or math.inf, place.most))

    def _beat(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_BEAT_SECONDS, self._beat)
        carried = self._fetcher.carried()
        self._manager.measured((carried - self._carried) / _BEAT_SECONDS)
        self._carried = carried
        self._look()


def _score(level: int) -> float:
    """Pages that an earlier run fetched come after all new ones."""
    return score_of(level) - level // LEVELS
