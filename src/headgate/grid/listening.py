"""Receives requests of nodes over NATS, passes them to the desk, and sends the answers.

Malformed requests do not reach the desk. The number of open requests per node, and of all nodes, is
limited: others are dropped as if lost on the way, and nodes retry.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import msgspec
from nats import errors
from nats.aio.msg import Msg

from headgate.crawling.task_messages import (
    VERSION,
    Beat,
    Claim,
    Known,
    Manifest,
    Put,
    Question,
    decoded,
    encoded,
)
from headgate.crawling.task_source import Refused, TaskDesk
from headgate.grid.connecting import AtTheDoor
from headgate.grid.wire import ALL_QUESTIONS, Asked, refusal, success, taken_apart
from headgate.model.errors import HeadgateError

__all__ = ["listening"]

_MOST_OPEN, _MOST_OF_NODE = 1_000, 32


@asynccontextmanager
async def listening(door: AtTheDoor, desk: TaskDesk) -> AsyncIterator[None]:
    """Requests are answered within this context."""
    ear = _Ear(desk)
    await door.listen(ALL_QUESTIONS, ear.hear)
    try:
        yield
    finally:
        await ear.close()


@dataclass(slots=True)
class _Ear:
    desk: TaskDesk
    _open: dict[asyncio.Task[None], str] = field(default_factory=dict)
    """Open requests."""
    _of_node: Counter[str] = field(default_factory=Counter)

    async def hear(self, message: Msg) -> None:
        asked = taken_apart(message.subject)
        node = "" if asked is None else asked.node
        if len(self._open) >= _MOST_OPEN or self._of_node[node] >= _MOST_OF_NODE:
            return
        self._of_node[node] += 1
        task = asyncio.create_task(self._answer(message, asked))
        self._open[task] = node
        task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[None]) -> None:
        node = self._open.pop(task)
        self._of_node[node] -= 1
        if not self._of_node[node]:
            del self._of_node[node]

    async def close(self) -> None:
        open_ = list(self._open)
        for task in open_:
            task.cancel()
        await asyncio.gather(*open_, return_exceptions=True)

    async def _answer(self, message: Msg, asked: Asked | None) -> None:
        try:
            answer = success(await self._asked(asked, message.data))
        except Refused as refused:
            answer = refusal(str(refused))
        except HeadgateError:
            return  # a fault of this machine, reported elsewhere: the node retries
        if message.reply:
            with suppress(errors.Error, OSError):
                await _respond(message, answer)

    async def _asked(self, asked: Asked | None, body: bytes) -> bytes:
        if asked is None:
            raise Refused("bad request: there is no such question")
        if asked.place is not None:
            taken = await self.desk.chunk(asked.node, asked.place, body)
            return b"true" if taken else b"false"
        answering = _VERBS.get(asked.verb)
        if answering is None:
            raise Refused(f"bad request: there is no question {asked.verb!r}")
        kind, answer = answering
        return await answer(self.desk, asked.node, _question(body, kind))


async def _respond(message: Msg, answer: bytes) -> None:
    """An answer that is too large for the server is a refusal: without any, the node would ask the
    same for ever."""
    try:
        await message.respond(answer)
    except errors.MaxPayloadError:
        await message.respond(refusal("the answer is larger than the NATS server lets through"))


def _question(body: bytes, kind: type[Question]) -> Question:
    try:
        question = decoded(body, kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        _check_version(_version(body))  # the better reason, if it is one
        raise Refused(f"bad request: {error}") from None
    _check_version(question.version)
    return question


def _version(body: bytes) -> int:
    """Of a question that may be none of ours."""
    try:
        return decoded(body, Question).version
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return VERSION


def _check_version(version: int) -> None:
    if version != VERSION:
        raise Refused(
            f"this manager speaks version {VERSION} of the grid's messages, the node {version};"
            " bring both to the same Headgate"
        )


async def _claim(desk: TaskDesk, node: str, question: Question) -> bytes:
    assert isinstance(question, Claim)
    return encoded(await desk.claim(node, question))


async def _beat(desk: TaskDesk, node: str, question: Question) -> bytes:
    assert isinstance(question, Beat)
    return encoded(await desk.beat(node, question))


async def _known(desk: TaskDesk, node: str, question: Question) -> bytes:
    assert isinstance(question, Known)
    return await desk.known(node, question)


async def _put(desk: TaskDesk, node: str, question: Question) -> bytes:
    assert isinstance(question, Put)
    return encoded(await desk.put(node, question))


async def _done(desk: TaskDesk, node: str, question: Question) -> bytes:
    assert isinstance(question, Manifest)
    return encoded(await desk.done(node, question))


_Answering = Callable[[TaskDesk, str, Question], Awaitable[bytes]]
_VERBS: dict[str, tuple[type[Question], _Answering]] = {
    "claim": (Claim, _claim),
    "beat": (Beat, _beat),
    "known": (Known, _known),
    "put": (Put, _put),
    "done": (Manifest, _done),
}
