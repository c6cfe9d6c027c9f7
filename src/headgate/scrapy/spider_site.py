"""One site, as spiders crawl it: counters for the manager, over all its visits in this process.

How many requests a site still has is known as far as Scrapy tells of it: those in the downloader
exactly, those in the scheduler by what went in and came out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field

from headgate.crawling.ports import Fetcher
from headgate.crawling.progress import Landed, Progress, TaskState
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import Role
from headgate.model.site import Site
from headgate.traffic.response_size import ResponseSize

__all__ = ["SpiderSite", "SpiderSites"]


@dataclass(slots=True)
class SpiderSite:
    """``progress`` goes on from visit to visit; ``earlier_wire_bytes`` in it says where the visit
    under way began."""

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
    _landed: Landed = field(default_factory=Landed)
    _found: Counter[int] = field(default_factory=Counter)
    """Requests by depth, since a response of the depth above was last counted."""

    @classmethod
    def of(cls, site: Site) -> SpiderSite:
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
        progress.started, progress.ended = 0.0, None
        progress.state, progress.reason = TaskState.CRAWLING, ""

    def end(self, now: float, reason: str) -> Progress:
        """``now``: when it did. Empty: it has nothing left to do."""
        self.wanted = False
        progress = self.progress
        progress.ended = max(now - self.started, 0.0)
        progress.state = TaskState.STOPPED if reason else TaskState.DONE
        progress.reason = reason or "finished"
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
        progress.keep(self._landed)

    def look(self, fetcher: Fetcher, in_scheduler: float) -> Progress:
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

    def meet(self, site: Site) -> SpiderSite:
        """The counters of a site, which may be new."""
        known = self._known.get(site.name)
        if known is None:
            known = self._known[site.name] = SpiderSite.of(site)
        return known

    def held(self, names: Iterable[str]) -> int:
        """Requests of these that are in the downloader."""
        return sum(self._known[name].inside for name in names if name in self._known)

    def part_in_scheduler(self, scheduled: float) -> float:
        """Of the requests that were counted, where a scheduler says how many it has: others may
        have dropped some on the way."""
        counted = sum(known.scheduled for known in self)
        return min(scheduled / counted, 1.0) if counted else 0.0
