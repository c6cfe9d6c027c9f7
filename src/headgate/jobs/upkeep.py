"""What is kept true while sites are visited, by a crawl or a keeper: the budget of the moment,
what is learned of servers, and stepping back where others need the line."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.control.conducting import Conducting
from headgate.control.learning import Learning
from headgate.control.making_way import MakingWay
from headgate.crawling.ports import Fleet
from headgate.crawling.progress import Progress
from headgate.fetching.http import FetcherSettings
from headgate.grid.yielding_fleet import YieldingFleet
from headgate.jobs.budget_keeping import BudgetKeeping
from headgate.jobs.node import NodeJob
from headgate.jobs.parts import Parts
from headgate.model.budget import Budget

if TYPE_CHECKING:  # few crawls have one queue
    from headgate.crawling.common_queue import KnownSpeed

__all__ = ["FleetTerms", "Upkeep", "open_working_fleet"]


@dataclass(frozen=True, slots=True)
class FleetTerms:
    """What a fleet is for."""

    collection: Path
    stamp: str
    """The run's; empty: tasks name theirs."""
    fetcher: FetcherSettings
    many_sites: bool = False
    processes: int = 1
    borrowing: bool = True
    """Whether a site may take a little more than its rate where others leave some of theirs."""
    one_queue: bool = False
    """Whether the budget's order over all sites is kept to."""
    servers: tuple[KnownSpeed, ...] = ()
    """What earlier runs learned of hosts."""
    remembering: bool = True
    """Whether sites are remembered as they end."""


@contextlib.asynccontextmanager
async def open_working_fleet(
    parts: Parts,
    terms: FleetTerms,
    budget: Budget,
    bytes_left: Callable[[str], float],
    tell_line: Callable[[float, bool], None],
) -> AsyncIterator[Fleet]:
    """Those who crawl, made to step back for others where that is wanted; then ``tell_line`` hears
    what the line has for us, and whether it has less still at the moment."""
    node = NodeJob(
        terms.collection,
        terms.stamp,
        dataclasses.replace(terms.fetcher, smooth=budget.make_way),
        (("software", terms.fetcher.user_agent),),
        many_sites=terms.many_sites,
        borrowing=terms.borrowing,
        order=budget.order if terms.one_queue else None,
        calendar=budget.calendar,
        servers=terms.servers,
        remembering=terms.remembering,
    )
    async with parts.open_fleet(node, bytes_left, terms.processes) as fleet:
        if not budget.make_way:
            yield fleet
            return
        yielding = YieldingFleet(fleet, parts.open_prober, floor=budget.make_way_floor)
        async with yielding.at_work(tell_line):
            yield yielding


@dataclass(frozen=True, slots=True)
class Upkeep:
    """From the first fetch of a leg to its last."""

    conducting: Conducting
    keeping: BudgetKeeping
    learning: Learning

    async def conduct(self) -> None:
        """To the end of the leg; where that is a fault, those who crawl are stopped first."""
        try:
            await self.conducting.run()
        except BaseException:
            with contextlib.suppress(Exception):  # the first fault is the one to tell
                await self.conducting.fleet.close("a fault")
            raise

    @property
    def way(self) -> MakingWay | None:
        fleet = self.conducting.fleet
        return fleet.way if isinstance(fleet, YieldingFleet) else None

    @property
    def making_way(self) -> bool:
        return self.way is not None and self.way.making_way

    def keep_budget(self, now: float, reports: Sequence[Progress]) -> None:
        """Count what came; where the budget is another one now, everybody is told."""
        if self.keeping.look(now, reports) and not self.over:
            self.conducting.set_budget(self.keeping.capacity)

    def learn(
        self, reports: Sequence[Progress], granted: Mapping[str, float], awake: float, wall: float
    ) -> None:
        """``awake``: seconds since the start, less those that the machine slept."""
        self.learning.look(self.conducting.fleet.servers(), reports, granted, awake, wall)

    def tell_line(self, rate: float, held_back: bool) -> None:
        if not self.over:
            self.conducting.set_line(rate, held_back=held_back)

    @property
    def over(self) -> bool:
        """Nobody is left who could be told anything."""
        done = self.conducting.manager.done and not self.conducting.endless
        return done or bool(self.conducting.interrupted)
