"""Spiders as a fleet: the manager gives sites their rates, and spiders decide what to ask for.

A site runs from its first request until nothing of it is in the downloader for a while; with its
next request it comes again, as another task. What the manager gives is a site's part when all want
theirs: what others leave, any may take, up to its own bound, for a spider that waits for its
parsing must not let the line stand still.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence

from headgate.crawling.ports import Clock, Fetcher
from headgate.crawling.progress import Progress
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.scrapy.spider_site import SpiderSite, SpiderSites
from headgate.traffic.server_tally import ServerTally

__all__ = ["SpiderFleet"]

_IDLE_SECONDS = 5.0
"""A site of which nothing was in the downloader for so long has ended, until it comes again."""


class SpiderFleet:
    """The adapter of `headgate.crawling.ports.Fleet` for spiders."""

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
        known = self.sites.meet(task.site)
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
        return [known.look(self._fetcher, part) for known in self._running.values()]

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
        known.look(self._fetcher, self.sites.part_in_scheduler(self._scheduled()))
        left = known.progress.to_do
        del self._running[known.name]
        self._ended.append(known.end(at, reason if reason == known.closed or left else ""))
        self._fetcher.meter.forget_site(known.name)
        self.wake()


def _most(site: Site) -> float:
    return math.inf if site.max_rate is None else float(site.max_rate)
