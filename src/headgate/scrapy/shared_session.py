"""What all spiders of one event loop share: the fetcher, the manager, and the report."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import numpy as np
from msgspec.structs import replace

from headgate.control.manager import Manager
from headgate.control.run_report import RunLog, make_report
from headgate.crawling.progress import Progress
from headgate.engine.budget import is_unlimited
from headgate.engine.chosen_policy import followed_policy
from headgate.engine.clock import AwakeClock, SystemClock, time_left
from headgate.engine.forecasts import forecast_sites
from headgate.engine.session import conducting
from headgate.features.survey.wrapping_up import registrable_domain
from headgate.fetching.client import HttpFetcher
from headgate.frontier.scope import Scope
from headgate.model.errors import HeadgateError, UserMistake
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import Bytes
from headgate.reading.urls import normalise
from headgate.report.text import report_text
from headgate.scheduling.arrays import FloatArray
from headgate.scheduling.capacity import budget_capacity
from headgate.scheduling.policies import Policy
from headgate.scheduling.policy_follower import PolicyFollower
from headgate.scheduling.rounds import constant_rates
from headgate.scrapy.settings import HeadgateSettings
from headgate.scrapy.spider_fleet import SpiderFleet, SpiderSite

if TYPE_CHECKING:
    from headgate.control.active_sites import PolicyPort
    from headgate.scrapy.archive import SpiderArchive

__all__ = ["SharedSession"]

_logger = logging.getLogger("headgate")
_WEEKS = 104
"""How far a timetable is unrolled."""
_CLOSING_SECONDS = 10.0

_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, SharedSession] = WeakKeyDictionary()


class Spider(Protocol):
    """One of the spiders that share a session."""

    @property
    def terms(self) -> HeadgateSettings: ...

    @property
    def scheduled(self) -> float: ...

    def make_room(self, held: int) -> None: ...


class SharedSession:
    """What all spiders of one event loop share: the fetcher, the manager, and the report at the
    end.

    Opened by the first request, closed when the last spider has closed; then the next begins a new
    one.

    ``seats``: the spiders that are on it.
    """

    def __init__(self, terms: HeadgateSettings) -> None:
        self.terms = terms
        self.seats: list[Spider] = []
        self.fetcher = HttpFetcher(terms.fetcher, clock=AwakeClock())
        self._clock = SystemClock()
        self._names = SiteNames(terms.sites)
        self._of_file = {site.name: site for site in terms.sites}
        self.fleet = SpiderFleet(self.fetcher, self._clock, self._scheduled)
        self._capacity = (
            None
            if is_unlimited(terms.budget)
            else budget_capacity(terms.budget, self._moment(), _WEEKS)
        )
        manager = Manager.from_sites(
            (), {}, self._capacity, terms.budget.crawlers, self._following()
        )
        self._control_loop = conducting(manager, self.fleet, self._clock, self._look, endless=True)
        wall = self._clock.wall()
        stamp = datetime.fromtimestamp(wall, UTC).strftime("%Y%m%d-%H%M%S")
        self._log = RunLog.start_leg(stamp, wall, None, 0.0, zone=terms.budget.timetable_zone)
        self._began = self._clock.now()
        self.fleet.set_total(math.inf if self._capacity is None else self._capacity.rate_at(0.0))
        self.archive = self._opened_archive()
        self._running = asyncio.get_running_loop().create_task(self._control_loop.run())

    @classmethod
    def joined(cls, seat: Spider) -> SharedSession:
        """The line of this event loop, with one more spider on it."""
        loop = asyncio.get_running_loop()
        line = _lines.get(loop)
        if line is None:
            line = _lines[loop] = cls(seat.terms)
        elif line.terms != seat.terms:
            raise UserMistake(
                "spiders of one process share one line: give all of them the same HEADGATE and"
                " HEADGATE_BANDWIDTH, or run them in processes of their own"
            )
        line.seats.append(seat)
        return line

    @staticmethod
    def anywhere() -> bool:
        """Whether this process has one."""
        return bool(_lines)

    async def leave(self, seat: Spider, reason: str) -> RunReport | None:
        """A spider has closed; of the last one, the report. ``reason``: before it was done."""
        self.seats.remove(seat)
        if self.seats:
            return None
        _lines.pop(asyncio.get_running_loop(), None)
        self.fleet.finish(reason)
        self._control_loop.end_when_done()
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._running, _CLOSING_SECONDS)
        finally:
            await self.fetcher.close()
        self._log.end(self._log.seconds, interrupted=bool(reason))
        report, page = self.report(), ""
        if self.archive is not None:
            try:
                page = str(await self.archive.finish(report))
            except HeadgateError as fault:
                _logger.error("%s; the archive is as far as it came", fault)  # noqa: TRY400
        _logger.info("%s", report_text(report, page, linked=False))
        return report

    def site(self, url: str, meta: Mapping[str, object]) -> SpiderSite:
        """That a request belongs to."""
        name = self._names.site_of(url, meta)
        known = self.fleet.sites.get(name)
        if known is not None:
            return known
        return self.fleet.sites.add(self._of_file.get(name) or Site(name, seeds=(url,)))

    def want(self, known: SpiderSite) -> None:
        """Something of the site is asked for: it needs a task, if it has none."""
        known.active = self._clock.now()
        if not known.wanted and not known.closed and not self.fleet.finished:
            known.wanted = True
            self.fleet.admit(known)
            self._ask_for_task(known)

    def report(self) -> RunReport:
        """Of the sites that were asked for anything."""
        sites = [known.site for known in self.fleet.sites]
        return make_report(sites, len(sites), None, self._log)

    @property
    def _elapsed(self) -> float:
        return self._clock.now() - self._began

    def _ask_for_task(self, known: SpiderSite) -> None:
        if known.name in self._control_loop.begun:  # its last end is not observed yet
            asyncio.get_running_loop().call_later(0.05, self._ask_for_task, known)
            return
        site = time_left(known.site, self._elapsed, None)
        came = known.progress.wire_bytes
        foreseen = forecast_sites([site], self.terms.budget, None, None, self._moment())[site.name]
        if came and site.expect is not None:
            left = Bytes(max(site.expect - came, 1.0))
            foreseen = type(foreseen)(left, foreseen.source, foreseen.cap, most=foreseen.most)
        self._control_loop.arrive(Task(site, known.progress.visit + 1), foreseen)
        self.fleet.wake()

    def _opened_archive(self) -> SpiderArchive | None:
        if not self.terms.out:
            return None
        from headgate.scrapy.archive import SpiderArchive

        return SpiderArchive(Path(self.terms.out), self._clock, self.terms.fetcher.user_agent)

    def _following(self) -> PolicyPort | None:
        if self._capacity is None:
            return None
        if self.terms.planned:
            # The order of pages is the spider's own.
            return followed_policy(replace(self.terms.budget, order=None), self.terms.sites)

        return sharing_equally()

    def _scheduled(self) -> float:
        return sum(seat.scheduled for seat in self.seats)

    def _look(self, now: float, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
        begun = {name: at - self._began for name, at in self._control_loop.begun.items()}
        log = self._log
        log.observe(now, reports, begun)
        log.budget_is(now, None if self._capacity is None else self._capacity.rate_at(now))
        held = self.fleet.sites.held(name for name, rate in granted.items() if not rate)
        for seat in self.seats:
            seat.make_room(held)

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall(), UTC)


META_KEY = "headgate_site"
_REMEMBERED, _LONGEST_REMEMBERED = 4096, 500


class SiteNames:
    """Which site a request belongs to: as it says itself, as the site file says, or by its domain.

    By the sites of a file, of which there may be none.
    """

    def __init__(self, sites: Sequence[Site]) -> None:
        self._scopes = [(site.name, Scope.for_site(site)) for site in sites]
        self._registered = registrable_domain()
        self._of_url: Callable[[str], str] = lru_cache(_REMEMBERED)(self._find)

    def site_of(self, url: str, meta: Mapping[str, Any]) -> str:
        """``meta`` is the request's.

        >>> names = SiteNames([Site("docs", seeds=("https://docs.example.org/",))])
        >>> names.site_of("https://docs.example.org/a", {})
        'docs'
        >>> names.site_of("https://www.example.org/", {})
        'example.org'
        >>> names.site_of("https://docs.example.org/a", {"headgate_site": "mine"})
        'mine'
        """
        named = meta.get(META_KEY)
        if named:
            return str(named)
        return self._find(url) if len(url) > _LONGEST_REMEMBERED else self._of_url(url)

    def _find(self, url: str) -> str:
        normal = [normalise(url) or url]
        for name, scope in self._scopes:
            if scope.inside(scope.candidates(normal)):
                return name
        return self._registered(urlsplit(url).hostname or "")


# Equal shares: what sites of a spider get where no site file says anything of them.
#
# Max-min fair: who cannot take an equal part leaves the rest of it to the others.


def equal_shares(work: FloatArray, _: FloatArray, budget: float, caps: FloatArray) -> FloatArray:
    """
    >>> equal_shares(np.ones(3), np.ones(3), 90.0, np.array([np.inf, 10.0, np.inf]))
    array([40., 10., 40.])
    """
    rates, left = np.zeros(len(work)), budget
    by_cap = np.argsort(caps, kind="stable")
    for place, site in enumerate(by_cap):
        rates[site] = min(float(caps[site]), left / (len(work) - place))
        left -= rates[site]
    return rates


def sharing_equally() -> PolicyFollower:
    """As the manager follows it."""
    policy = Policy("equal shares", lambda problem, _: constant_rates(problem, equal_shares))
    return PolicyFollower(policy, np.random.default_rng(0))
