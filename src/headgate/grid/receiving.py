"""Receives results; nothing is confirmed to the node before it is stored.

A crash at any point costs only time:

    chunks ─► part files ─► sha256 right, journal readable, durable ─► `received`, stored: it counts
      ─► files renamed into the run ─► `done`, stored ─► the node may delete its own
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import msgspec

from headgate.control.board import Board
from headgate.control.board_rows import BoardState, BoardStore, LeaseRow
from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress, TaskState
from headgate.crawling.task_messages import (
    Chunk,
    Lease,
    Manifest,
    Put,
    Verdict,
    Word,
    decoded,
    encoded,
)
from headgate.crawling.task_source import Refused
from headgate.grid.board_saving import BoardSaving
from headgate.grid.committing import Committing, Received
from headgate.grid.given_tasks import GivenTasks
from headgate.model.task import Task
from headgate.storage.arriving import Deliveries, are_files_of
from headgate.storage.journals.journal import Owner

__all__ = ["Receiving"]

_COMMIT_PATIENCE_SECONDS = 2.0
"""How long an answer waits for the result to be stored; then the node asks again."""
_CHECKED_AT_ONCE = 2

_Checked = TypeVar("_Checked")


@dataclass(slots=True)
class Receiving:
    board: Board
    store: BoardStore
    arrivals: Deliveries
    clock: Clock
    given: GivenTasks
    saving: BoardSaving
    committing: Committing
    free_bytes: Callable[[], int]
    """Disk space that results may still take."""
    _checked: set[Lease] = field(default_factory=set)
    """Leases whose result is being checked."""
    _checking: ThreadPoolExecutor = field(
        default_factory=partial(ThreadPoolExecutor, _CHECKED_AT_ONCE, "checking")
    )

    async def take_up(self) -> None:
        """Finish what an earlier manager received and did not store completely."""
        self.arrivals.tidy(lambda lease: self.board.tasks.get(lease.task) is not None)
        for task in self.board.tasks.in_state(BoardState.RECEIVED):
            assert task.winner is not None
            await self._take_up(task.id, Lease(task.id, task.winner))

    async def put(self, node: str, put: Put) -> Verdict:
        lease = put.lease
        self.board.movement.brings(node, self.clock.now())
        if await self.given.lease(node, lease) is None:
            return Verdict(word=Word.NEVER_YOURS)
        settled = await self._settled(lease)
        if settled is not None:
            return settled
        owner, size = (await self.given.spec(lease.task)).owner, sum(f.size for f in put.files)
        if not are_files_of(owner, (file.name for file in put.files)):
            raise Refused(f"these are not the files of a visit to {owner.site}")
        if size > self.given.most_bytes(lease.task):
            raise Refused(f"{size:,} bytes of {owner.site} are far more than was expected")
        if size > self.free_bytes():
            return Verdict(word=Word.WAIT, wait=self.board.terms.lease_seconds)
        self.arrivals.expect(lease, put.files)
        return Verdict(word=Word.SEND)

    async def chunk(self, node: str, chunk: Chunk, data: bytes) -> bool:
        self.board.movement.brings(node, self.clock.now())
        if await self.given.lease(node, chunk.lease) is None:
            return False
        return self.arrivals.write(chunk, data)

    async def done(self, node: str, manifest: Manifest) -> Verdict:
        lease = manifest.lease
        self.board.movement.brings(node, self.clock.now())
        row = await self.given.lease(node, lease)
        if row is None:
            return Verdict(word=Word.NEVER_YOURS)
        _check((await self.given.spec(lease.task)).task, manifest.progress)
        settled = await self._settled(lease)
        if settled is not None:
            return settled
        if lease in self._checked:
            return Verdict(word=Word.RECEIVED)
        self._checked.add(lease)
        try:
            return await self._check(row, manifest)
        finally:
            self._checked.discard(lease)

    async def _check(self, row: LeaseRow, manifest: Manifest) -> Verdict:
        """Whether the result is complete, which may take a while; nothing is written meanwhile."""
        lease = manifest.lease
        announced = self.arrivals.expected(lease)
        if [file.name for file in announced] != [file.name for file in manifest.files]:
            return Verdict(word=Word.RESEND, files=tuple(range(len(manifest.files))))
        self.arrivals.close(lease)
        owner = (await self.given.spec(lease.task)).owner
        wrong = await self._aside(self._take, manifest, owner)
        if wrong:
            self.arrivals.reopen(lease, announced)
            return Verdict(word=Word.RESEND, files=wrong)
        return await self._receive(row, manifest, owner)

    def _take(self, manifest: Manifest, owner: Owner) -> tuple[int, ...]:
        """Numbers of files that are wrong; none: all are stored."""
        arrivals, lease, files = self.arrivals, manifest.lease, manifest.files
        wrong = arrivals.wrong(lease, files)
        if not wrong:
            if not arrivals.is_journal_of(lease, files, owner):
                arrivals.drop(lease)
                raise Refused(f"the journal of {owner.site} is none that Headgate wrote")
            arrivals.keep(lease, files)
        return wrong

    async def _receive(self, row: LeaseRow, manifest: Manifest, owner: Owner) -> Verdict:
        if self.board.receive(row, encoded(manifest), self.clock.wall()):
            await self.saving.stored()
            stored = self._begin_storing(row, manifest, owner)
            await asyncio.wait([stored], timeout=_COMMIT_PATIENCE_SECONDS)
            return Verdict(word=self._stored_word(manifest.lease.task))
        settled = await self._settled(manifest.lease)
        if settled is not None and settled.word is Word.SUPERSEDED:
            self.arrivals.drop(manifest.lease, len(manifest.files))
        return settled or Verdict(word=Word.RECEIVED)

    def _stored_word(self, task: int) -> Word:
        """The answer for the result that counts."""
        return Word.RECEIVED if task in self.committing.unfinished else Word.COMMITTED

    def _begin_storing(self, row: LeaseRow, manifest: Manifest, owner: Owner) -> asyncio.Task[None]:
        task = self.board.tasks.get(row.lease.task)
        assert task is not None
        return self.committing.begin(Received(row, manifest, owner, task.audit_of))

    async def _take_up(self, task: int, lease: Lease) -> None:
        """Files may have their final names already, or may have been lost by a power cut."""
        data, row = self.store.manifest(task), self.store.lease(lease)
        assert data is not None
        assert row is not None
        owner = (await self.given.spec(task)).owner
        manifest = _readable(data)
        if manifest is None or await self._is_wrong(manifest):
            self.board.spoil(row)
            await self.saving.stored()
        else:
            await self._begin_storing(row, manifest, owner)

    async def _is_wrong(self, manifest: Manifest) -> bool:
        return bool(await self._aside(self.arrivals.wrong, manifest.lease, manifest.files))

    def close(self) -> None:
        self._checking.shutdown(wait=False, cancel_futures=True)

    async def _aside(self, check: Callable[..., _Checked], *values: object) -> _Checked:
        """Check files in threads that are for nothing else: with those of the catalog, some large
        results would leave no thread to answer claims and heartbeats."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._checking, check, *values)

    async def _settled(self, lease: Lease) -> Verdict | None:
        """None: its result would count."""
        standing = self.board.tasks.standing(lease)
        if standing is None:
            winner = await asyncio.to_thread(self.store.winner, lease.task)
            if winner != lease.epoch:
                return Verdict(word=Word.SUPERSEDED)
            return Verdict(word=self._stored_word(lease.task))
        if standing.state is BoardState.RECEIVED:
            return Verdict(word=Word.RECEIVED if standing.wins else Word.SUPERSEDED)
        return None


def _check(task: Task, progress: Progress) -> None:
    """A result that tells of another site would end that one's crawl, and its own would never
    end."""
    if (progress.site, progress.visit) != (task.name, task.visit):
        raise Refused(f"the result of {task.name} is told as one of {progress.site[:100]!r}")
    if progress.state not in (TaskState.DONE, TaskState.STOPPED):
        raise Refused(f"the result of {task.name} is told as that of a crawl that has not ended")


def _readable(manifest: bytes) -> Manifest | None:
    """None: it was accepted by an earlier version, and cannot be used."""
    try:
        return decoded(manifest, Manifest)
    except (msgspec.MsgspecError, ValueError):
        return None
