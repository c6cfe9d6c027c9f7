"""Makes the parts of a job on this machine; no other place does."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from headgate.crawling.ports import MeasuredFleet
from headgate.crawling.second_reader import SecondReader
from headgate.engine.clock import AwakeClock, SystemClock
from headgate.engine.node import NodeCallbacks, NodeJob, open_node
from headgate.engine.parts import Parts
from headgate.engine.planning_child import plan_in_child
from headgate.engine.tables_beside import TablesBeside
from headgate.fetching.client import HttpFetcher
from headgate.fetching.round_trips import SiteProbe
from headgate.storage.catalog.sqlite import SqliteCatalog

__all__ = ["real_parts"]


def real_parts(callbacks: NodeCallbacks | None = None) -> Parts:
    """``callbacks``: callbacks of the user, for a node in this process."""
    callbacks = callbacks or NodeCallbacks()
    return Parts(
        clock=SystemClock(),
        open_fetcher=partial(HttpFetcher, clock=AwakeClock()),
        open_catalog=SqliteCatalog,
        open_fleet=partial(_open_fleet, callbacks),
        open_prober=partial(SiteProbe, clock=AwakeClock()),
        make_plan=plan_in_child,
        second_reader=SecondReader,
        tables_beside=TablesBeside,
        callbacks=callbacks,
    )


@asynccontextmanager
async def _open_fleet(
    callbacks: NodeCallbacks, job: NodeJob, left: Callable[[str], float], processes: int
) -> AsyncIterator[MeasuredFleet]:
    gc.freeze()  # what is known of ten thousand sites stays: the collector need not traverse it
    if processes > 1:
        from headgate.engine.process_messages import spawning
        from headgate.engine.processes import open_processes

        async with open_processes(
            spawning(job), left, processes, SystemClock(), may_move=job.may_move
        ) as fleet:
            yield fleet
    else:
        async with open_node(job, real_parts(callbacks)) as node:
            yield node
