"""ICMP echo requests of one address family, and their replies with the time of arrival.

Linux lets ordinary users send echo requests if net.ipv4.ping_group_range includes them; root can
use a raw socket, which also receives replies to others. The kernel timestamps arrivals, so that a
busy event loop is not taken for a slow line.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct

import msgspec

__all__ = ["Echo", "EchoSocket"]

_HEADER = struct.Struct("!BBHHH")
"""Type, code, checksum, identifier, sequence number."""
_TIMESPEC = struct.Struct("=qq")
_SO_TIMESTAMPNS = 35
"""Linux's number; also the type of the control message."""
_REQUEST = {socket.AF_INET: 8, socket.AF_INET6: 128}
_REPLY = {socket.AF_INET: 0, socket.AF_INET6: 129}
_PROTOCOL = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}


class Echo(msgspec.Struct, frozen=True):
    """An answer."""

    address: str
    number: int
    cookie: bytes
    arrived: float | None
    """Seconds since 1970 by the kernel; None: no timestamp."""


class EchoSocket:
    """Never blocks; raises OSError if echo requests are not allowed."""

    def __init__(self, family: socket.AddressFamily) -> None:
        self._family = family
        self._whose = os.getpid() & 0xFFFF
        self._raw = False
        try:
            self.sock = socket.socket(family, socket.SOCK_DGRAM, _PROTOCOL[family])
        except PermissionError:
            self.sock = socket.socket(family, socket.SOCK_RAW, _PROTOCOL[family])
            self._raw = True
        self.sock.setblocking(False)
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)

    def send(self, address: str, number: int, cookie: bytes) -> None:
        """Send a request; the cookie comes back in the reply."""
        kind = _REQUEST[self._family]
        blank = _HEADER.pack(kind, 0, 0, self._whose, number)
        # Only raw IPv4 sockets need it: the kernel fills it in for IPv6 and for datagrams.
        checksum = _checksum(blank + cookie) if self._with_ip_header else 0
        header = _HEADER.pack(kind, 0, checksum, self._whose, number)
        self.sock.sendto(header + cookie, (address, 0))

    def receive(self) -> Echo | None:
        """The next reply; None: it was something else. Raises BlockingIOError if there is
        nothing."""
        data, control, _, sender = self.sock.recvmsg(256, 128)
        if self._with_ip_header:
            data = data[(data[0] & 0x0F) * 4 :]
        if len(data) < _HEADER.size:
            return None
        kind, _, _, _, number = _HEADER.unpack_from(data)
        if kind != _REPLY[self._family]:
            return None
        return Echo(sender[0], number, data[_HEADER.size :], _arrival(control))

    @property
    def _with_ip_header(self) -> bool:
        return self._raw and self._family == socket.AF_INET


def _arrival(control: list[tuple[int, int, bytes]]) -> float | None:
    for level, kind, data in control:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            return float(seconds + nanoseconds * 1e-9)
    return None


def _checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of an even number of bytes.

    >>> hex(_checksum(bytes.fromhex("0001f203f4f5f6f7")))
    '0x220d'
    """
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
