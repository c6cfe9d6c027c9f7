"""The running visits of a keeper: planned by the planner, recorded when they end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from headgate.control.forecast import Forecast, Source
from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.engine.session import Session
from headgate.features.keep.link_exchange import LinkExchange
from headgate.features.keep.notices import ChangeNotices
from headgate.features.keep.recrawl.scheduler import Why
from headgate.features.keep.recrawl.site_order import VisitOf
from headgate.features.keep.status_log import KeeperStatus
from headgate.features.keep.visit import PlannedVisit, VisitEnd
from headgate.features.keep.visit_planner import VisitPlanner
from headgate.features.keep.volumes import KeepVolumes
from headgate.model.task import KeptVisit, Task
from headgate.model.units import Seconds
from headgate.storage.journals.journal import Owner

__all__ = ["KeepVisits", "VisitPace", "is_full", "visit_seconds"]

_FIRST_SECONDS = 600.0
"""Most seconds of a first visit, by its bytes."""
_FIRST_BYTES = 20e6
"""Bytes of the first visit without a rate limit."""
_FIRST_RANGE = (1e4, 1e9)
_LEAST_NEW_BYTES = 200e3


@dataclass(slots=True)
class _Underway:
    planned: PlannedVisit
    volume: str
    progress: Progress | None = field(default=None)

    @property
    def pace(self) -> VisitPace | None:
        """None: nothing is known of the site."""
        if self.planned.asks is None:
            return None
        expected, known = self.planned.expected_bytes, self.progress
        moved = 0 if known is None else known.wire_bytes + known.under_way_bytes
        return VisitPace(expected - moved, expected / max(self.planned.expected_seconds, 0.1))


@dataclass(slots=True)
class KeepVisits:
    planner: VisitPlanner
    volumes: KeepVolumes
    state: KeeperStatus
    notices: ChangeNotices
    links: LinkExchange
    clock: Clock
    _visits: dict[str, _Underway] = field(default_factory=dict)
    _ended: list[Progress] = field(default_factory=list)
    _learning: asyncio.Future[VisitEnd] | None = None
    """Of the first of these."""

    def __len__(self) -> int:
        return len(self._visits)

    def __contains__(self, site: str) -> bool:
        return site in self._visits

    @property
    def shown(self) -> Mapping[str, tuple[PlannedVisit, Progress | None]]:
        return {site: (one.planned, one.progress) for site, one in self._visits.items()}

    async def begin(self, leg: Session, crawlers: int) -> None:
        """Begin as many visits as there are free crawlers, unless the line is full."""
        rate = leg.budget_keeper.rate_at(leg.control_loop.now)
        if rate is not None and rate <= 0:
            return
        board = self.planner.board
        while len(self._visits) < crawlers and not leg.control_loop.interrupted:
            wall = self.clock.wall()
            task = board.next_task(wall)
            if task is None or (task.why is Why.INDEX and self._fill(rate, crawlers)):
                return
            longest = visit_seconds(self.planner.sites[task.site].keeping.min_interval)
            until = min(max(board.next_promise(wall) - wall, 0.0), longest)
            most = math.inf if rate is None else rate * max(until, 1.0)
            planned = await asyncio.to_thread(self.planner.plan, task, wall, most)
            if planned is None:
                board.pause(task.site, wall + 1.0)
                continue
            self._begin(leg, planned, rate)

    def heard(self, reports: Sequence[Progress]) -> bool:
        """Take in the progress of visits; True if one has ended and waits for `settle`."""
        for report in reports:
            if report.ended is not None:
                self._ended.append(report)
            elif report.site in self._visits:
                self._visits[report.site].progress = report
        return bool(self._ended)

    async def settle(self) -> int:
        """Record visits that have ended; return their number."""
        settled = 0
        while self._ended:
            progress = self._ended[0]
            under_way = self._visits.get(progress.site)
            if under_way is None:
                self._ended.pop(0)
                continue
            planned, volume = under_way.planned, under_way.volume
            end = await self._learned(planned, volume, progress)
            self._ended.pop(0)
            del self._visits[progress.site]
            self.planner.record(end)
            self.volumes.leave(volume)
            self.state.visited(end)
            self.notices.collect(Owner(progress.site, planned.visit))
            await asyncio.to_thread(self._pass_links_on)
            settled += 1
        return settled

    async def _learned(self, planned: PlannedVisit, volume: str, progress: Progress) -> VisitEnd:
        """Who is cancelled meanwhile leaves it to the next who settles."""
        if self._learning is None:
            self._learning = asyncio.ensure_future(
                asyncio.to_thread(self.planner.learn, planned, volume, progress, self.clock.wall())
            )
        end = await asyncio.shield(self._learning)
        self._learning = None
        return end

    def give_back(self) -> None:
        """Return visits that never began to the board."""
        for site, never_begun in self._visits.items():
            self.planner.board.end(site, self.clock.wall(), VisitOf.PART)
            self.volumes.leave(never_begun.volume)
        self._visits.clear()

    def forget(self) -> None:
        """After a fault of this machine: visits end with what they stored."""
        self._visits.clear()
        self._ended.clear()
        self._learning = None

    def _fill(self, rate: float | None, crawlers: int) -> bool:
        """Whether the line is full; a visit to an unknown site counts with a crawler's share."""
        unknown = VisitPace(math.inf, (rate or 0.0) / crawlers)
        return is_full(rate, [one.pace or unknown for one in self._visits.values()])

    def _begin(self, leg: Session, planned: PlannedVisit, rate: float | None) -> None:
        volume = self.volumes.enter()
        leg.budget_keeper.run = volume
        first = _FIRST_BYTES if rate is None else max(rate * _FIRST_SECONDS, _LEAST_NEW_BYTES)
        new = first if planned.asks is None else max(planned.expected_bytes, _LEAST_NEW_BYTES)
        deadline = None
        if planned.why is Why.PROMISE and planned.due is not None:
            deadline = Seconds(max(planned.due - planned.began, 1.0))
        site = structs.replace(planned.site, deadline=deadline)
        kept = KeptVisit(volume.stamp, new, planned.believe)
        self.planner.board.begin(site.name, planned.began)
        self._visits[site.name] = _Underway(planned, volume.stamp)
        leg.control_loop.arrive(Task(site, planned.visit, planned.asks, kept), _forecast(planned))

    def _pass_links_on(self) -> None:
        def may_take(site: str) -> bool:
            return site not in self._visits and self.planner.board.outlook(site) is not None

        wall = self.clock.wall()
        for site in self.links.pass_on(may_take, wall):
            self.planner.refresh(site, wall)


