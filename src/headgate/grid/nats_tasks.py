"""Tasks from a remote manager: a `headgate.crawling.task_source.TaskSource` over NATS.

Plain requests and replies. A message may be lost, duplicated or late: every request is idempotent
and is repeated until answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import msgspec

from headgate.crawling.task_messages import (
    Beat,
    Chunk,
    Claim,
    ClaimAnswer,
    Known,
    Manifest,
    Orders,
    Put,
    Question,
    Verdict,
    claim_answer,
    decoded,
    encoded,
)
from headgate.crawling.task_source import Refused
from headgate.grid.connecting import AtTheDoor
from headgate.grid.wire import subject, unpacked

__all__ = ["NatsTasks"]

_ANSWER_SECONDS = 10.0

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class NatsTasks:
    door: AtTheDoor
    node: str
    answer_seconds: float = _ANSWER_SECONDS
    """Time-out of an answer; then the caller repeats the request."""

    async def claim(self, claim: Claim) -> ClaimAnswer:
        return await self._ask("claim", claim, claim_answer)

    async def beat(self, beat: Beat) -> Orders:
        return await self._ask("beat", beat, partial(decoded, kind=Orders))

    async def known(self, known: Known) -> bytes:
        return await self._request(subject(self.node, "known"), encoded(known))

    async def put(self, put: Put) -> Verdict:
        return await self._ask("put", put, partial(decoded, kind=Verdict))

    async def chunk(self, chunk: Chunk, data: bytes) -> bool:
        return await self._request(subject(self.node, "chunk", chunk), data) == b"true"

    async def done(self, manifest: Manifest) -> Verdict:
        return await self._ask("done", manifest, partial(decoded, kind=Verdict))

    async def _ask(self, verb: str, question: Question, read: Callable[[bytes], Kind]) -> Kind:
        answer = await self._request(subject(self.node, verb), encoded(question))
        try:
            return read(answer)
        except (msgspec.MsgspecError, ValueError) as error:
            raise Refused(
                f"the manager's answer is not understood ({error}); it may be another version of"
                " Headgate: bring both to the same"
            ) from None

    async def _request(self, where: str, body: bytes) -> bytes:
        answer = unpacked(await self.door.request(where, body, self.answer_seconds))
        if isinstance(answer, str):
            raise Refused(answer)
        return answer
