"""Where the body of a response ends, and whether the connection is fit for another after it.

RFC 9112, 6.3, in its order: statuses without a body; a transfer coding, which overrides any length;
a length; else the end of the connection. Lengths that are said twice count where they agree
(``5``, ``5, 5``); where they do not, there is no telling what was meant. A length that is no number
counts for nothing, as in browsers: the body then ends with the connection.

Whatever is ambiguous here, a coding beside a length, a length said twice, chunks in HTTP/1.0, is
read, but the connection is closed behind it: nothing that follows can then be taken for a response.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from headgate.fetching.faults import FetchFault
from headgate.model.fetch import FailureKind
from headgate.reading.http_head import HttpHead

__all__ = ["Framing", "framing_of"]

_BODILESS = frozenset((204, 304))
_TELLING = frozenset(("connection", "content-length", "transfer-encoding"))
_MOST_DIGITS = 18
_NOT_CODED = frozenset(("", "identity"))


class Framing(msgspec.Struct, frozen=True, gc=False):
    """``length`` is None where the connection's end, or the last chunk, ends the body."""

    length: int | None
    chunked: bool
    reusable: bool
    """Whether the connection may carry another response behind this one."""


def framing_of(head: HttpHead) -> Framing:
    """How a response with this head is framed; raises `FetchFault` where lengths contradict."""
    lengths: list[str] = []
    codings: list[str] = []
    connection: list[str] = []
    for name, value in head.fields:
        if name not in _TELLING:
            continue
        if name == "content-length":
            lengths.append(value)
        elif name == "transfer-encoding":
            codings += [word for word in _words(value) if word not in _NOT_CODED]
        else:
            connection += _words(value)
    reusable = "close" not in connection and (head.persistent or "keep-alive" in connection)
    if head.status in _BODILESS:
        return Framing(0, chunked=False, reusable=reusable)
    if codings:
        sound = head.persistent and not lengths
        return Framing(None, chunked="chunked" in codings, reusable=reusable and sound)
    if len(lengths) == 1 and (length := _number(lengths[0])) is not None:
        return Framing(length, chunked=False, reusable=reusable)
    return Framing(_agreed(lengths), chunked=False, reusable=False)


def _agreed(lengths: list[str]) -> int | None:
    """Of lengths that are many or odd."""
    said = {_number(word) for line in lengths for word in _words(line) if word}
    if len(said - {None}) > 1:
        raise FetchFault(FailureKind.BAD_HTTP, "lengths that contradict each other")
    return None if None in said or not said else said.pop()


def _number(text: str) -> int | None:
    plain = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if plain else None


@lru_cache(256)
def _words(value: str) -> tuple[str, ...]:
    return tuple([word.strip() for word in value.lower().split(",")])
