"""The wire format of requests to a manager and its answers.

A request is a message to ``hg.req.<node>.<verb>``; the position of a chunk is in the subject, its
bytes are the body. An answer begins with ``+`` and the result, or with ``-`` and the reason why
retrying will not help.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from headgate.crawling.task_messages import Chunk, Lease
from headgate.grid.tokens import REQUESTS

__all__ = ["ALL_QUESTIONS", "Asked", "refusal", "subject", "success", "taken_apart", "unpacked"]

ALL_QUESTIONS = f"{REQUESTS}.>"
_GOOD, _BAD = b"+", b"-"
_LONGEST_NUMBER = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """The sender and its request; the server ensures that the sender is right."""

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


def taken_apart(text: str) -> Asked | None:
    """None: it is no such subject.

    >>> taken_apart("hg.req.anna.claim")
    Asked(node='anna', verb='claim', place=None)
    >>> taken_apart("hg.req.anna.chunk.7.2.0.262144").place.offset
    262144
    >>> taken_apart("hg.req.anna.chunk.7.2.0.x"), taken_apart("hg.req.anna.claim.7")
    (None, None)
    """
    match text.removeprefix(f"{REQUESTS}.").split("."):
        case [node, verb] if verb != "chunk":
            return Asked(node, verb)
        case [node, "chunk", *numbers]:
            place = _place(numbers)
            return None if place is None else Asked(node, "chunk", place)
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
