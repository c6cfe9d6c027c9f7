"""Delivers the results of a node: offered, sent in chunks, and asked about until stored."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.features.grid.node.heartbeats import Heartbeats, fitting
from headgate.features.grid.node.leased_tasks import LeasedTask, LeasedTasks, Stage
from headgate.features.grid.node.statistics import WorkerTally
from headgate.features.grid.node.wakeups import Wakeups, machine_backoff
from headgate.features.grid.protocol import (
    CHUNK_BYTES,
    Chunk,
    FileDigest,
    FileSize,
    Lease,
    Manifest,
    Put,
    Refused,
    ResultVerdict,
    SourceAway,
    TaskSource,
    Word,
)
from headgate.frontier.retries import Backoff
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.units import format_duration
from headgate.storage.safe_files import reading, without_remedy

__all__ = ["Delivery", "DeliveryQueue", "until_answered"]

_UNDER_WAY = 8
"""Chunks in flight."""
_AGAIN_SECONDS, _LONGEST_SECONDS = 0.5, 20.0
_RECEIVED_SECONDS = 0.2
_FINAL = (Word.COMMITTED, Word.SUPERSEDED, Word.NEVER_YOURS, Word.REFUSED, Word.WAIT)

Kind = TypeVar("Kind")
Pace = Callable[[int], Awaitable[None]]
"""Waits until so many bytes may be sent."""


async def until_answered(ask: Callable[[], Awaitable[Kind]]) -> Kind:
    """Repeat a request until the manager answers."""
    backoff = Backoff(_AGAIN_SECONDS, _LONGEST_SECONDS)
    while True:
        try:
            return await ask()
        except SourceAway:
            await asyncio.sleep(backoff.failed())


class LostResult(WorldFault):
    """It will never be what it was."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Delivers a result to the manager: it is offered, sent in chunks, and asked about until it is
    stored. Every step is idempotent. Files that cannot be read are a `WorldFault`; those that are
    not what they were, a `LostResult`.

    The delivery of one result.
    """

    source: TaskSource
    lease: Lease
    files: Sequence[Path]
    progress: Progress
    pace: Pace

    async def deliver(self) -> ResultVerdict:
        """Deliver it; return the outcome, one of `_FINAL`. After `Word.WAIT` it may be offered
        again."""
        put = Put(lease=self.lease, files=await asyncio.to_thread(_sizes, self.files))
        manifest: Manifest | None = None  # of large files it takes a while, and may not be wanted
        while True:
            verdict = await until_answered(lambda: self.source.put(put))
            if verdict.word in _FINAL:
                return verdict
            if manifest is None:
                manifest = await asyncio.to_thread(self._manifest, put)
            if verdict.word is Word.SEND:
                await self._send(manifest.files, range(len(self.files)))
            verdict = await self._stored(manifest)
            if verdict.word in _FINAL:
                return verdict
            await asyncio.sleep(_RECEIVED_SECONDS)  # then offer it again

    def _manifest(self, put: Put) -> Manifest:
        files = tuple(_digest(path) for path in self.files)
        for file, offered in zip(files, put.files, strict=True):
            if file.size != offered.size:
                raise LostResult(f"{file.name} has another size than before")
        return Manifest(lease=self.lease, files=files, progress=fitting(self.progress))

    async def _stored(self, manifest: Manifest) -> ResultVerdict:
        while True:
            verdict = await until_answered(lambda: self.source.done(manifest))
            if verdict.word is Word.RESEND and verdict.files:
                if not await self._send(manifest.files, verdict.files):
                    return verdict
                continue
            if verdict.word is not Word.RECEIVED:
                return verdict
            await asyncio.sleep(_RECEIVED_SECONDS)

    async def _send(self, files: Sequence[FileDigest], numbers: Sequence[int]) -> bool:
        """Send files; False: a chunk was refused. The answer to the next offer says why."""
        chunks = (
            Chunk(lease=self.lease, file=number, offset=offset)
            for number in numbers
            if number < len(files)
            for offset in range(0, files[number].size, CHUNK_BYTES)
        )
        refused = False

        async def send_some() -> None:
            nonlocal refused
            for chunk in chunks:
                if refused:
                    return
                path, left = self.files[chunk.file], files[chunk.file].size - chunk.offset
                data = await asyncio.to_thread(_read, path, chunk.offset, min(left, CHUNK_BYTES))
                await self.pace(len(data))
                taken = await until_answered(partial(self.source.chunk, chunk, data))
                refused = refused or not taken

        sending = [asyncio.create_task(send_some()) for _ in range(_UNDER_WAY)]
        try:
            await asyncio.gather(*sending)
        finally:
            for each in sending:  # after a fault of one
                each.cancel()
        return not refused


def _sizes(files: Sequence[Path]) -> tuple[FileSize, ...]:
    found = []
    for path in files:
        with _reading(path):
            found.append(FileSize(name=path.name, size=path.stat().st_size))
    return tuple(found)


def _digest(path: Path) -> FileDigest:
    with _reading(path), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileDigest(name=path.name, size=file.tell(), sha256=digest)


def _read(path: Path, offset: int, size: int) -> bytes:
    with _reading(path), path.open("rb") as file:
        file.seek(offset)
        data = file.read(size)
    if len(data) < size:  # the manager would ask for the rest for ever
        raise LostResult(f"{path} became shorter")
    return data


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        with reading(path):
            yield
    except WorldFault as fault:
        if isinstance(fault.__cause__, FileNotFoundError):
            raise LostResult(str(fault)) from fault
        raise


_LEAST_WAIT_SECONDS = 0.2
_MOST_FAULTS = 3


@dataclass(frozen=True, slots=True)
class DeliveryQueue:
    """Delivers the results that wait on a node's disk, one after another.

    One that the manager wants later is left for others meanwhile. After one that cannot be read the
    node rests, as after any fault of its disk; the third time, or if files are missing, its task is
    given back.
    """

    source: TaskSource
    leased_tasks: LeasedTasks
    heartbeats: Heartbeats
    clock: Clock
    tally: WorkerTally
    pace: Pace
    notify: Callable[[str], None]
    wakeups: Wakeups
    look_seconds: float
    backoff: Backoff = field(default_factory=machine_backoff)
    """After a fault of the disk."""

    async def run(self) -> None:
        while True:
            work = self._next()
            if work is None:
                await self.wakeups.pause(self.look_seconds)
                continue
            try:
                await self._bring(work)
            except Refused:
                raise
            except (HeadgateError, OSError) as fault:
                self._rest(work, fault)

    def _next(self) -> LeasedTask | None:
        now = self.clock.now()
        if self.backoff.rests(now):
            return None
        ended = (work for work in self.leased_tasks.in_stage(Stage.ENDED) if work.not_before <= now)
        return min(ended, key=lambda work: work.lease, default=None)

    async def _bring(self, work: LeasedTask) -> None:
        files = work.folder.files(work.grant)
        delivery = Delivery(self.source, work.lease, files, work.progress, self.pace)
        verdict = await delivery.deliver()
        if verdict.word is Word.WAIT:
            self._wait(work, verdict)
            return
        self.tally.brought(work, verdict.word)
        self.notify(f"{work.site}: {_in_words(work, verdict)}")
        self.leased_tasks.forget(work)
        self.backoff.reset()
        self.wakeups.wake()

    def _wait(self, work: LeasedTask, verdict: ResultVerdict) -> None:
        if verdict.why and not work.of_another_run:
            work.of_another_run = True
            self.notify(f"{work.site}: the result waits here ({verdict.why})")
        work.not_before = self.clock.now() + max(verdict.wait, _LEAST_WAIT_SECONDS)

    def _rest(self, work: LeasedTask, fault: Exception) -> None:
        seconds = self.backoff.rest(self.clock.now())
        work.faults += 1
        lost = isinstance(fault, LostResult) or work.faults == _MOST_FAULTS
        self.notify(
            f"{work.site}: the result cannot be delivered ({without_remedy(str(fault))})"
            f"{', and the task is given back' if lost else ''}; the node rests for"
            f" {format_duration(seconds)}"
        )
        if lost:
            self._give_back(work)

    def _give_back(self, work: LeasedTask) -> None:
        """A result that cannot be read is none."""
        self.tally.gave_back()
        self.heartbeats.give_back(work.lease, work.progress)
        with suppress(HeadgateError):  # a folder that stays is found at the next start
            self.leased_tasks.forget(work)


def _in_words(work: LeasedTask, verdict: ResultVerdict) -> str:
    if verdict.word is Word.COMMITTED:
        return f"{work.progress.pages:,} pages delivered"
    if verdict.word is Word.REFUSED:
        return f"the manager did not accept the result ({verdict.why})"
    return f"the result is no longer wanted ({verdict.word})"
