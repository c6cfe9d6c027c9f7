"""What a survey may use of the line: the same allowance as a crawl's, for all servers together.

    timetable, quota, `headgate budget` ──► BudgetKeeping ──ceiling──► MakingWay ──► total rate
    bytes that arrived ──► quota        responses of servers ──► server speeds

Where others use the line too, the total follows its delay twenty times a second, as a crawl's does.
While the quota is used up, nothing is requested.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import islice

from headgate.control.learning import Learning
from headgate.control.making_way import MakingWay
from headgate.crawling.ports import Fetcher
from headgate.crawling.progress import Progress, TaskState
from headgate.grid.yielding_fleet import STEP_SECONDS, Heard, Prober
from headgate.jobs.budget_keeping import BudgetKeeping
from headgate.jobs.run_time import RunTime

__all__ = ["SurveyLine"]

_SITE = "survey"
_PROBED = 8
"""Servers of the list that are probed for the line's delay."""


class SurveyLine:
    """The line of one leg. Invariant: the fetcher's total never exceeds what the budget allows."""

    def __init__(
        self, fetcher: Fetcher, keeping: BudgetKeeping, learning: Learning, time: RunTime
    ) -> None:
        self._fetcher = fetcher
        self._keeping = keeping
        self._learning = learning
        self._time = time
        self._way: MakingWay | None = None
        self._set_total()

    @property
    def held(self) -> bool:
        """Whether nothing may pass at the moment."""
        return self._keeping.rate_at(self._time.leg_now) == 0.0

    def look(self) -> None:
        """Count what arrived, and set the total rate anew."""
        now, wall = self._time.leg_now, self._time.clock.wall()
        came = Progress(_SITE, TaskState.CRAWLING, wire_bytes=self._fetcher.carried())
        self._keeping.look(now, [came])
        self._keeping.save(now)
        self._learning.look(self._fetcher.servers, (), {}, self._time.awake(now), wall)
        self._set_total()

    def finish(self) -> None:
        """At the end of the leg: save the use of the line and what was learned."""
        self.look()
        self._keeping.save_use()
        awake = self._time.awake(self._time.leg_now)
        self._learning.finish(self._fetcher.servers, awake, self._time.clock.wall())

    @contextlib.asynccontextmanager
    async def making_way(
        self, open_prober: Callable[[Heard], Prober], starts: Sequence[str], floor: float | None
    ) -> AsyncIterator[None]:
        """Within the context, the total follows what others leave of the line."""
        self._way = way = MakingWay(asyncio.get_running_loop().time(), floor)
        self._set_total()
        prober = open_prober(way.heard)
        for start in islice(starts, _PROBED):
            prober.add(start, start)
        tasks = [asyncio.ensure_future(prober.run()), asyncio.ensure_future(self._follow(way))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, way: MakingWay) -> None:
        while True:
            await asyncio.sleep(STEP_SECONDS)
            way.step(asyncio.get_running_loop().time(), self._fetcher.carried())
            self._fetcher.meter.set_total(way.rate)

    def _set_total(self) -> None:
        rate = self._keeping.rate_at(self._time.leg_now)
        total = math.inf if rate is None else rate
        if self._way is not None:
            self._way.set_ceiling(total)
            total = self._way.rate
        self._fetcher.meter.set_total(total)
