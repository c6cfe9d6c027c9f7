"""The fleet that makes way, over a fleet made for the test."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from functools import partial

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.progress import Progress
from headgate.engine.background_fleet import YieldingFleet
from headgate.engine.clock import AwakeClock
from headgate.fetching.round_trips import SiteProbe
from headgate.model.site import Site
from headgate.model.task import Task


class StillFleet:
    """Notes the totals it is given."""

    def __init__(self) -> None:
        self.totals: list[float] = []
        self.started: list[str] = []
        self.rates: dict[str, float] = {}

    def start(self, task: Task) -> None:
        self.started.append(task.name)

    def set_rates(self, rates: Mapping[str, float]) -> None:
        self.rates.update(rates)

    def set_total(self, rate: float) -> None:
        self.totals.append(rate)

    def carried(self) -> int:
        return 0

    def stop(self, site: str, reason: str) -> None: ...

    def progress(self) -> Sequence[Progress]:
        return []

    def servers(self) -> Mapping[str, ServerTally]:
        return {}

    async def wait(self, seconds: float) -> Sequence[Progress]:
        await asyncio.sleep(seconds)
        return []

    async def close(self, reason: str) -> None: ...


def test_the_budget_is_the_ceiling_and_the_plan_hears_of_the_line() -> None:
    fleet = StillFleet()
    told: list[tuple[float, bool]] = []

    async def crawl() -> None:
        way = YieldingFleet(fleet, partial(SiteProbe, clock=AwakeClock()))
        way.set_total(math.inf)
        async with way.at_work(lambda rate, held_back: told.append((rate, held_back))):
            way.start(Task(Site("docs", ("http://127.0.0.1:1/",))))
            way.set_rates({"docs": math.inf})
            async with asyncio.timeout(60):
                while not (fleet.totals and told):
                    await way.wait(0.05)
                way.set_total(5_000.0)
                while fleet.totals[-1] != 5_000.0:
                    await way.wait(0.05)

    asyncio.run(crawl())
    assert fleet.started == ["docs"]
    assert fleet.rates == {"docs": math.inf}
    assert math.isfinite(fleet.totals[0])
    assert fleet.totals[-1] == 5_000.0
    assert told
    assert all(rate > 0 for rate, _ in told)
