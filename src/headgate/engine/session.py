"""One leg of a run: a fleet under the current budget, what is learned, and what is saved."""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from headgate.bandwidth.make_way import MakingWay
from headgate.control.catalog import Catalog
from headgate.control.control_loop import ControlLoop
from headgate.control.learning import Learning
from headgate.control.run_report import ReportMaking
from headgate.crawling.background_tasks import Pieces, at_one_go, metered
from headgate.crawling.ports import Fleet
from headgate.crawling.progress import Progress
from headgate.engine.background_fleet import YieldingFleet
from headgate.engine.budget import BudgetKeeping
from headgate.engine.node import NodeJob, TaskKinds
from headgate.engine.parts import Parts
from headgate.fetching.client import FetcherSettings
from headgate.model.budget import Budget
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.memory.remembering import mend_memories
from headgate.storage.run_state import SAVE_SECONDS, RunState, encoded_report

if TYPE_CHECKING:
    from headgate.crawling.common_queue import KnownSpeed

__all__ = ["FleetTerms", "ReportSaving", "Session", "mend_crawl_memories", "open_working_fleet"]


class FleetTerms(msgspec.Struct, frozen=True):
    """What a fleet needs to know of its run."""

    collection: Path
    stamp: str
    """Of the run; empty: tasks name theirs."""
    fetcher: FetcherSettings
    many_sites: bool = False
    processes: int = 1
    borrowing: bool = True
    """Whether a site may use a little more than its rate where others use less."""
    one_queue: bool = False
    """Whether the budget's order over all sites applies."""
    servers: tuple[KnownSpeed, ...] = ()
    """Speeds of servers from earlier runs."""
    remembering: bool = True
    """Whether a site's memory is written as the site ends."""
    kinds: TaskKinds = TaskKinds()


@contextlib.asynccontextmanager
async def open_working_fleet(
    parts: Parts,
    terms: FleetTerms,
    budget: Budget,
    bytes_left: Callable[[str], float],
    tell_line: Callable[[float, bool], None],
) -> AsyncIterator[Fleet]:
    """A fleet that yields to others on the line if the budget says so. Then ``tell_line`` is called
    with the rate that the line has for us, and whether we are held below it at the moment."""
    node = NodeJob(
        terms.collection,
        terms.stamp,
        structs.replace(terms.fetcher, smooth=budget.make_way),
        (("software", terms.fetcher.user_agent),),
        many_sites=terms.many_sites,
        borrowing=terms.borrowing,
        order=budget.order if terms.one_queue else None,
        calendar=budget.calendar,
        servers=terms.servers,
        remembering=terms.remembering,
        kinds=terms.kinds,
    )
    async with parts.open_fleet(node, bytes_left, terms.processes) as fleet:
        if not budget.make_way:
            yield fleet
            return
        yielding = YieldingFleet(fleet, parts.open_prober, floor=budget.make_way_floor)
        async with yielding.at_work(tell_line):
            yield yielding


class Session(msgspec.Struct, frozen=True):
    """What a crawl and a keeper do alike while sites are visited: apply the current budget, learn
    the speeds of servers, and yield to others on the line.

    One leg, from its first fetch to its last.
    """

    control_loop: ControlLoop
    keeping: BudgetKeeping
    learning: Learning

    async def conduct(self) -> None:
        """Run to the end of the leg; after a fault the fleet is closed first."""
        try:
            await self.control_loop.run()
        except BaseException:
            with contextlib.suppress(Exception):  # the first fault is the one to tell
                await self.control_loop.fleet.close("a fault")
            raise

    @property
    def way(self) -> MakingWay | None:
        fleet = self.control_loop.fleet
        return fleet.way if isinstance(fleet, YieldingFleet) else None

    @property
    def making_way(self) -> bool:
        return self.way is not None and self.way.making_way

    def keep_budget(self, now: float, reports: Sequence[Progress]) -> None:
        """Count what arrived, and pass on the budget if it has changed."""
        if self.keeping.look(now, reports) and not self.over:
            self.control_loop.set_budget(self.keeping.capacity)

    def learn(
        self, reports: Sequence[Progress], granted: Mapping[str, float], awake: float, wall: float
    ) -> None:
        """``awake``: seconds since the start, without those that the machine was suspended."""
        self.learning.look(self.control_loop.fleet.servers(), reports, granted, awake, wall)

    def tell_line(self, rate: float, held_back: bool) -> None:
        if not self.over:
            self.control_loop.set_line(rate, held_back=held_back)

    @property
    def over(self) -> bool:
        """Whether the leg has ended, so that nothing can be passed on."""
        done = self.control_loop.manager.done and not self.control_loop.endless
        return done or bool(self.control_loop.interrupted)


