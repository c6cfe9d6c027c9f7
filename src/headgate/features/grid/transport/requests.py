"""Requests of nodes over NATS: both ends, and the wire format."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import msgspec
from nats import errors
from nats.aio.msg import Msg

from headgate.features.grid.protocol import (
    VERSION,
    Beat,
    Chunk,
    Claim,
    ClaimAnswer,
    Known,
    Lease,
    Manifest,
    Orders,
    Put,
    Question,
    Refused,
    ResultVerdict,
    TaskDesk,
    claim_answer,
    decoded,
    encoded,
)
from headgate.features.grid.transport.connection import AtTheDoor
from headgate.features.grid.transport.credentials import REQUESTS
from headgate.model.errors import HeadgateError

__all__ = ["NatsTasks", "WireRequest", "listening"]

_MOST_OPEN, _MOST_OF_NODE = 1_000, 32


@asynccontextmanager
async def listening(door: AtTheDoor, desk: TaskDesk) -> AsyncIterator[None]:
    """Receives requests of nodes over NATS, passes them to the desk, and sends the answers.

    Malformed requests do not reach the desk. The number of open requests per node, and of all
    nodes, is limited: others are dropped as if lost on the way, and nodes retry.

    Requests are answered within this context.
    """
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

    async def _answer(self, message: Msg, asked: WireRequest | None) -> None:
        try:
            answer = success(await self._asked(asked, message.data))
        except Refused as refused:
            answer = refusal(str(refused))
        except HeadgateError:
            return  # a fault of this machine, reported elsewhere: the node retries
        if message.reply:
            with suppress(errors.Error, OSError):
                await _respond(message, answer)

    async def _asked(self, asked: WireRequest | None, body: bytes) -> bytes:
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


_ANSWER_SECONDS = 10.0

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class NatsTasks:
    """Tasks from a remote manager: a `headgate.features.grid.protocol.TaskSource` over NATS.

    Plain requests and replies. A message may be lost, duplicated or late: every request is
    idempotent and is repeated until answered.
    """

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

    async def put(self, put: Put) -> ResultVerdict:
        return await self._ask("put", put, partial(decoded, kind=ResultVerdict))

    async def chunk(self, chunk: Chunk, data: bytes) -> bool:
        return await self._request(subject(self.node, "chunk", chunk), data) == b"true"

    async def done(self, manifest: Manifest) -> ResultVerdict:
        return await self._ask("done", manifest, partial(decoded, kind=ResultVerdict))

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


ALL_QUESTIONS = f"{REQUESTS}.>"
_GOOD, _BAD = b"+", b"-"
_LONGEST_NUMBER = 20


@dataclass(frozen=True, slots=True)
class WireRequest:
    """The wire format of requests to a manager and its answers.

    A request is a message to ``hg.req.<node>.<verb>``; the position of a chunk is in the subject,
    its bytes are the body. An answer begins with ``+`` and the result, or with ``-`` and the reason
    why retrying will not help.

    The sender and its request; the server ensures that the sender is right.
    """

    node: str
    verb: str
    place: Chunk | None = None


def subject(node: str, verb: str, place: Chunk | None = None) -> str:
    """
    >>> subject("anna", "chunk", Chunk(lease=Lease(7, 2), file=0, offset=262144))
    'hg.req.anna.chunk.7.2.0.262144'
    """
    words = [REQUESTS, node, verb]
    if place is not None:
        lease = place.lease
        words += map(str, (lease.task, lease.epoch, place.file, place.offset))
    return ".".join(words)


def taken_apart(text: str) -> WireRequest | None:
    """None: it is no such subject.

    >>> taken_apart("hg.req.anna.claim")
    WireRequest(node='anna', verb='claim', place=None)
    >>> taken_apart("hg.req.anna.chunk.7.2.0.262144").place.offset
    262144
    >>> taken_apart("hg.req.anna.chunk.7.2.0.x"), taken_apart("hg.req.anna.claim.7")
    (None, None)
    """
    match text.removeprefix(f"{REQUESTS}.").split("."):
        case [node, verb] if verb != "chunk":
            return WireRequest(node, verb)
        case [node, "chunk", *numbers]:
            place = _place(numbers)
            return None if place is None else WireRequest(node, "chunk", place)
    return None


def success(body: bytes) -> bytes:
    return _GOOD + body


def refusal(why: str) -> bytes:
    return _BAD + why.encode("utf-8", "replace")


def unpacked(answer: bytes) -> bytes | str:
    """The result as bytes, or the reason of a refusal as text.

    >>> unpacked(success(b"{}")), unpacked(refusal("revoked")), unpacked(b"")
    (b'{}', 'revoked', 'the answer is invalid')
    """
    if answer[:1] == _GOOD:
        return answer[1:]
    if answer[:1] == _BAD:
        return answer[1:].decode("utf-8", "replace")
    return "the answer is invalid"


def _place(numbers: list[str]) -> Chunk | None:
    if len(numbers) != 4 or not all(
        number.isascii() and number.isdecimal() and len(number) < _LONGEST_NUMBER
        for number in numbers
    ):
        return None
    task, epoch, file, offset = map(int, numbers)
    try:
        place = Chunk(lease=Lease(task, epoch), file=file, offset=offset)
        return msgspec.convert(msgspec.to_builtins(place), Chunk)
    except msgspec.MsgspecError:
        return None
