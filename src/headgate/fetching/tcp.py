"""A TCP connection as the kernel sees it: bytes arrived, and its receive window.

The counts come from TCP_INFO, so they are those of the wire: payload bytes as they arrived, read or
not, and segments, from which the frame headers follow.

A window bounds bytes, not segments: a server that sends a byte per segment may put sixty times the
window on the wire. Such a connection is shut while it has to wait: a socket filter drops tiny
segments (crumbs) before TCP sees them, so the server has to stop after its congestion window and
later sends full segments. Those pass: the window bounds them.
"""

from __future__ import annotations

import ctypes
import socket
import struct

from headgate.bandwidth.receive_window import FRAME_HEADERS, NARROWEST, SEGMENT, Opening

__all__ = ["TcpConnection", "open_socket", "round_trip_seconds"]

_COUNTS = struct.Struct("=128xQ4xI")
_ROUND_TRIP = struct.Struct("=68xI")
_WIDEST_UNSCALED = 64_000
_HANDSHAKE_OPTIONS = 8
"""TCP options in the server's first segment beyond those of later ones, in bytes."""
_TIME_STAMPS = 12
"""TCP options that a segment size must leave room for, in bytes."""

_SO_ATTACH_FILTER, _SO_DETACH_FILTER, _SO_MEMINFO = 26, 27, 55
_DROPS = struct.Struct("=32xI")
_INSTRUCTION = struct.Struct("=HBBI")
_CRUMB = FRAME_HEADERS // 2
"""Least payload of a segment that passes the filter, in bytes."""
_DROP_CRUMBS = ctypes.create_string_buffer(
    b"".join(
        _INSTRUCTION.pack(*instruction)
        for instruction in (
            (0x30, 0, 0, 12),  # the byte with the length of the TCP header, in words
            (0x54, 0, 0, 0xF0),
            (0x74, 0, 0, 2),  # in bytes
            (0x07, 0, 0, 0),
            (0x80, 0, 0, 0),  # the length of the segment
            (0x1C, 0, 0, 0),  # less that of the header
            (0x15, 1, 0, 0),  # nothing left: an acknowledgement or an end
            (0x35, 0, 1, _CRUMB),  # or enough
            (0x06, 0, 0, 0xFFFFFFFF),  # let it in
            (0x06, 0, 0, 0),  # drop it
        )
    )
)
_FILTER = struct.pack("HP", len(_DROP_CRUMBS) // _INSTRUCTION.size, ctypes.addressof(_DROP_CRUMBS))


class TcpConnection:
    """One connected socket with its counters. ``read`` never exceeds what was received."""

    __slots__ = (
        "_dropped_bytes",
        "_drops",
        "_last",
        "_shut",
        "read",
        "rtt",
        "settled",
        "sock",
        "window",
    )

    def __init__(self, sock: socket.socket, opening: Opening | None) -> None:
        self.sock = sock
        self.window = None if opening is None else opening.window
        """The window that was set; None: the kernel's own, which grows."""
        self.read = 0
        """Stream bytes read so far."""
        self.settled = 0
        """Wire bytes accounted for so far."""
        self.rtt = round_trip_seconds(sock)
        self._last: tuple[int, int] | None = None
        """The final counters of a closed connection."""
        self._drops = 0
        """Segments dropped by the filter, as last seen."""
        self._dropped_bytes = 0
        self._shut: bool | None = None
        """None: it was never shut."""

    def hold_window(self) -> None:
        """For a stream in records, whose segments are not all full. The kernel guesses how much
        data fits into its buffer; if that is less than the announced window, a part of a segment
        remains now and then, and the server waits half a second before it fills it. If all segments
        are full, the guess keeps bursts small."""
        if self.window is not None:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, self.window)

    def arrivals(self) -> tuple[int, int]:
        """Stream bytes and wire bytes since the connection began.

        Dropped segments are counted with one byte of payload each, as most have.
        """
        if self._last is not None:
            return self._last
        info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _COUNTS.size)
        stream, segments = _COUNTS.unpack(info)
        if self._shut is not None:
            drops = self.sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _DROPS.size)
            fresh = _DROPS.unpack(drops)[0] - self._drops
            self._drops += fresh
            self._dropped_bytes += fresh * (FRAME_HEADERS + 1)
        wire = stream + FRAME_HEADERS * segments + _HANDSHAKE_OPTIONS
        return stream, wire + self._dropped_bytes

    def has_read(self, size: int) -> None:
        self.read += size

    def settle(self) -> int:
        """The wire bytes since the last call."""
        _, wire = self.arrivals()
        fresh = wire - self.settled
        self.settled = wire
        return fresh

    def expect_no_reader(self) -> None:
        """Below the low-water mark the kernel acknowledges every other segment at once."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _WIDEST_UNSCALED)

    def expect_reader(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)

    def shut(self) -> None:
        """Drop tiny segments from now on."""
        self.sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _FILTER)
        self._shut = True

    def reopen(self) -> None:
        """Let all segments pass again, if the connection was shut."""
        if self._shut:
            self.sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
            self._shut = False

    def acknowledge(self) -> None:
        """Send a delayed acknowledgement, if there is one."""
        if self._last is None:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def close(self) -> None:
        self._last = self.arrivals()
        self.sock.close()

    def widen(self, opening: Opening) -> None:
        """Widen the window of an open connection, as far as possible.

        A connection opened with a narrow window has no window scaling, so 64 KB is the limit; more
        takes a new connection. One for crumbs stays as it is.
        """
        wider = min(opening.window, _WIDEST_UNSCALED)
        if self.window is None or self.window >= wider or self.window == NARROWEST.window:
            return
        self.window = wider
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, Opening(wider).buffer)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, wider)


def open_socket(address: str, opening: Opening | None) -> socket.socket:
    """A socket ready to connect: the window has to be set before, since it is announced then."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if opening is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, opening.buffer)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT + _TIME_STAMPS)
    return sock


def round_trip_seconds(sock: socket.socket) -> float:
    """The smoothed round trip; after connect, that of the handshake."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ROUND_TRIP.size)
    return float(_ROUND_TRIP.unpack(info)[0]) * 1e-6
