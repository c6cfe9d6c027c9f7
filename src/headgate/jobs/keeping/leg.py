"""The legs of a keeper: each has one budget, one set of hosts, a manager and a fleet, and lasts
until it is interrupted or this machine fails."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.control.catalog import Catalog
from headgate.control.conducting import Conducting
from headgate.control.learning import Learning
from headgate.control.manager import Manager
from headgate.crawling.progress import Progress
from headgate.jobs.budget_keeping import BudgetKeeping
from headgate.jobs.fetcher_settings import fetcher_settings
from headgate.jobs.keeping.job import KeepJob
from headgate.jobs.parts import Parts
from headgate.jobs.run_time import RunTime
from headgate.jobs.upkeep import FleetTerms, Upkeep, open_working_fleet
from headgate.storage.collection import Collection, RunFolder

__all__ = ["KeepLegs"]

_MOST_OF_CREW = 10_000
"""Slots of the manager with a crew, which bounds the number of visits itself."""


@dataclass(slots=True)
class KeepLegs:
    parts: Parts
    collection: Collection
    catalog: Catalog
    tell: Callable[[Sequence[str]], None]
    heard: Callable[[Sequence[Progress]], None]
    """Called with the progress of visits."""
    now: Upkeep | None = None
    """The current leg."""
    _time: RunTime = field(init=False)

    def __post_init__(self) -> None:
        self._time = RunTime(self.parts.clock, 0.0)

    def interrupt(self, reason: str) -> None:
        """Visits end with what they have."""
        if self.now is not None:
            self.now.conducting.interrupt(reason)

    async def run(
        self, job: KeepJob, volume: RunFolder | None, tend: Callable[[Upkeep], Awaitable[None]]
    ) -> None:
        """Run one leg; ``tend`` runs beside it, and its faults end the leg."""
        budget, clock = job.budget, self.parts.clock
        learning = Learning.of(self.catalog, budget.calendar, job.sites)
        run = volume or RunFolder(self.collection.path, "")
        keeping = BudgetKeeping(budget, run, self.catalog, clock, self.tell)
        slots = budget.crawlers if job.crew is None else _MOST_OF_CREW
        manager = Manager.of((), {}, keeping.capacity, slots)
        settings = fetcher_settings(job.sites, job.contact)
        terms = FleetTerms(self.collection.path, "", settings, many_sites=True)
        async with open_working_fleet(
            self.parts, terms, budget, manager.sites.bytes_left, self._tell_line
        ) as fleet:
            conducting = Conducting(
                manager, fleet, clock, self._look, beside=asyncio.to_thread, endless=True
            )
            leg = self.now = Upkeep(conducting, keeping, learning)
            tending = asyncio.ensure_future(tend(leg))
            try:
                await leg.conduct()
            finally:
                tending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await tending
                self.now = None
                keeping.save_use()
            learning.finish(fleet.servers(), self._time.awake(conducting.now), clock.wall())

    def _look(self, now: float, reports: Sequence[Progress], granted: Mapping[str, float]) -> None:
        leg = self.now
        if leg is None:
            return
        leg.keep_budget(now, reports)
        leg.keeping.save(now)
        leg.learn(reports, granted, self._time.awake(now), self.parts.clock.wall())
        self.heard(reports)

    def _tell_line(self, rate: float, held_back: bool) -> None:
        if self.now is not None:
            self.now.tell_line(rate, held_back)
