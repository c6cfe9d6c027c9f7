"""A grid in one process as a fleet: a desk, and a node that asks it, for the suite of `Fleet`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from bench.cut_line import CutLine
from msgspec import structs

from headgate.engine.clock import SystemClock
from headgate.engine.node import NodeJob
from headgate.engine.real_parts import real_parts
from headgate.engine.watcher import Watcher
from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.coordinator.fleet import GridFleet
from headgate.features.grid.coordinator.requests import DeskTerms, RequestDesk
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.coordinator.upload_files import UploadFiles
from headgate.features.grid.node.owner_limits import GuestRules
from headgate.features.grid.node.worker import Worker, WorkerJob, work
from headgate.features.grid.protocol import encoded
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import BoardTerms, NewTask
from headgate.features.grid.trust.journal_check import CheckedHere
from headgate.features.keep.volumes import KEPT, prepare_staging
from headgate.model.budget import Budget
from headgate.model.grid import NodeStatus
from headgate.model.task import KeptVisit, Task
from headgate.model.units import UNLIMITED
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.journals.journal import Owner

__all__ = ["grid_in_one_process"]

_LEASE_SECONDS = 1.5


class _Nobody(Watcher[Worker, NodeStatus]):
    def on_messages(self, words: Sequence[str]) -> None: ...


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
        desk = RequestDesk(
            Board(BoardTerms(_LEASE_SECONDS)), SqlBoard(catalog.database),
            UploadFiles(prepare_staging(folder)), SystemClock(),
            DeskTerms(reference=reference, more_to_come=lambda: True), collection=folder,
            judge=CheckedHere(),
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