def _forecast(planned: PlannedVisit) -> Forecast:
    if planned.asks is None:
        return Forecast(8e6, Source.HISTORY, bytes_range=_FIRST_RANGE)
    cap = planned.expected_bytes / max(planned.expected_seconds, 0.1)
    expected = max(planned.expected_bytes, 1.0)
    return Forecast(expected, Source.HISTORY, cap, bytes_range=(expected / 3, expected * 3))


_LEAD_SECONDS = 3.0
_SHORTEST_VISIT, _LONGEST_VISIT = 5.0, 600.0


@dataclass(frozen=True, slots=True)
class VisitPace:
    """Whether the running visits fill the line; if so, the next one is chosen later.

    A running visit has its share of the line, however little it is worth. So if the budget is
    scarce, few visits run at once, in the order of their value; if servers are slow, as many as it
    takes to fill the line. A visit that is nearly over does not count, as the next one takes a
    moment to start.

    The pace of a running visit.
    """

    left: float
    """Bytes left."""
    pace: float
    """Bytes per second, by earlier visits to the site."""


def is_full(rate: float | None, visits: Iterable[VisitPace]) -> bool:
    """``rate`` is the budget's; None: unlimited.

    >>> is_full(1000.0, [VisitPace(50_000, 700), VisitPace(50_000, 400)])
    True
    >>> is_full(1000.0, [VisitPace(2_000, 700), VisitPace(50_000, 400)])
    False
    """
    if rate is None:
        return False
    return sum(visit.pace for visit in visits if visit.left > _LEAD_SECONDS * rate) >= rate


def visit_seconds(min_interval: float) -> float:
    """Most seconds of a visit, by its bytes; the rest is left to another visit. Short if pages may
    be fetched again soon, as then other pages are soon worth more."""
    return min(max(min_interval, _SHORTEST_VISIT), _LONGEST_VISIT)
