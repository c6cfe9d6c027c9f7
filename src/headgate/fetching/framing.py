"""Where the body of a response ends, and whether the connection can be used again after it.

RFC 9112, 6.3, in its order: statuses without a body; a transfer coding, which overrides any length;
a length; else the end of the connection. Repeated lengths count if they agree (``5``, ``5, 5``),
else the response is refused. A length that is no number is ignored, as in browsers: the body then
ends with the connection.

Ambiguous responses (a coding beside a length, a repeated length, chunks in HTTP/1.0) are read, but
the connection is closed afterwards, so that nothing that follows can be taken for a response.
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
    """``length`` None: the end of the connection, or the last chunk, ends the body."""

    length: int | None
    chunked: bool
    reusable: bool
    """Whether the connection may be used for another response."""


def framing_of(head: HttpHead) -> Framing:
    """The framing of a response with this head; raises `FetchFault` for contradictory lengths."""
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
    """The length, of several or malformed ones."""
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
