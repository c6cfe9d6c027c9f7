"""The parts of a job in a simulated world: its web, its clock, and no other processes or threads.

Storage and catalog are the real ones, so a folder is needed; everything else is virtual.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from headgate.control.completion_forecast import plan_the_rest
from headgate.control.forecast import Forecast
from headgate.crawling.ports import MeasuredFleet
from headgate.engine.background_fleet import Heard
from headgate.engine.node import NodeJob, NodeParts, open_node
from headgate.engine.parts import Parts
from headgate.features.keep.sealing_child import seal_here
from headgate.fetching.client import FetcherSettings
from headgate.model.budget import Budget
from headgate.model.plan import Plan
from headgate.model.site import Site
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.retention import Freed
from headgate.testing.simulated_web import Answering, Line, SimulatedWeb
from headgate.testing.virtual_time import VirtualClock

__all__ = ["virtual_parts"]

_PLAN_SECONDS = 1.0
_SEAL_SECONDS = 2.0


def virtual_parts(clock: VirtualClock, answering: Answering, line: Line) -> Parts:
    """``line`` records what passes."""

    def open_fetcher(settings: FetcherSettings) -> SimulatedWeb:
        return SimulatedWeb(settings, answering, clock, line)

    @asynccontextmanager
    async def open_fleet(
        job: NodeJob,
        left: Callable[[str], float],  # noqa: ARG001 - there is one node for all of them
        processes: int,  # noqa: ARG001
    ) -> AsyncIterator[MeasuredFleet]:
        async with open_node(job, NodeParts(clock, open_fetcher)) as node:
            yield node

    return Parts(
        clock,
        open_fetcher,
        open_catalog=SqliteCatalog,
        open_fleet=open_fleet,
        open_prober=_Silence,
        make_plan=_plan,
        seal_volume=_seal,
        apply_retention=_retain,
    )


async def _plan(
    sites: Sequence[Site],
    budget: Budget,
    forecasts: Mapping[str, Forecast],
    start: datetime,
    seconds: float,
    quota_used: float,
) -> Plan:
    await asyncio.sleep(_PLAN_SECONDS)
    return plan_the_rest(
        sites, budget, forecasts=forecasts, start=start, seconds=seconds, quota_used=quota_used
    )


async def _seal(run: RunFolder) -> None:
    await asyncio.sleep(_SEAL_SECONDS)
    seal_here(run)


async def _retain(collection: Path, now: float) -> Freed:
    from headgate.storage.retention import apply_retention  # here: it brings 60 MB

    await asyncio.sleep(_SEAL_SECONDS)
    return apply_retention(Collection(collection), now)


class _Silence:
    """A prober that never gets an answer."""

    def __init__(self, heard: Heard) -> None: ...

    def add(self, site: str, url: str) -> None: ...

    def drop(self, site: str) -> None: ...

    async def run(self) -> None:
        await asyncio.get_running_loop().create_future()
