"""A node's tasks from a desk in the same process: a `headgate.crawling.task_source.TaskSource`."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.crawling.task_messages import (
    Beat,
    Chunk,
    Claim,
    ClaimAnswer,
    Known,
    Manifest,
    Orders,
    Put,
    Verdict,
)
from headgate.crawling.task_source import TaskDesk

__all__ = ["OwnBoard"]


@dataclass(frozen=True, slots=True)
class OwnBoard:
    desk: TaskDesk
    node: str

    async def claim(self, claim: Claim) -> ClaimAnswer:
        return await self.desk.claim(self.node, claim)

    async def beat(self, beat: Beat) -> Orders:
        return await self.desk.beat(self.node, beat)

    async def known(self, known: Known) -> bytes:
        return await self.desk.known(self.node, known)

    async def put(self, put: Put) -> Verdict:
        return await self.desk.put(self.node, put)

    async def chunk(self, chunk: Chunk, data: bytes) -> bool:
        return await self.desk.chunk(self.node, chunk, data)

    async def done(self, manifest: Manifest) -> Verdict:
        return await self.desk.done(self.node, manifest)
