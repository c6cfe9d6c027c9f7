"""What nodes are told of their tasks, read from the catalog shortly before it is needed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import structs

from headgate.crawling.ports import Clock
from headgate.features.grid.protocol import Grant, Known, Lease, decoded
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import BoardStore, BoardTask, LeaseRow
from headgate.features.grid.scheduler.task_choice import OpenLease
from headgate.model.task import Task
from headgate.model.units import Seconds
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Owner
from headgate.storage.part_seed_file import handout_path
from headgate.storage.safe_files import reading

__all__ = ["GivenTasks", "PendingTaskLoader", "TaskSpec"]

_AT_LEAST_SECONDS = 1e-3
"""Least time left: a past deadline becomes one that passes now."""
_LEAST_BOUND_BYTES = 1e9
_BEYOND_EXPECTED = 10.0
_FEW = 64


class TaskSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A task as stored in the catalog and sent to a node."""

    task: Task
    contact: str = ""
    site_bytes: float = 0.0
    """Expected of the whole site, if the task is a part; 0: unknown."""

    @property
    def owner(self) -> Owner:
        """Of the files of its result."""
        return Owner(*self.task.whose)


@dataclass(slots=True)
class GivenTasks:
    """The data that nodes get for their tasks: what to do, until when, what is known."""

    board: Board
    store: BoardStore
    run: RunFolder
    """The run of the results."""
    collection: Collection
    """Has the memories of the sites."""
    clock: Clock
    _specs: dict[int, TaskSpec] = field(default_factory=dict)
    _most_specs: int = _FEW

    async def lease(self, node: str, lease: Lease) -> LeaseRow | None:
        """The lease, if it was given to this node."""
        held = self.board.leases.get(lease)
        row = held.row if held is not None else await asyncio.to_thread(self.store.lease, lease)
        return row if row is not None and row.node == node else None

    async def spec(self, task: int) -> TaskSpec:
        spec = self._specs.get(task)
        if spec is None:
            spec = self.know(task, await asyncio.to_thread(self.store.spec, task))
        return spec

    def know(self, task: int, data: bytes) -> TaskSpec:
        """The spec of a task that was given out, as the catalog has it."""
        spec = self._specs[task] = decoded(data, TaskSpec)
        self._forget_done()
        return spec

    def _forget_done(self) -> None:
        """Drop specs of tasks that are done: one may name thousands of pages, and a keeper runs for
        months."""
        if len(self._specs) > self._most_specs:
            held = {task: spec for task, spec in self._specs.items() if self.board.tasks.get(task)}
            self._specs, self._most_specs = held, max(2 * len(held), _FEW)

    async def grant(self, held: OpenLease) -> Grant:
        task = held.task
        spec = await self.spec(task.id)
        owner = spec.owner
        return Grant(
            lease=held.row.lease,
            seconds=max(held.until - self.clock.now(), 0.0),
            task=self._with_time_left(spec.task, task),
            stamp=self.run.stamp,
            contact=spec.contact,
            expected_bytes=task.expected_bytes,
            most_bytes=self.most_bytes(task.id, spec),
            known_bytes=_size(self.collection.memory(owner.site)),
            handed_bytes=_size(handout_path(self.run, owner.site, owner.visit)),
        )

    def most_bytes(self, number: int, spec: TaskSpec) -> float:
        """Size limit of a task's result. One part may have almost all of its site."""
        task = self.board.tasks.get(number)
        if task is None or not task.expected_bytes:
            return 2.0**60
        expected = max(task.expected_bytes, spec.site_bytes)
        return max(_BEYOND_EXPECTED * expected, _LEAST_BOUND_BYTES)

    async def memory(self, known: Known) -> bytes:
        """A piece of the memory of the task's site, or of the URLs that a part starts with."""
        owner = (await self.spec(known.lease.task)).owner
        path = self.collection.memory(owner.site)
        if known.handed:
            path = handout_path(self.run, owner.site, owner.visit)
        return await asyncio.to_thread(_piece, path, known.offset, known.most)

    def _with_time_left(self, task: Task, row: BoardTask) -> Task:
        """The site's deadline counts from now."""
        if row.due is None:
            return task
        left = Seconds(max(row.due - self.clock.wall(), _AT_LEAST_SECONDS))
        return structs.replace(task, site=structs.replace(task.site, deadline=left))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _piece(path: Path, offset: int, most: int) -> bytes:
    with reading(path):
        try:
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(most)
        except FileNotFoundError:
            return b""


@dataclass(slots=True)
class PendingTaskLoader:
    """Reads tasks from the catalog shortly before they are needed."""

    board: Board
    store: BoardStore
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def load_next(self) -> None:
        """Put the next tasks on the board, once for all callers that wait."""
        async with self._reading:
            far = self.board.tasks.far
            if not far.wanted:
                return
            tasks = await asyncio.to_thread(self.store.tasks_of, far.next_ones())
            far.read()
            for task in tasks:
                self.board.add(task)