def mend_crawl_memories(
    collection: Collection, run: RunFolder, catalog: Catalog, sites: Sequence[Site]
) -> list[str]:
    """Repairs the memories of sites before a crawl relies on them.

    What was repaired, a sentence each. Without a catalog, any site may have been visited.
    """
    known = any(known.stamp != run.stamp for known in catalog.runs())
    others = len(collection.runs()) > 1

    def visited(site: str) -> bool:
        visits = catalog.history(site, limit=2)
        return any(visit.run != run.stamp for visit in visits) if known else others

    return mend_memories(collection, [site.name for site in sites], visited)


_SAVE_REPORT_SECONDS = 10.0
_MOST_SAVING = 0.01
"""Share of the time that may go into making reports to save."""


class ReportSaving(msgspec.Struct):
    """Decides when a running crawl saves its elapsed time and its report so far.

    The time is saved every two seconds. The report is saved when a site begins or ends, and from
    time to time while bytes arrive, but so rarely that making it takes at most 1 % of the time: for
    ten thousand sites it takes a tenth of a second, for a hundred thousand one second. Nodes wait
    for a manager meanwhile, so it makes its report in pieces.

    The saving of one leg.
    """

    state: RunState
    make_report: Callable[[], ReportMaking]
    cpu: Callable[[], float]
    """CPU seconds that this process has used."""
    _saved: float = -math.inf
    _report_saved: float = -math.inf
    _report_cost: float = 0.0
    _told: tuple[int, int] = (0, 0)
    """Starts and ends of sites in the report saved last, and bytes that had arrived."""

    def look(self, now: float, events: int, came: int) -> None:
        """Save what is due. ``events`` counts starts and ends of sites, ``came`` bytes."""
        at_one_go(self.looking(now, events, came))

    def looking(self, now: float, events: int, came: int) -> Pieces[None]:
        """The same in pieces, between which nothing may change that the report is made of."""
        if now - self._saved < SAVE_SECONDS:
            return
        self._saved = now
        self.state.save(now)
        wait = _SAVE_REPORT_SECONDS if events == self._told[0] else 0.0
        rested = now - self._report_saved >= max(wait, self._report_cost / _MOST_SAVING)
        if rested and self._told != (events, came):
            self._told = events, came
            report = yield from self._report(now)
            self.state.save(now, report)

    def begin(self, now: float) -> None:
        """Before the first byte. This report is the first that costs time."""
        self.state.save(now, at_one_go(self._report(now)))

    async def end(self, now: float) -> None:
        """The leg is over; saved when this returns. Made in one go: this report is the one that
        counts, and nothing may come between."""
        await self.state.end(now, at_one_go(self._encoded(under_way=False)))

    def _report(self, now: float) -> Pieces[bytearray]:
        self._report_saved, self._report_cost = now, 0.0
        return (yield from metered(self._encoded(under_way=True), self.cpu, self._spend))

    def _encoded(self, *, under_way: bool) -> Pieces[bytearray]:
        making = self.make_report()

        def rest() -> RunReport:
            return msgspec.structs.replace(making.rest(), under_way=under_way)

        return encoded_report(making.some_sites(), rest)

    def _spend(self, seconds: float) -> None:
        self._report_cost += seconds
