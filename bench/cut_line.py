"""A node's way to a desk in the same process, which can be cut."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.features.grid.protocol import (
    Beat,
    Chunk,
    Claim,
    ClaimAnswer,
    Known,
    Manifest,
    Orders,
    Put,
    ResultVerdict,
    SourceAway,
    TaskDesk,
)

__all__ = ["CutLine"]


@dataclass
class CutLine:
    """A `headgate.features.grid.protocol.TaskSource`."""

    desk: TaskDesk
    node: str
    cut: bool = False

    @property
    def _open(self) -> TaskDesk:
        if self.cut:
            raise SourceAway("cut")
        return self.desk

    async def claim(self, claim: Claim) -> ClaimAnswer:
        return await self._open.claim(self.node, claim)

    async def beat(self, beat: Beat) -> Orders:
        return await self._open.beat(self.node, beat)

    async def known(self, known: Known) -> bytes:
        return await self._open.known(self.node, known)

    async def put(self, put: Put) -> ResultVerdict:
        return await self._open.put(self.node, put)

    async def chunk(self, chunk: Chunk, data: bytes) -> bool:
        return await self._open.chunk(self.node, chunk, data)

    async def done(self, manifest: Manifest) -> ResultVerdict:
        return await self._open.done(self.node, manifest)
