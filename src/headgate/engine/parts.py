"""What a job depends on besides the request: clock, fetcher, catalog, fleet, planner.

Only `real_parts` makes those of this machine. `virtual_parts` makes those of a simulated world, in
which the same job runs unchanged.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headgate.control.catalog import Catalog
from headgate.control.forecast import Forecast
from headgate.crawling.ports import MachineClock, MeasuredFleet
from headgate.crawling.second_reader import SecondReader
from headgate.engine.background_fleet import Heard, Prober
from headgate.engine.node import Listening, NodeJob, NodeParts, OpenFetcher
from headgate.engine.tables_beside import TablesBeside
from headgate.model.budget import Budget
from headgate.model.plan import Plan
from headgate.model.site import Site
from headgate.storage.collection import RunFolder

if TYPE_CHECKING:  # it brings numpy, which a crawl may never need
    from headgate.storage.retention import Freed

__all__ = ["MakePlan", "OpenFleet", "Parts"]

OpenFleet = Callable[
    [NodeJob, Callable[[str], float], int],
    AbstractAsyncContextManager[MeasuredFleet],
]
"""Takes the job of its nodes, a function for the bytes left of a site, and a number of
processes."""

MakePlan = Callable[
    [Sequence[Site], Budget, Mapping[str, Forecast], datetime, float, float], Awaitable[Plan]
]
"""`headgate.control.completion_forecast.plan_the_rest`, in another process."""


class Parts(msgspec.Struct, frozen=True):
    """The event loop is one more part: work in threads, or in the process that reads large pages,
    goes through its ``run_in_executor``."""

    clock: MachineClock
    open_fetcher: OpenFetcher
    open_catalog: Callable[[Path], AbstractContextManager[Catalog]]
    open_fleet: OpenFleet
    open_prober: Callable[[Heard], Prober]
    make_plan: MakePlan
    second_reader: Callable[[], SecondReader | None] = lambda: None
    tables_beside: Callable[[RunFolder], TablesBeside] = lambda run: TablesBeside(run, 1)
    """By default for one core, where nothing is done in parallel."""
    listening: Listening = Listening()
    seal_volume: Callable[[RunFolder], Awaitable[None]] | None = None
    """How a keeper seals a volume; None: in another process."""
    apply_retention: Callable[[Path, float], Awaitable[Freed]] | None = None
    """How a keeper removes old versions from a collection, as of a moment; None: likewise."""

    @property
    def node(self) -> NodeParts:
        return NodeParts(self.clock, self.open_fetcher, self.second_reader, self.listening)
