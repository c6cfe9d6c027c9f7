"""Delivers a result to the manager: it is offered, sent in chunks, and asked about until it is
stored. Every step is idempotent. Files that cannot be read are a `WorldFault`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from headgate.crawling.progress import Progress
from headgate.crawling.task_messages import (
    CHUNK_BYTES,
    Chunk,
    FileDigest,
    FileSize,
    Lease,
    Manifest,
    Put,
    Verdict,
    Word,
)
from headgate.crawling.task_source import SourceAway, TaskSource
from headgate.jobs.lending.fitting import fitting
from headgate.model.errors import WorldFault
from headgate.storage.faults import reading

__all__ = ["Bringing", "until_answered"]

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
    wait = _AGAIN_SECONDS
    while True:
        try:
            return await ask()
        except SourceAway:
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_SECONDS)


@dataclass(frozen=True, slots=True)
class Bringing:
    """The delivery of one result."""

    source: TaskSource
    lease: Lease
    files: Sequence[Path]
    progress: Progress
    pace: Pace

    async def bring(self) -> Verdict:
        """Deliver it; return the outcome, one of `_FINAL`. After `Word.WAIT` it may be offered
        again."""
        digests = await asyncio.to_thread(_digests, self.files)
        sizes = tuple(FileSize(name=file.name, size=file.size) for file in digests)
        put = Put(lease=self.lease, files=sizes)
        manifest = Manifest(lease=self.lease, files=digests, progress=fitting(self.progress))
        while True:
            verdict = await until_answered(lambda: self.source.put(put))
            if verdict.word is Word.SEND:
                await self._send(digests, range(len(self.files)))
                verdict = await self._stored(manifest)
            while verdict.word is Word.RECEIVED:
                verdict = await self._stored(manifest)
            if verdict.word in _FINAL:
                return verdict
            await asyncio.sleep(_RECEIVED_SECONDS)  # then offer it again

    async def _stored(self, manifest: Manifest) -> Verdict:
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


def _read(path: Path, offset: int, size: int) -> bytes:
    with reading(path), path.open("rb") as file:
        file.seek(offset)
        data = file.read(size)
    if len(data) < size:  # the manager would ask for the rest for ever
        raise WorldFault(f"cannot read {path}: the file became shorter")
    return data


def _digests(files: Sequence[Path]) -> tuple[FileDigest, ...]:
    found = []
    for path in files:
        with reading(path), path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            found.append(FileDigest(name=path.name, size=file.tell(), sha256=digest))
    return tuple(found)
