"""The body of a response: removes the transfer coding, and keeps no more than wanted.

Bodies with a length are counted, those without one end with the connection, chunked ones go through
the parser. At most ``max_bytes`` are kept: then the body is complete, marked as truncated, and the
connection is closed. Chunk framing counts towards ``max_bytes``, and a body that is hardly more
than framing is treated as an attack. Data is held in one buffer, however small its parts were.
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
"""As large as a head may be."""
_FRAMING_PER_BYTE = 8
"""Chunks of a single byte have six each."""


class Body:
    """With a known length, or open-ended if ``awaited`` is None."""

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
