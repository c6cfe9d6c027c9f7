"""A TCP connection as the kernel sees it: what arrived, and how wide it is open.

The counts come from TCP_INFO, so they are those of the wire: payload bytes as they arrived, read or
not, and segments, from which the frame headers follow.
"""

from __future__ import annotations

import socket
import struct

from headgate.traffic.window import FRAME_HEADERS, Opening

__all__ = ["Line", "open_socket", "round_trip_seconds"]

_COUNTS = struct.Struct("=128xQ4xI")
_ROUND_TRIP = struct.Struct("=68xI")
_WIDEST_UNSCALED = 64_000


class Line:
    """One connected socket with its counts. ``read`` never goes above what was received."""

    __slots__ = ("_last", "read", "rtt", "settled", "sock", "window")

    def __init__(self, sock: socket.socket, opening: Opening | None) -> None:
        self.sock = sock
        self.window = None if opening is None else opening.window
        """What was asked for; None: the kernel's own, which grows."""
        self.read = 0
        """Stream bytes taken out of the kernel so far."""
        self.settled = 0
        """Wire bytes accounted for so far."""
        self.rtt = round_trip_seconds(sock)
        self._last: tuple[int, int] | None = None
        """The final counts of a closed connection."""

    def arrivals(self) -> tuple[int, int]:
        """Stream bytes and wire bytes that came since the connection began."""
        if self._last is not None:
            return self._last
        info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _COUNTS.size)
        stream, segments = _COUNTS.unpack(info)
        return stream, stream + FRAME_HEADERS * segments

    def settle(self) -> int:
        """The wire bytes since this was last asked."""
        _, wire = self.arrivals()
        fresh = wire - self.settled
        self.settled = wire
        return fresh

    def expect_no_reader(self) -> None:
        """Below the low-water mark the kernel acknowledges every other segment at once."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _WIDEST_UNSCALED)

    def expect_reader(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)

    def acknowledge(self) -> None:
        """Send an acknowledgement that the kernel holds back, if there is one."""
        if self._last is None:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def close(self) -> None:
        self._last = self.arrivals()
        self.sock.close()

    def widen(self, opening: Opening) -> None:
        """Open a narrow connection wider while it runs, as far as that goes.

        What a narrow window may become was settled when the connection began: it was too small to
        need scaling, so 64 KB is the most. Wider takes a new connection.
        """
        wider = min(opening.window, _WIDEST_UNSCALED)
        if self.window is None or self.window >= wider:
            return
        self.window = wider
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, Opening(wider).buffer)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, wider)


def open_socket(address: str, opening: Opening | None) -> socket.socket:
    """A socket ready to connect: the window has to be told before, for that is when it is said."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if opening is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, opening.buffer)
    return sock


def round_trip_seconds(sock: socket.socket) -> float:
    """The smoothed round trip; after connect, that of the handshake."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ROUND_TRIP.size)
    return float(_ROUND_TRIP.unpack(info)[0]) * 1e-6
