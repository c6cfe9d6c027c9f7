"""Where a node's tasks come from and its results go: both sides of the port.

`TaskSource` is the node's side; it knows the node that it asks for. `TaskDesk` is the answering
side: the same six verbs, with the name of the node that asks, which is known from the connection
and never from the message. Over a network, something passes the questions on.

A source never invents an answer. If none comes, it raises `SourceAway`, and the node asks again:
each question may be repeated any number of times.
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
    """No answer; the question may have arrived or not. Ask again."""


class Refused(UserMistake):
    """A final refusal of the node: revoked, not understood, another version. A result that is not
    accepted is a `Verdict`."""


class TaskSource(Protocol):
    """The source of one node. All methods may raise `SourceAway` and `Refused`."""

    async def claim(self, claim: Claim) -> ClaimAnswer: ...

    async def beat(self, beat: Beat) -> Orders: ...

    async def known(self, known: Known) -> bytes:
        """Empty at the end of the memory, and for a lease that is not this node's."""
        ...

    async def put(self, put: Put) -> Verdict: ...

    async def chunk(self, chunk: Chunk, data: bytes) -> bool:
        """False: it is not expected. `put` says why, and may be answered `Word.SEND` again."""
        ...

    async def done(self, manifest: Manifest) -> Verdict: ...


class TaskDesk(Protocol):
    """Answers all nodes. Raises `Refused` if the node should give up."""

    async def claim(self, node: str, claim: Claim) -> ClaimAnswer: ...

    async def beat(self, node: str, beat: Beat) -> Orders: ...

    async def known(self, node: str, known: Known) -> bytes: ...

    async def put(self, node: str, put: Put) -> Verdict: ...

    async def chunk(self, node: str, chunk: Chunk, data: bytes) -> bool: ...

    async def done(self, node: str, manifest: Manifest) -> Verdict: ...
