"""What a crawl and a keeper do alike while sites are visited: apply the current budget, learn the
speeds of servers, and yield to others on the line."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

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
    )
    async with parts.open_fleet(node, bytes_left, terms.processes) as fleet:
        if not budget.make_way:
            yield fleet
            return
        yielding = YieldingFleet(fleet, parts.open_prober, floor=budget.make_way_floor)
        async with yielding.at_work(tell_line):
            yield yielding


class Upkeep(msgspec.Struct, frozen=True):
    """One leg, from its first fetch to its last."""

    conducting: Conducting
    keeping: BudgetKeeping
    learning: Learning

    async def conduct(self) -> None:
        """Run to the end of the leg; after a fault the fleet is closed first."""
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
        """Count what arrived, and pass on the budget if it has changed."""
        if self.keeping.look(now, reports) and not self.over:
            self.conducting.set_budget(self.keeping.capacity)

    def learn(
        self, reports: Sequence[Progress], granted: Mapping[str, float], awake: float, wall: float
    ) -> None:
        """``awake``: seconds since the start, without those that the machine was suspended."""
        self.learning.look(self.conducting.fleet.servers(), reports, granted, awake, wall)

    def tell_line(self, rate: float, held_back: bool) -> None:
        if not self.over:
            self.conducting.set_line(rate, held_back=held_back)

    @property
    def over(self) -> bool:
        """Whether the leg has ended, so that nothing can be passed on."""
        done = self.conducting.manager.done and not self.conducting.endless
        return done or bool(self.conducting.interrupted)
