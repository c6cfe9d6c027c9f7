"""A grid in one process as a fleet: a desk, and a node that asks it, for the suite of `Fleet`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from bench.cut_line import CutLine
from msgspec import structs

from headgate.control.board import Board
from headgate.control.board_rows import BoardTerms, NewTask
from headgate.crawling.clock import SystemClock
from headgate.crawling.task_messages import encoded
from headgate.grid.desk import Desk, DeskTerms
from headgate.grid.given_tasks import TaskSpec
from headgate.grid.grid_fleet import GridFleet
from headgate.jobs.lending.guest_rules import GuestRules
from headgate.jobs.lending.worker import Worker, WorkerJob, work
from headgate.jobs.node import NodeJob
from headgate.jobs.real_parts import real_parts
from headgate.model.budget import Budget
from headgate.model.node_status import NodeStatus
from headgate.model.task import KeptVisit, Task
from headgate.model.units import UNLIMITED
from headgate.storage.arriving import Deliveries
from headgate.storage.catalog.sql_board import SqlBoard
from headgate.storage.catalog.sqlite_catalog import SqliteCatalog
from headgate.storage.journals.journal import Owner
from headgate.storage.staged_visits import KEPT, prepare_staging

__all__ = ["grid_in_one_process"]

_LEASE_SECONDS = 1.5


class _Nobody:
    def told(self, words: Sequence[str]) -> None: ...

    def state(self, status: NodeStatus) -> None: ...

    def attach(self, worker: Worker) -> None: ...


def _new_task(task: Task) -> NewTask:
    kept = structs.replace(task, kept=KeptVisit("", 1e9))
    return NewTask(
        run=KEPT, site=task.name, host="small", visit=task.visit, spec=encoded(TaskSpec(task=kept))
    )


async def _take_in(owner: Owner, task: Task | None) -> None: ...


@contextlib.asynccontextmanager
async def grid_in_one_process(job: NodeJob, reference: str = "") -> AsyncIterator[GridFleet]:
    folder = job.collection
    with SqliteCatalog(folder / "catalog.sqlite") as catalog:
        catalog.begin_run(KEPT, 1.0, "{}")
        desk = Desk(
            Board(BoardTerms(_LEASE_SECONDS)), SqlBoard(catalog.database),
            Deliveries(prepare_staging(folder)), SystemClock(),
            DeskTerms(reference=reference, more_to_come=lambda: True), collection=folder,
        )  # fmt: skip
        fleet = GridFleet(desk, _new_task, _take_in)
        desk.committing.tell = fleet.stored
        await desk.open()
        lent = WorkerJob(
            "anna", folder / "anna", Budget(UNLIMITED, 2), GuestRules(), allow_private=True
        )
        node = asyncio.create_task(work(lent, real_parts(), CutLine(desk, "anna"), _Nobody()))
        try:
            with fleet.at_work():
                yield fleet
                await fleet.close("interrupted")
        finally:
            node.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await node
