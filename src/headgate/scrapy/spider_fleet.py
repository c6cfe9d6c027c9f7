"""Spiders as a fleet: the manager gives sites their rates, spiders decide what to ask for."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

from headgate.bandwidth.server_tally import ResponseSize, ServerTally
from headgate.crawling.ports import Clock, Fetcher
from headgate.crawling.progress import FetchCounts, Progress
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import Role
from headgate.model.site import Site
from headgate.model.task import Task

__all__ = ["SpiderFleet", "SpiderSite"]

_IDLE_SECONDS = 5.0
"""A site of which nothing was in the downloader for so long has ended, until it comes again."""


class SpiderFleet:
    """Spiders as a fleet: the manager gives sites their rates, and spiders decide what to ask for.

    A site runs from its first request until nothing of it is in the downloader for a while; with
    its next request it comes again, as another task. What the manager gives is a site's part when
    all want theirs: what others leave, any may take, up to its own bound, for a spider that waits
    for its parsing must not let the line stand still.

    The adapter of `headgate.crawling.ports.Fleet` for spiders.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Clock,
        scheduled: Callable[[], float] = lambda: math.inf,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        """``scheduled``: requests in all schedulers; infinity: they do not say."""
        self._idle_seconds = idle_seconds
        self._fetcher = fetcher
        self._clock = clock
        self._scheduled = scheduled
        self.sites = SpiderSites()
        self._running: dict[str, SpiderSite] = {}
        self._ended: list[Progress] = []
        self._news: asyncio.Future[None] | None = None
        self._closing = ""
        """Why no more requests will come."""
        self.finished = False
        """The spiders are; what is begun has ended."""

    def admit(self, known: SpiderSite) -> None:
        """Its requests may wait in line; a part of the line comes with its task."""
        self._fetcher.meter.set_site(known.name, 0.0, _most(known.site))

    def wake(self) -> None:
        """There is something to decide before the time is up."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def finish(self, reason: str = "") -> None:
        """All spiders have closed; ``reason``: before they were done."""
        self.finished, self._closing = True, reason
        for known in list(self._running.values()):
            self._end(known, known.active, reason)
        self.wake()

    def start(self, task: Task) -> None:
        known = self.sites.add(task.site)
        assert task.name not in self._running, f"{task.name} runs already"
        known.begin(self._clock.now(), task.visit)
        self._running[task.name] = known
        self.admit(known)
        if self.finished:
            self._end(known, known.started, self._closing)

    def set_rates(self, rates: Mapping[str, float]) -> None:
        for site, rate in rates.items():
            known = self._running.get(site)
            if known is not None:
                self._fetcher.meter.set_site(site, rate, _most(known.site))

    def set_total(self, rate: float) -> None:
        self._fetcher.meter.set_total(rate)

    def stop(self, site: str, reason: str) -> None:
        """What is under way is given up, and no more is begun."""
        known = self._running.get(site)
        if known is not None:
            known.closed = reason
            for fetching in known.fetching:
                fetching.cancel()
            self._end(known, self._clock.now(), reason)

    def progress(self) -> Sequence[Progress]:
        part = self.sites.part_in_scheduler(self._scheduled())
        return [known.report_progress(self._fetcher, part) for known in self._running.values()]

    def servers(self) -> Mapping[str, ServerTally]:
        return self._fetcher.servers

    async def wait(self, seconds: float) -> Sequence[Progress]:
        self._end_idle()
        if not self._ended and seconds > 0:
            await self._wait_for_news(seconds)
            self._end_idle()
        ended, self._ended = self._ended, []
        return ended

    async def close(self, reason: str) -> None:
        self.finish(reason)

    async def _wait_for_news(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._news = loop.create_future()
        timer = loop.call_later(seconds, self.wake)
        try:
            await self._news
        finally:
            timer.cancel()
            self._news = None

    def _end_idle(self) -> None:
        long_ago = self._clock.now() - self._idle_seconds
        for known in list(self._running.values()):
            if not known.inside and known.active < long_ago:
                self._end(known, known.active, "")

    def _end(self, known: SpiderSite, at: float, reason: str) -> None:
        known.report_progress(self._fetcher, self.sites.part_in_scheduler(self._scheduled()))
        left = known.progress.to_do
        del self._running[known.name]
        self._ended.append(known.end(at, reason if reason == known.closed or left else ""))
        self._fetcher.meter.forget_site(known.name)
        self.wake()


def _most(site: Site) -> float:
    return math.inf if site.max_rate is None else float(site.max_rate)


@dataclass(slots=True)
class SpiderSite:
    """One site, as spiders crawl it: counters for the manager, over all its visits in this process.

    How many requests a site still has is known as far as Scrapy tells of it: those in the
    downloader exactly, those in the scheduler by what went in and came out.

    ``progress`` goes on from visit to visit; ``earlier_wire_bytes`` in it says where the visit
    under way began.
    """

    site: Site
    progress: Progress
    response_size: ResponseSize = field(default_factory=ResponseSize)
    scheduled: int = 0
    """Requests that wait in the scheduler, as far as is known."""
    inside: int = 0
    """Requests in the downloader, those under way included."""
    fetching: set[asyncio.Task[object]] = field(default_factory=set)
    """Those under way."""
    started: float = 0.0
    """When the visit under way was, by the clock."""
    active: float = 0.0
    """When anything of it last happened."""
    wanted: bool = False
    """It has a task, or the manager was asked for one."""
    closed: str = ""
    """Why no more of it may be fetched; empty: it may."""
    delay: float = 0.0
    """Seconds between two requests, by the spider's own settings."""
    _landed: FetchCounts = field(default_factory=FetchCounts)
    _found: Counter[int] = field(default_factory=Counter)
    """Requests by depth, since a response of the depth above was last counted."""

    @classmethod
    def for_site(cls, site: Site) -> SpiderSite:
        return cls(site, Progress(site.name, visit=0))

    @property
    def name(self) -> str:
        return self.site.name

    def found(self, depth: int) -> None:
        """A spider wants one more."""
        self.scheduled += 1
        self.progress.seen += 1
        self.progress.growth.found(depth, 1)
        self._found[depth] += 1

    def begin(self, now: float, visit: int) -> None:
        progress = self.progress
        self.started = now
        self.active = max(self.active, now)
        progress.earlier_wire_bytes = progress.wire_bytes
        progress.visit = visit
        progress.begin(0.0)

    def end(self, now: float, reason: str) -> Progress:
        """``now``: when it did. Empty: it has nothing left to do."""
        self.wanted = False
        progress = self.progress
        progress.end(max(now - self.started, 0.0), reason or "finished", done=not reason)
        return copy(progress)

    def landed(self, outcome: Fetched | FetchFailure, depth: int) -> None:
        progress = self.progress
        progress.fetches += 1
        progress.wire_bytes += outcome.wire_bytes
        progress.growth.settle(depth, self._found.pop(depth + 1, 0))
        if isinstance(outcome, Fetched):
            self._landed.count(Role.PAGE, outcome.status, "", len(outcome.payload), unchanged=False)
            self.response_size.add(outcome.wire_bytes)
            progress.growth.came(depth, outcome.wire_bytes)
            progress.fetch_seconds += outcome.seconds
            progress.first_byte_seconds += outcome.first_byte_seconds
        else:
            self._landed.count(Role.PAGE, 0, outcome.kind, 0, unchanged=False)
        progress.take_over(self._landed)

    def report_progress(self, fetcher: Fetcher, in_scheduler: float) -> Progress:
        """A copy of the counters as of now; ``in_scheduler``: the part of `scheduled` that is
        there, by the scheduler's own word."""
        progress = self.progress
        progress.to_do = self.inside + round(self.scheduled * in_scheduler)
        progress.pausing = not self.fetching
        progress.seconds_per_request = self.delay
        progress.under_way_bytes = fetcher.under_way(self.name)
        announced = fetcher.announced(self.name)
        progress.announced_bytes = announced.wire_bytes
        progress.announced_fetches = announced.responses
        progress.wire_bytes += fetcher.take_cut_off(self.name)
        taken = copy(progress)
        taken.errors = progress.errors.copy()
        return taken


class SpiderSites:
    """All that were ever met, by name."""

    def __init__(self) -> None:
        self._known: dict[str, SpiderSite] = {}

    def __iter__(self) -> Iterator[SpiderSite]:
        return iter(self._known.values())

    def get(self, name: str) -> SpiderSite | None:
        return self._known.get(name)

    def add(self, site: Site) -> SpiderSite:
        """The counters of a site, which may be new."""
        known = self._known.get(site.name)
        if known is None:
            known = self._known[site.name] = SpiderSite.for_site(site)
        return known

    def held(self, names: Iterable[str]) -> int:
        """Requests of these that are in the downloader."""
        return sum(self._known[name].inside for name in names if name in self._known)

    def part_in_scheduler(self, scheduled: float) -> float:
        """Of the requests that were counted, where a scheduler says how many it has: others may
        have dropped some on the way."""
        counted = sum(known.scheduled for known in self)
        return min(scheduled / counted, 1.0) if counted else 0.0
