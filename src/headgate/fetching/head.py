"""The head of a response: status line and headers, exactly as received.

It is collected in our own buffer and parsed (`reading.http_head`) when it is complete, so no more
than the limit is held, and the exact bytes are available for the archive. Empty lines before it,
which some servers send, and provisional responses (1xx) are skipped; both count towards the limit,
so an endless series of them ends.
"""

from __future__ import annotations

import re

from headgate.fetching.faults import FetchFault
from headgate.fetching.framing import Framing, framing_of
from headgate.fetching.limits import Limits
from headgate.model.fetch import FailureKind
from headgate.reading.http_head import Fields, read_head

__all__ = ["Head"]

_END = re.compile(rb"\n\r?\n")
_LONGEST_END = 3
_START = b"HTTP/"
_SWITCHING, _FINAL = 101, 200


class Head:
    """Feed it until it is ``whole``; then the other fields are valid."""

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
