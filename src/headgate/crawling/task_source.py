"""Where a node's tasks come from and its results go: the port, from both of its sides.

`TaskSource` is the node's: whatever carries its questions, it is told who asks when it is made.
`TaskDesk` is the answering side: the same six verbs, with the name of the node that asks, which is
known from the way the question came by and never from what it says. Over a network somebody passes
questions on.

A source never invents an answer. Where none comes, it raises `SourceAway`, and the node asks the
same again: each question may be asked any number of times.
"""

from __future__ import annotations

from typing import Protocol

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
from headgate.model.errors import UserMistake, WorldFault

__all__ = ["Refused", "SourceAway", "TaskDesk", "TaskSource"]


class SourceAway(WorldFault):
    """No answer: it may have been heard or not. Ask again."""


class Refused(UserMistake):
    """An answer that asking again does not change: revoked, not understood, another version."""


class TaskSource(Protocol):
    """One node's. All may raise `SourceAway` and `Refused`."""

    async def claim(self, claim: Claim) -> ClaimAnswer: ...

    async def beat(self, beat: Beat) -> Orders: ...

    async def known(self, known: Known) -> bytes:
        """Nothing at the end of the memory, and for a lease that is not this node's."""
        ...

    async def put(self, put: Put) -> Verdict: ...

    async def chunk(self, chunk: Chunk, data: bytes) -> bool:
        """False: nobody waits for it. `put` says why, and may be answered `Word.SEND` again."""
        ...

    async def done(self, manifest: Manifest) -> Verdict: ...


class TaskDesk(Protocol):
    """Answers all nodes. Raises `Refused` where the node should give up."""

    async def claim(self, node: str, claim: Claim) -> ClaimAnswer: ...

    async def beat(self, node: str, beat: Beat) -> Orders: ...

    async def known(self, node: str, known: Known) -> bytes: ...

    async def put(self, node: str, put: Put) -> Verdict: ...

    async def chunk(self, node: str, chunk: Chunk, data: bytes) -> bool: ...

    async def done(self, node: str, manifest: Manifest) -> Verdict: ...
