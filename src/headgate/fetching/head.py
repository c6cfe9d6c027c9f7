"""The head of a response: status line and headers, exactly as they came.

It is looked for in our own buffer and given to the parser (httptools, llhttp: strict about lengths
and characters) only when it is whole, so neither holds more of it than the limit, and the exact
bytes are at hand for the archive. Provisional responses (1xx) are read and forgotten; their bytes
count towards the limit, so an endless row of them ends.
"""

from __future__ import annotations

import re

import httptools

from headgate.fetching.faults import FetchFault
from headgate.fetching.limits import Limits
from headgate.model.fetch import FailureKind

__all__ = ["Head"]

_END = re.compile(rb"\n\r?\n")
_NAMES: dict[bytes, str] = {}
"""Header names in lower case, so that a crawl has one string of each."""
_MOST_NAMES = 2048


class Head:
    """Feed it until it is ``whole``; then the other fields hold."""

    __slots__ = (
        "_forgotten",
        "_limits",
        "_parser",
        "_pending",
        "headers",
        "keep_alive",
        "raw",
        "status",
        "whole",
    )

    def __init__(self, limits: Limits) -> None:
        self.whole = False
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.raw = b""
        self.keep_alive = False
        self._limits = limits
        self._pending = b""
        self._forgotten = 0
        """Bytes of provisional heads."""
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, buffer: bytearray, size: int) -> tuple[bytearray, int, int]:
        """Take a buffer's first ``size`` bytes; what follows the head is (buffer, from, to)."""
        if self._pending:
            buffer = bytearray(self._pending) + memoryview(buffer)[:size]
            size = len(buffer)
            self._pending = b""
        start = 0
        while not self.whole and start < size:
            if not buffer.startswith(b"HTTP/"[: size - start], start):
                raise FetchFault(FailureKind.BAD_HTTP, "no status line")
            end = _END.search(buffer, start, size)
            self._bound((end.end() if end else size) - start)
            if end is None:
                self._pending = bytes(memoryview(buffer)[start:size])
                return buffer, size, size
            self._read(bytes(memoryview(buffer)[start : end.end()]))
            start = end.end()
        return buffer, start, size

    def _bound(self, length: int) -> None:
        if length + self._forgotten > self._limits.head_bytes:
            limit = self._limits.head_bytes
            raise FetchFault(FailureKind.BAD_HTTP, f"head longer than {limit} bytes")

    def _read(self, raw: bytes) -> None:
        try:
            self._parser.feed_data(raw if b"\r\n" in raw else raw.replace(b"\n", b"\r\n"))
        except httptools.HttpParserUpgrade:
            pass
        except httptools.HttpParserError as error:
            raise FetchFault(FailureKind.BAD_HTTP, str(error) or "not HTTP") from error
        status = self._parser.get_status_code()
        if status == 101 or status < 100:
            raise FetchFault(FailureKind.BAD_HTTP, f"unasked-for status {status}")
        if len(self.headers) > self._limits.head_lines:
            limit = self._limits.head_lines
            raise FetchFault(FailureKind.BAD_HTTP, f"head of more than {limit} lines")
        if status < 200:
            self._forgotten += len(raw)
            self.headers = []
            self._parser = httptools.HttpResponseParser(self)
            return
        self.status = status
        self.raw = raw
        self.whole = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        known = _NAMES.get(name)
        if known is None:
            known = name.decode("latin-1").lower()
            if len(_NAMES) < _MOST_NAMES:
                _NAMES[name] = known
        self.headers.append((known, value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        self.keep_alive = self._parser.should_keep_alive()
