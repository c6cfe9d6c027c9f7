"""Receives results; nothing is confirmed to the node before it is stored.

A crash at any point costs only time:

    chunks ─► part files ─► sha256 right, journal readable, durable ─► `received`, stored: it counts
      ─► files renamed into the run ─► `done`, stored ─► the node may delete its own
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import msgspec

from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress, TaskState
from headgate.features.grid.coordinator.board_store import BoardSaver
from headgate.features.grid.coordinator.task_data import GivenTasks, TaskSpec
from headgate.features.grid.coordinator.upload_commit import Received, UploadCommit
from headgate.features.grid.coordinator.upload_files import UploadFiles, are_files_of
from headgate.features.grid.protocol import (
    Chunk,
    Lease,
    Manifest,
    Put,
    ResultVerdict,
    Word,
    decoded,
    encoded,
)
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import BoardState, BoardStore, LeaseEnding, LeaseRow
from headgate.features.grid.trust.journal_check import Brought, Judge
from headgate.model.task import Task
from headgate.storage.journals.journal import Owner

__all__ = ["Uploads"]

_COMMIT_PATIENCE_SECONDS = 2.0
"""How long an answer waits for the result to be stored; then the node asks again."""
_AWAITED_SECONDS = 7 * 86_400.0
"""How long after the end of its lease a node should keep a result for the manager of another run:
it takes space on a machine that was lent."""
_CHECKED_SECONDS = 0.05
_AHEAD_SECONDS = 10 * 365 * 86_400.0
"""What the clock of an honest node may be ahead: some are years wrong."""
_ANOTHER_RUN = "the manager is at another run now"


@dataclass(slots=True)
class Uploads:
    board: Board
    store: BoardStore
    arrivals: UploadFiles
    clock: Clock
    given: GivenTasks
    saving: BoardSaver
    committing: UploadCommit
    free_bytes: Callable[[], int]
    """Disk space that results may still take."""
    judge: Judge
    over: bool = False
    """The run has ended: results of tasks that were given up come too late."""
    _checked: set[Lease] = field(default_factory=set)
    """Leases whose result is being checked."""
    checking: UploadChecks = field(init=False)

    def __post_init__(self) -> None:
        self.checking = UploadChecks(self.arrivals, self.judge)
        # A node that still sends begins again; files that are being checked may be whole, and stay.
        self.saving.given_up = lambda task: self.arrivals.drop_task(task, self._checked)

    async def take_up(self) -> None:
        """Finish what an earlier manager received and did not store completely."""
        self.arrivals.tidy(lambda lease: self.board.tasks.get(lease.task) is not None)
        for task in self.board.tasks.in_state(BoardState.RECEIVED):
            assert task.winner is not None
            await self._take_up(task.id, Lease(task.id, task.winner))

    async def take_no_more(self) -> None:
        """The run is about to be sealed; returns when nothing is written to its folder any more."""
        self.over = True
        while self._checked or not self.committing.idle:
            await asyncio.sleep(_CHECKED_SECONDS)

    async def put(self, node: str, put: Put) -> ResultVerdict:
        lease = put.lease
        self.board.movement.brings(node, self.clock.now())
        row = await self.given.lease(node, lease)
        if row is None:
            return ResultVerdict(word=Word.NEVER_YOURS)
        settled = await self._settled(row)
        if settled is not None:
            return settled
        if lease in self._checked:  # its node was started again meanwhile
            return ResultVerdict(word=Word.RECEIVED)
        spec = await self.given.spec(lease.task)
        try:
            check_announced(put, spec.owner, self.given.most_bytes(lease.task, spec))
        except Unfit as unfit:
            return await self._refuse(node, lease, str(unfit))
        if sum(file.size for file in put.files) > self.free_bytes():
            return ResultVerdict(word=Word.WAIT, wait=self.board.terms.lease_seconds)
        self.arrivals.expect(lease, put.files)
        return ResultVerdict(word=Word.SEND)

    async def chunk(self, node: str, chunk: Chunk, data: bytes) -> bool:
        self.board.movement.brings(node, self.clock.now())
        if self.over or await self.given.lease(node, chunk.lease) is None:
            return False
        return self.arrivals.write(chunk, data)

    async def done(self, node: str, manifest: Manifest) -> ResultVerdict:
        lease = manifest.lease
        self.board.movement.brings(node, self.clock.now())
        row = await self.given.lease(node, lease)
        if row is None:
            return ResultVerdict(word=Word.NEVER_YOURS)
        settled = await self._settled(row)
        if settled is not None:
            return settled
        if lease in self._checked:
            return ResultVerdict(word=Word.RECEIVED)
        self._checked.add(lease)
        try:
            check_told(manifest.progress, (await self.given.spec(lease.task)).task)
            return await self._check(row, manifest)
        except Unfit as unfit:
            return await self._refuse(node, lease, str(unfit))
        finally:
            self._checked.discard(lease)

    async def _refuse(self, node: str, lease: Lease, why: str) -> ResultVerdict:
        """Others get the task, unless it was lost too often."""
        self.arrivals.drop(lease)
        self.board.give_back(node, LeaseEnding.REFUSED, self.clock.wall(), {lease})
        await self.saving.stored()
        return ResultVerdict(word=Word.REFUSED, why=why)

    async def _check(self, row: LeaseRow, manifest: Manifest) -> ResultVerdict:
        """Whether the result is complete, which may take a while; nothing is written meanwhile."""
        lease = manifest.lease
        announced = self.arrivals.expected(lease)
        if [file.name for file in announced] != [file.name for file in manifest.files]:
            return ResultVerdict(word=Word.RESEND, files=tuple(range(len(manifest.files))))
        self.arrivals.close(lease)
        spec = await self.given.spec(lease.task)
        wrong = await self.checking.take(manifest, spec, self.clock.wall() + _AHEAD_SECONDS)
        if wrong:
            self.arrivals.reopen(lease, announced)
            return ResultVerdict(word=Word.RESEND, files=wrong)
        return await self._receive(row, manifest, spec.owner)

    async def _receive(self, row: LeaseRow, manifest: Manifest, owner: Owner) -> ResultVerdict:
        if not self.over and self.board.receive(row, encoded(manifest), self.clock.wall()):
            await self.saving.stored()
            stored = self._begin_storing(row, manifest, owner)
            await asyncio.wait([stored], timeout=_COMMIT_PATIENCE_SECONDS)
            return ResultVerdict(word=self._stored_word(manifest.lease.task))
        settled = await self._settled(row)
        if settled is not None and settled.word is Word.SUPERSEDED:
            self.arrivals.drop(manifest.lease, len(manifest.files))
        return settled or ResultVerdict(word=Word.RECEIVED)

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
        if manifest is None or await self.checking.is_wrong(manifest):
            self.board.spoil(row)
            await self.saving.stored()
        else:
            await self._begin_storing(row, manifest, owner)

    def close(self) -> None:
        self.checking.close()

    async def _settled(self, row: LeaseRow) -> ResultVerdict | None:
        """None: its result would count."""
        lease = row.lease
        standing = self.board.tasks.standing(lease)
        if standing is None:
            if await self._is_of_another_run(row):
                wait = self.board.terms.lease_seconds
                return ResultVerdict(word=Word.WAIT, wait=wait, why=_ANOTHER_RUN)
            winner = await asyncio.to_thread(self.store.winner, lease.task)
            if winner != lease.epoch:
                return ResultVerdict(word=Word.SUPERSEDED)
            return ResultVerdict(word=self._stored_word(lease.task))
        if standing.state is BoardState.RECEIVED:
            return ResultVerdict(word=Word.RECEIVED if standing.wins else Word.SUPERSEDED)
        return ResultVerdict(word=Word.SUPERSEDED) if self.over else None

    async def _is_of_another_run(self, row: LeaseRow) -> bool:
        """Whether the manager of another run may come back for it, such as a keeper."""
        silent = self.clock.wall() - (row.ended or row.given)
        if row.lease.task in self.committing.unfinished or silent > _AWAITED_SECONDS:
            return False
        return await asyncio.to_thread(self.store.is_awaited, row.lease)


def _readable(manifest: bytes) -> Manifest | None:
    """None: it was accepted by an earlier version, and cannot be used."""
    try:
        return decoded(manifest, Manifest)
    except (msgspec.MsgspecError, ValueError):
        return None


_AT_ONCE = 2

_Found = TypeVar("_Found")


class Unfit(Exception):
    """A result that is not accepted."""


def check_announced(put: Put, owner: Owner, most_bytes: float) -> None:
    if not are_files_of(owner, (file.name for file in put.files)):
        raise Unfit(f"these are not the files of a visit to {owner.site}")
    size = sum(file.size for file in put.files)
    if size > most_bytes:
        raise Unfit(f"{size:,} bytes of {owner.site} are far more than was expected")


def check_told(progress: Progress, task: Task) -> None:
    """A result that tells of another site would end that one's crawl, and its own would never
    end."""
    if (progress.site, progress.visit) != (task.name, task.visit):
        raise Unfit(f"the result of {task.name} is told as one of {progress.site[:100]!r}")
    if progress.state not in (TaskState.DONE, TaskState.STOPPED):
        raise Unfit(f"the result of {task.name} is told as that of a crawl that has not ended")


@dataclass(slots=True)
class UploadChecks:
    """What a result must be like to be accepted.

    Files are read in threads that are for nothing else: with those of the catalog, some large
    results would leave no thread to answer claims and heartbeats.
    """

    arrivals: UploadFiles
    judge: Judge
    _threads: ThreadPoolExecutor = field(
        default_factory=partial(ThreadPoolExecutor, _AT_ONCE, "checking")
    )

    async def take(self, manifest: Manifest, spec: TaskSpec, latest: float) -> tuple[int, ...]:
        """Numbers of files that are wrong; none: all are stored. ``latest``: when the last page can
        have been fetched."""
        return await self._aside(self._take, manifest, spec, latest)

    async def is_wrong(self, manifest: Manifest) -> bool:
        return bool(await self._aside(self.arrivals.wrong, manifest.lease, manifest.files))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.judge.close()

    def _take(self, manifest: Manifest, spec: TaskSpec, latest: float) -> tuple[int, ...]:
        arrivals, lease, files = self.arrivals, manifest.lease, manifest.files
        wrong = arrivals.wrong(lease, files)
        if not wrong:
            lie = self.judge.lie(self._brought(manifest, spec, latest))
            if lie:
                raise Unfit(f"the journal of {spec.owner.site} is none that Headgate wrote: {lie}")
            arrivals.keep(lease, files)
        return wrong

    def _brought(self, manifest: Manifest, spec: TaskSpec, latest: float) -> Brought:
        where = self.arrivals.where(manifest.lease, manifest.files)
        sizes = {file.name: file.size for file in manifest.files}
        journal = next(name for name in where if name.endswith(".journal"))
        files = {name: (str(path), sizes[name]) for name, path in where.items() if name != journal}
        return Brought(str(where[journal]), files, spec.task, latest, secrets.token_bytes(16))

    async def _aside(self, check: Callable[..., _Found], *values: object) -> _Found:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, check, *values)
