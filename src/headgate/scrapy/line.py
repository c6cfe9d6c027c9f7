"""What all spiders of one event loop share: the fetcher, the manager, and the report at the end.

Opened by the first request, closed when the last spider has closed; then the next begins a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from headgate.control.conducting import Conducting
from headgate.control.manager import Manager
from headgate.control.run_report import RunLog, make_report
from headgate.crawling.clock import SystemClock
from headgate.crawling.progress import Progress
from headgate.fetching.http import HttpFetcher
from headgate.jobs.budget_keeping import is_unlimited
from headgate.jobs.chosen_policy import followed_policy
from headgate.jobs.forecasting import forecast_sites
from headgate.jobs.run_time import time_left
from headgate.model.errors import HeadgateError, UserMistake
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import Bytes
from headgate.planning.budget_over_time import budget_capacity
from headgate.scrapy.naming import SiteNames
from headgate.scrapy.spider_fleet import SpiderFleet
from headgate.scrapy.spider_site import SpiderSite
from headgate.scrapy.terms import Terms
from headgate.views.report_text import report_text

if TYPE_CHECKING:
    from headgate.control.open_sites import Following
    from headgate.scrapy.archive import SpiderArchive
    from headgate.scrapy.seat import Seat

__all__ = ["Line"]

_logger = logging.getLogger("headgate")
_WEEKS = 104
"""How far a timetable is unrolled."""
_CLOSING_SECONDS = 10.0

_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, Line] = WeakKeyDictionary()


class Line:
    """``seats``: the spiders that are on it."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.seats: list[Seat] = []
        self.fetcher = HttpFetcher(terms.fetcher)
        self._clock = SystemClock()
        self._names = SiteNames(terms.sites)
        self._of_file = {site.name: site for site in terms.sites}
        self.fleet = SpiderFleet(self.fetcher, self._clock, self._scheduled)
        self._capacity = (
            None
            if is_unlimited(terms.budget)
            else budget_capacity(terms.budget, self._moment(), _WEEKS)
        )
        manager = Manager.of((), {}, self._capacity, terms.budget.crawlers, self._following())
        self._conducting = Conducting(
            manager, self.fleet, self._clock, self._look, beside=asyncio.to_thread, endless=True
        )
        wall = self._clock.wall()
        stamp = datetime.fromtimestamp(wall, UTC).strftime("%Y%m%d-%H%M%S")
        self._log = RunLog.of(stamp, wall, None, 0.0)
        self._log.zone = terms.budget.timetable_zone
        self._began = self._clock.now()
        self.fleet.set_total(math.inf if self._capacity is None else self._capacity.rate_at(0.0))
        self.archive = self._opened_archive()
        self._running = asyncio.get_running_loop().create_task(self._conducting.run())

    @classmethod
    def joined(cls, seat: Seat) -> Line:
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

    async def leave(self, seat: Seat, reason: str) -> RunReport | None:
        """A spider has closed; of the last one, the report. ``reason``: before it was done."""
        self.seats.remove(seat)
        if self.seats:
            return None
        _lines.pop(asyncio.get_running_loop(), None)
        self.fleet.finish(reason)
        self._conducting.endless = False
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._running, _CLOSING_SECONDS)
        finally:
            await self.fetcher.close()
        self._log.interrupted = bool(reason)
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
        name = self._names.of(url, meta)
        known = self.fleet.sites.get(name)
        if known is not None:
            return known
        return self.fleet.sites.meet(self._of_file.get(name) or Site(name, seeds=(url,)))

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
        if known.name in self._conducting.begun:  # its last end is not observed yet
            asyncio.get_running_loop().call_later(0.05, self._ask_for_task, known)
            return
        site = time_left(known.site, self._elapsed, None)
        came = known.progress.wire_bytes
        foreseen = forecast_sites([site], self.terms.budget, None, None, self._moment())[site.name]
        if came and site.expect is not None:
            left = Bytes(max(site.expect - came, 1.0))
            foreseen = type(foreseen)(left, foreseen.source, foreseen.cap, most=foreseen.most)
        self._conducting.arrive(Task(site, known.progress.visit + 1), foreseen)
        self.fleet.wake()

    def _opened_archive(self) -> SpiderArchive | None:
        if not self.terms.out:
            return None
        from headgate.scrapy.archive import SpiderArchive

        return SpiderArchive(Path(self.terms.out), self._clock, self.terms.fetcher.user_agent)

    def _following(self) -> Following | None:
        if self._capacity is None:
            return None
        if self.terms.planned:
            # The order of pages is the spider's own.
            return followed_policy(replace(self.terms.budget, order=None), self.terms.sites)
        from headgate.scrapy.sharing import sharing_equally

        return sharing_equally()

    def _scheduled(self) -> float:
        return sum(seat.scheduled for seat in self.seats)

    def _look(self, now: float, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
        begun = {name: at - self._began for name, at in self._conducting.begun.items()}
        log = self._log
        log.look(now, reports, begun)
        log.budget_is(now, None if self._capacity is None else self._capacity.rate_at(now))
        held = self.fleet.sites.held(name for name, rate in granted.items() if not rate)
        for seat in self.seats:
            seat.make_room(held)

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall(), UTC)
