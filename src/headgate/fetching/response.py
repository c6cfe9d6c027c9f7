"""A response as it arrives: which are wanted, their head, where the body ends, and the body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

import httptools
import msgspec

from headgate.fetching.errors import FetchFault
from headgate.fetching.limits import Limits
from headgate.model.fetch import FailureKind, FetchRequest
from headgate.model.units import Bytes, format_size
from headgate.reading.http_head import Fields, HttpHead, read_head

__all__ = ["Body", "Framing", "Head", "ResponseFilter", "body_of"]

_END = re.compile(rb"\n\r?\n")
_LONGEST_END = 3
_START = b"HTTP/"
_SWITCHING, _FINAL = 101, 200


class Head:
    """The head of a response: status line and headers, exactly as received.

    It is collected in our own buffer and parsed (`reading.http_head`) when it is complete, so no
    more than the limit is held, and the exact bytes are available for the archive. Empty lines
    before it, which some servers send, and provisional responses (1xx) are skipped; both count
    towards the limit, so an endless series of them ends.

    Feed it until it is ``whole``; then the other fields are valid.
    """

    __slots__ = (
        "_forgotten",
        "_limits",
        "_pending",
        "framing",
        "headers",
        "raw",
        "status",
        "whole",
    )

    framing: Framing

    def __init__(self, limits: Limits) -> None:
        self.whole = False
        self.status = 0
        self.headers: Fields = ()
        self.raw = b""
        self._limits = limits
        self._pending = bytearray()
        self._forgotten = 0
        """Bytes of skipped lines and heads."""

    def feed(self, buffer: bytearray, size: int) -> tuple[bytearray, int, int]:
        """Take a buffer's first ``size`` bytes; returns what follows the head: (buffer, from,
        to)."""
        pending, self._pending = self._pending, bytearray()
        searched = max(len(pending) - _LONGEST_END, 0)
        if pending:
            pending += memoryview(buffer)[:size]
            buffer, size = pending, len(pending)
        start = 0
        while not self.whole and start < size:
            if not buffer.startswith(_START, start, size):
                start = self._passed_over(buffer, start, size)
            end = _END.search(buffer, max(start, searched), size)
            self._bound((end.end() if end else size) - start)
            if end is None:
                self._pending = buffer[start:size]
                break
            self._read(bytes(memoryview(buffer)[start : end.end()]))
            start = end.end()
        return (buffer, start, size) if self.whole else (buffer, size, size)

    def _passed_over(self, buffer: bytearray, start: int, size: int) -> int:
        """The start of the first line that is not empty; raises a fault if it is no status line."""
        begins = start
        while begins < size and buffer[begins] in b"\r\n":
            begins += 1
        self._forgotten += begins - start
        if not buffer[begins : min(begins + len(_START), size)].upper() == _START[: size - begins]:
            raise FetchFault(FailureKind.BAD_HTTP, "no status line")
        return begins

    def _bound(self, length: int) -> None:
        if length + self._forgotten > self._limits.head_bytes:
            limit = self._limits.head_bytes
            raise FetchFault(FailureKind.BAD_HTTP, f"head longer than {limit} bytes")

    def _read(self, raw: bytes) -> None:
        if raw.count(b"\n") > self._limits.head_lines:
            limit = self._limits.head_lines
            raise FetchFault(FailureKind.BAD_HTTP, f"head of more than {limit} lines")
        head = read_head(raw)
        if head is None:
            raise FetchFault(FailureKind.BAD_HTTP, "no HTTP")
        if head.status == _SWITCHING:
            raise FetchFault(FailureKind.BAD_HTTP, f"unasked-for status {head.status}")
        if head.status < _FINAL:
            self._forgotten += len(raw)
            return
        self.framing = framing_of(head)
        self.status = head.status
        self.headers = head.fields
        self.raw = raw
        self.whole = True


_CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_FREE_FRAMING = 64 * 1024
"""As large as a head may be."""
_FRAMING_PER_BYTE = 8
"""Chunks of a single byte have six each."""


class Body:
    """The body of a response: removes the transfer coding, and keeps no more than wanted.

    Bodies with a length are counted, those without one end with the connection, chunked ones go
    through the parser. At most ``max_bytes`` are kept: then the body is complete, marked as
    truncated, and the connection is closed. Chunk framing counts towards ``max_bytes``, and a body
    that is hardly more than framing is treated as an attack. Data is held in one buffer, however
    small its parts were.

    With a known length, or open-ended if ``awaited`` is None.
    """

    __slots__ = ("_came", "_max_bytes", "awaited", "clean", "done", "truncated", "witness")

    def __init__(self, awaited: int | None, max_bytes: int) -> None:
        self.awaited = awaited
        """Bytes still to come, if known."""
        self.done = awaited == 0
        self.clean = awaited is not None
        """Whether the connection can be used again after this body."""
        self.truncated = ""
        self.witness: Callable[[bytes | memoryview], bool] | None = None
        """Sees each part, and says whether that is enough."""
        self._max_bytes = max_bytes
        self._came = bytearray()

    @property
    def payload(self) -> bytes:
        return bytes(self._came)

    @property
    def empty(self) -> bool:
        return not self._came

    @property
    def announced(self) -> int | None:
        """Bytes still to come, as far as they are wanted; None: the length is not known."""
        return (
            None if self.awaited is None else min(self.awaited, self._max_bytes - len(self._came))
        )

    def feed(self, piece: memoryview) -> None:
        """Take received bytes."""
        came = len(piece)
        if self.awaited is not None:
            if came > self.awaited:
                self.clean = False
                came = self.awaited
            self.awaited -= came
            self.done = not self.awaited
        if came:
            self._add(piece[:came])

    def end(self) -> None:
        """The connection ended, which completes an open-ended body."""
        self.done = self.done or self.awaited is None

    def _add(self, part: bytes | memoryview) -> None:
        left = self._max_bytes - len(self._came)
        if len(part) > left:
            part = part[: max(left, 0)]
            self.stop("length")
        self._came += part
        if self.witness is not None and self.witness(part):
            self.stop()

    def stop(self, why: str = "unspecified") -> None:
        """No more is wanted; ``why``: a reason as in WARC-Truncated."""
        self.truncated = self.truncated or why
        self.clean = False
        self.done = True


class ChunkedBody(Body):
    """Chunked; the end of the connection never completes it."""

    __slots__ = ("_fed", "_parser")

    def __init__(self, max_bytes: int) -> None:
        super().__init__(None, max_bytes)
        self.clean = True
        self._fed = 0
        """Bytes with their framing."""
        self._parser = httptools.HttpResponseParser(self)
        self._parser.feed_data(_CHUNKED_HEAD)

    def feed(self, piece: memoryview) -> None:
        self._fed += len(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserError as error:
            self.clean = False
            if not self.done:
                raise FetchFault(FailureKind.BAD_HTTP, str(error) or "bad chunks") from error
        if self.done:
            return
        body = len(self._came)
        if self._fed - body > _FREE_FRAMING + _FRAMING_PER_BYTE * body:
            raise FetchFault(FailureKind.BAD_HTTP, "more chunk framing than body")
        if self._fed > self._max_bytes:
            self.stop("length")

    def end(self) -> None:
        pass

    def on_body(self, part: bytes) -> None:
        """Called by the parser."""
        if not self.done:
            self._add(part)

    def on_message_begin(self) -> None:
        """Called by the parser: bytes after the last chunk look like another response."""
        self.clean = not self.done

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self.done = True


def body_of(framing: Framing, max_bytes: int) -> Body:
    """The body for a framing."""
    return ChunkedBody(max_bytes) if framing.chunked else Body(framing.length, max_bytes)


_BODILESS = frozenset((204, 304))
_TELLING = frozenset(("connection", "content-length", "transfer-encoding"))
_MOST_DIGITS = 18
_LONGEST_KNOWN = 256
_NOT_CODED = frozenset(("", "identity"))


class Framing(msgspec.Struct, frozen=True, gc=False):
    """Where the body of a response ends, and whether the connection can be used again after it.

    RFC 9112, 6.3, in its order: statuses without a body; a transfer coding, which overrides any
    length; a length; else the end of the connection. Repeated lengths count if they agree (``5``,
    ``5, 5``), else the response is refused. A length that is no number is ignored, as in browsers:
    the body then ends with the connection.

    Ambiguous responses (a coding beside a length, a repeated length, chunks in HTTP/1.0) are read,
    but the connection is closed afterwards, so that nothing that follows can be taken for a
    response.

    ``length`` None: the end of the connection, or the last chunk, ends the body.
    """

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


def _words(value: str) -> tuple[str, ...]:
    return _split_short(value) if len(value) <= _LONGEST_KNOWN else _split(value)


def _split(value: str) -> tuple[str, ...]:
    return tuple([word.strip() for word in value.lower().split(",")])


_split_short = lru_cache(256)(_split)


class ResponseFilter:
    """Which responses are downloaded: decided by the head, before the body arrives.

    Only responses with status 2xx are checked: redirects and errors are short, and the crawl needs
    them. A response without a type or length is downloaded; one that turns out to be too long is
    aborted. In both cases the connection is closed, since the rest is on its way.

    The conditions of one request.
    """

    __slots__ = ("_most_bytes", "_types")

    def __init__(self, types: Iterable[str], most_bytes: int | None) -> None:
        self._types = tuple(types)
        self._most_bytes = most_bytes

    @classmethod
    def for_request(cls, request: FetchRequest) -> ResponseFilter | None:
        """None: no conditions."""
        if not request.types and not request.whole_only:
            return None
        return cls(request.types, request.max_bytes if request.whole_only else None)

    def judge(self, status: int, headers: Fields, length: int | None) -> None:
        """Raises `FetchFault` if the response is not wanted; ``length`` None: not known."""
        if not 200 <= status < 300:
            return
        kind = _media_type(headers)
        if self._types and kind and not any(_matches(kind, wanted) for wanted in self._types):
            raise FetchFault(FailureKind.UNWANTED_TYPE, kind)
        if length is not None:
            self.judge_length(length)

    def judge_length(self, length: int) -> None:
        if self._most_bytes is not None and length > self._most_bytes:
            raise FetchFault(FailureKind.TOO_LARGE, format_size(Bytes(length)))

    def judge_cut(self, truncated: str) -> None:
        """The same for a body that was cut because it was too long."""
        if self._most_bytes is not None and truncated == "length":
            most = format_size(Bytes(self._most_bytes))
            raise FetchFault(FailureKind.TOO_LARGE, f"more than {most}")


def _media_type(headers: Fields) -> str:
    """In lower case, without parameters; empty: not given."""
    for name, value in headers:
        if name == "content-type":
            return value.partition(";")[0].strip().lower()
    return ""


def _matches(kind: str, wanted: str) -> bool:
    """
    >>> _matches("text/html", "text/*"), _matches("text/html", "*/*")
    (True, True)
    >>> _matches("image/png", "text/*"), _matches("text/html", "text/html")
    (False, True)
    """
    if wanted.endswith("/*"):
        return wanted == "*/*" or kind.startswith(wanted[:-1])
    return kind == wanted
