"""Bytes in and out of one socket, with or without TLS.

All channels of a loop receive into the same two buffers, since each piece is used up before the
next is read: memory does not grow with connections.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from collections.abc import Callable

from headgate.fetching.faults import FetchFault
from headgate.fetching.reply import Reply
from headgate.fetching.tcp import Line
from headgate.fetching.tls import TlsStream
from headgate.model.fetch import FailureKind

__all__ = ["Buffers", "Channel"]


class Buffers:
    """For received bytes, and for decrypted ones."""

    __slots__ = ("plain", "received")

    def __init__(self) -> None:
        self.received = bytearray(256 * 1024)
        self.plain = bytearray(64 * 1024)


class Channel:
    """``_unsent``: bytes that the kernel has not yet taken; a writer callback is registered
    meanwhile."""

    __slots__ = ("_buffers", "_loop", "_sock", "_unsent", "line", "stream")

    def __init__(self, line: Line, stream: TlsStream | None, buffers: Buffers) -> None:
        self.line = line
        self.stream = stream
        self._sock = line.sock
        self._buffers = buffers
        self._loop = asyncio.get_running_loop()
        self._unsent = b""

    def watch(self, on_readable: Callable[[], None]) -> None:
        self._loop.add_reader(self._sock, on_readable)

    def look_away(self, *, crumbs: bool) -> None:
        """Stop reading: data stays in the kernel; if it comes in ``crumbs``, outside of it.

        Unread data shrinks the window, so the kernel delays its acknowledgement by up to 40 ms. A
        near server takes that for a loss and retransmits; from a far one, paid bytes come late at
        first, and then all at once. So the low-water mark tells the kernel that nobody reads, which
        makes it acknowledge most segments at once; acknowledgements that it still holds back are
        triggered when the announced data has had time to arrive, and again after the next segment.
        """
        self._loop.remove_reader(self._sock)
        if crumbs:
            self.line.shut()
        else:
            self.line.expect_no_reader()

    def look_again(self, on_readable: Callable[[], None]) -> None:
        self.line.reopen()
        self.line.expect_reader()
        self.watch(on_readable)

    def send(self, data: bytes) -> None:
        """Send all of it, the rest later if necessary; raises OSError."""
        self._push(data if self.stream is None else self.stream.seal(data))

    def receive(self, most: int) -> int:
        """Read up to ``most`` bytes into the buffer; returns their number, -1 for none yet.

        0 is the end of the stream; OSError is raised for errors.
        """
        received = self._buffers.received
        try:
            size = self._sock.recv_into(received, min(most, len(received)))
        except (BlockingIOError, InterruptedError):
            return -1
        self.line.read += size
        return size

    def stirs(self) -> bool:
        """Whether there is something to receive, also an end or an error."""
        glance = select.poll()
        glance.register(self._sock, select.POLLIN)
        return bool(glance.poll(0))

    def feed(self, reply: Reply, size: int) -> bool:
        """Pass the buffer's first ``size`` bytes to a reply; true when it is complete."""
        if self.stream is None:
            return reply.feed(self._buffers.received, size)
        plain = self._buffers.plain
        self.stream.take(memoryview(self._buffers.received)[:size])
        while (count := self._unseal(self.stream)) > 0:
            if reply.feed(plain, count):
                return True
        return reply.end() if count < 0 else False

    def intact(self, size: int) -> bool:
        """Whether unrequested bytes are harmless: TLS may send session tickets at any time."""
        if self.stream is None:
            return False
        self.stream.take(memoryview(self._buffers.received)[:size])
        try:
            return self._unseal(self.stream) == 0
        except FetchFault:
            return False

    def close(self) -> None:
        self._loop.remove_reader(self._sock)
        if self._unsent:
            self._loop.remove_writer(self._sock)
        self.line.close()

    def _unseal(self, stream: TlsStream) -> int:
        try:
            return stream.read_into(self._buffers.plain)
        except ssl.SSLError as error:
            raise FetchFault(FailureKind.TLS, error.reason or str(error)) from error

    def _push(self, data: bytes) -> None:
        try:
            sent = self._sock.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        rest = data[sent:]
        if rest and not self._unsent:
            self._loop.add_writer(self._sock, self._push_rest)
        elif self._unsent and not rest:
            self._loop.remove_writer(self._sock)
        self._unsent = rest

    def _push_rest(self) -> None:
        try:
            self._push(self._unsent)
        except OSError:
            # Reading will show why, and what the server sent before it closed.
            self._loop.remove_writer(self._sock)
            self._unsent = b""
