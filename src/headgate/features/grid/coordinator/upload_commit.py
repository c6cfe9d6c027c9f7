"""Makes received results part of the run, all that wait together.

Their files are durable already. Renaming is cheap, but syncing folders is not; a group does so
once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from headgate.features.grid.coordinator.board_store import BoardSaver
from headgate.features.grid.coordinator.upload_files import UploadFiles
from headgate.features.grid.protocol import Lease, Manifest, decoded
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.node_registry import NodeRegistry
from headgate.features.grid.scheduler.records import Audit, BoardStore, BoardTask, LeaseRow, NewTask
from headgate.features.grid.trust.audit import (
    AuditFinding,
    Look,
    audit_share,
    compared,
    disbelieved,
)
from headgate.model.page import Role
from headgate.storage.journals.journal import Owner, read_pages

__all__ = ["Received", "UploadCommit"]

_EXAMPLES = 10
"""Number of pages named if the results of two nodes differ."""


@dataclass(frozen=True, slots=True)
class Received:
    row: LeaseRow
    manifest: Manifest
    owner: Owner
    audit_of: int | None = None
    """The task whose result it is compared with."""


def _nobody(_: Received) -> None: ...


@dataclass(slots=True)
class UploadCommit:
    board: Board
    store: BoardStore
    arrivals: UploadFiles
    registry: NodeRegistry
    saving: BoardSaver
    tell: Callable[[Received], None] = _nobody
    """Called for each result that is stored."""
    audit: float | None = None
    """The fraction of tasks that a second node, of another group, repeats; of volunteers' results
    it may be more. None: nothing is, as a visit that is repeated finds another site."""
    unfinished: set[int] = field(default_factory=set)
    """Tasks whose result is not completely stored."""
    _remarks: list[str] = field(default_factory=list)
    _waiting: list[Received] = field(default_factory=list)
    _under_way: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """All received results are stored and reported."""
        return self._under_way is None or self._under_way.done()

    def take_remarks(self) -> list[str]:
        """For the user, each once."""
        remarks, self._remarks = self._remarks, []
        return remarks

    def begin(self, result: Received) -> asyncio.Task[None]:
        """Returns a task that ends when it is stored, or cannot be."""
        self._waiting.append(result)
        self.unfinished.add(result.row.lease.task)
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.get_running_loop().create_task(self._commit_all())
        return self._under_way

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting, []
                await self._commit(group)
        except Exception as fault:
            self.saving.fault = fault

    async def _commit(self, group: Sequence[Received]) -> None:
        audits = await asyncio.to_thread(self._move_in, group)
        self.board.changes.audits += audits
        again: list[NewTask] = []
        for result in group:
            task = self.board.tasks.get(result.row.lease.task)
            assert task is not None
            again += self._audit_of(task, result)
            progress = result.manifest.progress
            self.board.commit(result.row, progress.pages, progress.wire_bytes)
            self.registry.done(result.row.node, progress)
        await self.saving.stored()
        self.unfinished -= {result.row.lease.task for result in group}
        for result in group:
            self.arrivals.drop_task(result.row.lease.task)
        for task in await asyncio.to_thread(self.store.add_tasks, again) if again else ():
            self.board.add(task)
        for result in group:
            self.tell(result)

    def _move_in(self, group: Sequence[Received]) -> list[Audit]:
        audits: list[Audit] = []
        for result in group:
            if result.audit_of is not None:
                audits.append(self._compared(result.audit_of, result))
            else:
                self.arrivals.move_in(result.manifest.lease, result.manifest.files)
        self.arrivals.sync()
        return audits

    def _audit_of(self, task: BoardTask, result: Received) -> list[NewTask]:
        """A second task to compare with, chosen at random by the task's number, so that a restart
        decides the same."""
        if self.audit is None or task.audit_of is not None:
            return []
        chance = crc32(f"{self.arrivals.run.stamp} {task.id}".encode()) / 2**32
        node = self.registry.rows.get(result.row.node)
        group = "" if node is None else node.group
        share = audit_share(self.audit, group, self.registry.stored[result.row.node])
        if chance >= share:
            return []
        return [
            NewTask(
                run=self.arrivals.run.stamp, site=task.site, host=task.host,
                spec=self.store.spec(task.id), visit=result.owner.visit,
                value=-1.0, expected_bytes=task.expected_bytes,
                expected_seconds=task.expected_seconds, nodes_at_once=task.nodes_at_once,
                audit_of=task.id, not_group=group,
            )
        ]  # fmt: skip

    def _compared(self, first: int, result: Received) -> Audit:
        """Compare an audit's result; it is kept only in place of one that is not believed."""
        place = self.arrivals.run.place(result.owner.site, visit=result.owner.visit)
        lease, files = result.manifest.lease, result.manifest.files
        second = self.arrivals.parts(lease, files)[place.journal.name]
        found = compared(_looks(place.journal), _looks(second))
        winner = self.store.winner(first)
        before = None if winner is None else self.store.lease(Lease(first, winner))
        audit = Audit(
            task=first, site=result.owner.site, first="" if before is None else before.node,
            second=result.row.node, pages=found.pages, differing=len(found.differing),
            examples=tuple((found.contradictions or found.differing)[:_EXAMPLES]),
        )  # fmt: skip
        if found.is_contradictory:
            self._disbelieve(audit, found, result)
        self.arrivals.drop(lease)
        return audit

    def _disbelieve(self, audit: Audit, found: AuditFinding, result: Received) -> None:
        """Two nodes contradict each other: who is not believed is named, and gets no more."""
        groups = {name: row.group for name, row in self.registry.rows.items()}
        liar = disbelieved(audit.first, audit.second, groups)
        what = f"{audit.site}: {len(found.contradictions):,} pages are told otherwise by"
        if not liar:
            self._remarks.append(f"{what} {audit.first} and {audit.second}; one of them is wrong")
            return
        other = audit.second if liar == audit.first else audit.first
        words = f"{what} {liar} than by {other}: {liar} is no longer believed"
        if liar == audit.first and not result.owner.visit:
            self._put_in_place(audit.task, result)
            words += f", and the pages of {other} take their place"
        self._remarks.append(words)
        self.store.revoke(liar)

    def _put_in_place(self, first: int, result: Received) -> None:
        told = self.store.manifest(first)
        assert told is not None
        lease, files = result.manifest.lease, result.manifest.files
        names = {file.name for file in files}
        self.arrivals.take_away(
            file for file in decoded(told, Manifest).files if file.name not in names
        )
        self.arrivals.move_in(lease, files)


def _looks(journal: Path) -> dict[str, Look]:
    return {
        row.url: Look(
            row.status,
            row.digest,
            size=row.payload_bytes,
            title=row.title,
            etag=row.etag,
            last_modified=row.last_modified,
        )
        for rows in read_pages(journal)
        for row in rows
        if row.role == Role.PAGE
    }
