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

from headgate.control.catalog import Catalog
from headgate.control.forecast import Forecast
from headgate.crawling.ports import MeasuredFleet
from headgate.engine.background_fleet import Heard, Prober
from headgate.engine.node import NodeJob, NodeParts
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


class Parts(NodeParts, frozen=True, kw_only=True):
    """The event loop is one more part: work in threads, or in the process that reads large pages,
    goes through its ``run_in_executor``."""

    open_catalog: Callable[[Path], AbstractContextManager[Catalog]]
    open_fleet: OpenFleet
    open_prober: Callable[[Heard], Prober]
    make_plan: MakePlan
    tables_beside: Callable[[RunFolder], TablesBeside] = lambda run: TablesBeside(run, 1)
    """By default for one core, where nothing is done in parallel."""
    seal_volume: Callable[[RunFolder], Awaitable[None]] | None = None
    """How a keeper seals a volume; None: in another process."""
    apply_retention: Callable[[Path, float], Awaitable[Freed]] | None = None
    """How a keeper removes old versions from a collection, as of a moment; None: likewise."""
