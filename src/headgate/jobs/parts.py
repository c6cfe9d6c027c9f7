"""What a job is made of besides what the user asked for: the time, the web, and who does the work.

`real_parts` makes the ones of this machine, and nobody else does. A simulated world gives others
(`virtual_parts`), and the same job runs in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from headgate.control.catalog import Catalog
from headgate.control.forecast import Forecast
from headgate.crawling.ports import MachineClock, MeasuredFleet
from headgate.crawling.second_reader import SecondReader
from headgate.grid.yielding_fleet import Heard, Prober
from headgate.jobs.node import Listening, NodeJob, NodeParts, OpenFetcher
from headgate.jobs.tables_beside import TablesBeside
from headgate.model.budget import Budget
from headgate.model.plan import Plan
from headgate.model.site import Site
from headgate.storage.collection import RunFolder
from headgate.storage.retention.freed import Freed

__all__ = ["MakePlan", "OpenFleet", "Parts"]

OpenFleet = Callable[
    [NodeJob, Callable[[str], float], int],
    AbstractAsyncContextManager[MeasuredFleet],
]
"""(what its nodes need to know; how many bytes of a site are still to come; in how many
processes)."""

MakePlan = Callable[
    [Sequence[Site], Budget, Mapping[str, Forecast], datetime, float, float], Awaitable[Plan]
]
"""`headgate.control.planning_ahead.plan_the_rest`, done elsewhere."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The event loop is one more: what is done beside it, in threads or in the process that reads
    large pages, goes through its ``run_in_executor``."""

    clock: MachineClock
    open_fetcher: OpenFetcher
    open_catalog: Callable[[Path], AbstractContextManager[Catalog]]
    open_fleet: OpenFleet
    open_prober: Callable[[Heard], Prober]
    make_plan: MakePlan
    seal_volume: Callable[[RunFolder], Awaitable[None]]
    """`headgate.jobs.keeping.sealing_child.seal_here`, done elsewhere."""
    apply_retention: Callable[[Path, float], Awaitable[Freed]]
    """`headgate.storage.retention.removing.apply_retention` of a collection, as of a moment."""
    second_reader: Callable[[], SecondReader | None] = lambda: None
    tables_beside: Callable[[RunFolder], TablesBeside] = lambda run: TablesBeside(run, 1)
    """On one core there is nobody beside."""
    listening: Listening = field(default=Listening())

    @property
    def node(self) -> NodeParts:
        return NodeParts(self.clock, self.open_fetcher, self.second_reader, self.listening)
