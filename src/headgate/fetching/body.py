"""The body of a response, without its transfer coding, and no more of it than wanted.

Bodies with a length are counted off, those without one end with the connection, chunked ones go
through the parser. At most ``max_bytes`` are kept: then the body is done and marked truncated, and
the connection has to go. Chunk framing counts as what it takes on the line: together with its
framing no body may be longer than ``max_bytes``, and one that is hardly more than framing is taken
for an attack. What came is held in one piece, however small its parts were.
"""

from __future__ import annotations

from collections.abc import Callable

import httptools

from headgate.fetching.faults import FetchFault
from headgate.fetching.framing import Framing
from headgate.model.fetch import FailureKind

__all__ = ["Body", "ChunkedBody", "body_of"]

_CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_FREE_FRAMING = 64 * 1024
"""As long as a head may be."""
_FRAMING_PER_BYTE = 8
"""Chunks of a single byte have six each."""


class Body:
    """Counted off, or open-ended when ``awaited`` is None."""

    __slots__ = ("_came", "_max_bytes", "awaited", "clean", "done", "truncated", "witness")

    def __init__(self, awaited: int | None, max_bytes: int) -> None:
        self.awaited = awaited
        """Bytes still to come, where that is known."""
        self.done = awaited == 0
        self.clean = awaited is not None
        """Whether the connection stands right behind this body, fit for another."""
        self.truncated = ""
        self.witness: Callable[[bytes | memoryview], bool] | None = None
        """Is shown each part, and says whether that is enough."""
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
        """Bytes still to come by its length, as far as they are wanted; None: it has none."""
        return (
            None if self.awaited is None else min(self.awaited, self._max_bytes - len(self._came))
        )

    def feed(self, piece: memoryview) -> None:
        """Take what came."""
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
        """The connection ended: an open-ended body is whole by that."""
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
        """No more of it is wanted; ``why`` in WARC's words."""
        self.truncated = self.truncated or why
        self.clean = False
        self.done = True


class ChunkedBody(Body):
    """Taken out of its chunks; an end of the connection is never the end of it."""

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
    """The kind of body that is framed so."""
    return ChunkedBody(max_bytes) if framing.chunked else Body(framing.length, max_bytes)
