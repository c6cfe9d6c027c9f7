"""A fleet that makes way: its total follows what others leave of the line.

It is between control and the fleet and passes on everything but the total: control's total becomes
the ceiling, and `bandwidth.make_way` sets the actual one, from round trips to the servers of
running sites.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol

from headgate.bandwidth.make_way import MakingWay
from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.ports import MeasuredFleet
from headgate.crawling.progress import Progress
from headgate.model.task import Task

__all__ = ["Heard", "Prober", "YieldingFleet"]

STEP_SECONDS = 0.05

Heard = Callable[[str, float, float], None]
"""(address, round trip in seconds, time of the answer by the event loop)."""
Tell = Callable[[float, bool], None]
"""(what the line has for us, whether it has even less at the moment)."""


class Prober(Protocol):
    """Reports round trips to servers to a `Heard`."""

    def add(self, site: str, url: str) -> None:
        """Probe the server of this URL from now on; idempotent."""
        ...

    def drop(self, site: str) -> None: ...

    async def run(self) -> None:
        """Probe until cancelled."""
        ...


class YieldingFleet:
    """A `headgate.crawling.ports.Fleet`; `at_work` runs its loop."""

    def __init__(
        self,
        fleet: MeasuredFleet,
        open_prober: Callable[[Heard], Prober],
        *,
        floor: float | None = None,
    ) -> None:
        self._time = asyncio.get_running_loop().time
        self.way = MakingWay(self._time(), floor)
        self._fleet = fleet
        self._prober = open_prober(self.way.heard)

    @contextlib.asynccontextmanager
    async def at_work(self, tell: Tell) -> AsyncIterator[None]:
        """Within this context the total follows the line."""
        tasks = [asyncio.ensure_future(self._prober.run()), asyncio.ensure_future(self._run(tell))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def start(self, task: Task) -> None:
        self._prober.add(task.name, task.site.seeds[0])
        self._fleet.start(task)

    def set_rates(self, rates: Mapping[str, float]) -> None:
        self._fleet.set_rates(rates)

    def set_total(self, rate: float) -> None:
        self.way.set_ceiling(rate)
        self._fleet.set_total(self.way.rate)

    def stop(self, site: str, reason: str) -> None:
        self._fleet.stop(site, reason)

    def servers(self) -> Mapping[str, ServerTally]:
        return self._fleet.servers()

    def progress(self) -> Sequence[Progress]:
        return self._fleet.progress()

    async def wait(self, seconds: float) -> Sequence[Progress]:
        ended = await self._fleet.wait(seconds)
        for progress in ended:
            self._prober.drop(progress.site)
        return ended

    async def close(self, reason: str) -> None:
        await self._fleet.close(reason)

    async def _run(self, tell: Tell) -> None:
        while True:
            await asyncio.sleep(STEP_SECONDS)
            news = self.way.step(self._time(), self._fleet.carried())
            self._fleet.set_total(self.way.rate)
            if news is not None:
                tell(*news)
