"""The body of a response, without its transfer coding, and no more of it than wanted.

Bodies with a length are counted off, those without one end with the connection, chunked ones go
through the parser. At most ``max_bytes`` are kept: then the body is done and marked truncated, and
the connection has to go. A stretch of chunk framing or trailers longer than a head may be, without
a byte of body in it, is taken for an attack.
"""

from __future__ import annotations

import httptools

from headgate.fetching.faults import FetchFault
from headgate.model.fetch import FailureKind

__all__ = ["Body", "ChunkedBody", "body_of"]

_BODILESS = frozenset((204, 304))
_CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_LONGEST_FRAMING = 64 * 1024


class Body:
    """Counted off, or open-ended when ``awaited`` is None."""

    __slots__ = ("_max_bytes", "_parts", "_size", "awaited", "clean", "done", "truncated")

    def __init__(self, awaited: int | None, max_bytes: int) -> None:
        self.awaited = awaited
        """Bytes still to come, where that is known."""
        self.done = awaited == 0
        self.clean = awaited is not None
        """Whether the connection stands right behind this body, fit for another."""
        self.truncated = ""
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def payload(self) -> bytes:
        parts = self._parts
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def empty(self) -> bool:
        return not self._size

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
            self._add(bytes(piece[:came]))

    def end(self) -> None:
        """The connection ended: an open-ended body is whole by that."""
        self.done = self.done or self.awaited is None

    def _add(self, part: bytes) -> None:
        left = self._max_bytes - self._size
        if len(part) > left:
            part = part[: max(left, 0)]
            self.truncated = "length"
            self.clean = False
            self.done = True
        self._size += len(part)
        self._parts.append(part)


class ChunkedBody(Body):
    """Taken out of its chunks; an end of the connection is never the end of it."""

    __slots__ = ("_framing", "_parser")

    def __init__(self, max_bytes: int) -> None:
        super().__init__(None, max_bytes)
        self.clean = True
        self._framing = 0
        """Bytes without any of body since the last one."""
        self._parser = httptools.HttpResponseParser(self)
        self._parser.feed_data(_CHUNKED_HEAD)

    def feed(self, piece: memoryview) -> None:
        before = self._size
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserError as error:
            self.clean = False
            if not self.done:
                raise FetchFault(FailureKind.BAD_HTTP, str(error) or "bad chunks") from error
        self._framing = 0 if self._size > before else self._framing + len(piece)
        if self._framing > _LONGEST_FRAMING and not self.done:
            raise FetchFault(FailureKind.BAD_HTTP, "chunk framing without end")

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


def body_of(status: int, headers: list[tuple[str, str]], max_bytes: int) -> Body:
    """The kind of body that such a head announces. The parser saw to it that lengths agree."""
    if status in _BODILESS:
        return Body(0, max_bytes)
    length: int | None = None
    for name, value in headers:
        if name == "transfer-encoding":
            chunked = value.lower().rpartition(",")[2].strip() == "chunked"
            return ChunkedBody(max_bytes) if chunked else Body(None, max_bytes)
        if name == "content-length":
            length = int(value)
    return Body(length, max_bytes)
