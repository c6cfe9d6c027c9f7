"""Connections through a proxy: HTTP CONNECT (RFC 9110 9.3.6), or SOCKS5 (RFC 1928, 1929).

The proxy resolves names. Its replies are limited in length here, and in time by the opener; their
bytes count as the connection's.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from base64 import b64encode
from urllib.parse import unquote, urlsplit

import msgspec

from headgate.fetching.errors import FetchFault
from headgate.fetching.open_files import is_ours
from headgate.fetching.origin import Origin
from headgate.model.errors import UserMistake
from headgate.model.fetch import FailureKind

__all__ = ["Proxy"]

_MOST_HEAD = 16_384
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")
_SOCKS_REFUSALS = {
    1: "it failed", 2: "its rules forbid it", 3: "network unreachable", 4: "host unreachable",
    5: "connection refused", 6: "no answer in time", 7: "it has no such command",
    8: "it knows no such address",
}  # fmt: skip


class Proxy(msgspec.Struct, frozen=True):
    """``user`` and ``password`` are empty if it needs none."""

    socks: bool
    host: str
    port: int
    user: str = ""
    password: str = ""

    @classmethod
    def parse(cls, text: str) -> Proxy:
        parts = urlsplit(text.strip())
        try:
            port = parts.port
        except ValueError:
            port = None
        if parts.scheme not in ("http", "socks5") or not parts.hostname or not port:
            raise UserMistake(
                "the proxy is no URL like http://proxy:3128 or socks5://user:password@proxy:1080"
            )
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(parts.scheme == "socks5", parts.hostname, port, user, password)

    def __str__(self) -> str:
        return f"proxy {self.host}:{self.port}"

    @property
    def authorization(self) -> str:
        """Header line for requests to an HTTP proxy; empty: none."""
        if not self.user or self.socks:
            return ""
        words = b64encode(f"{self.user}:{self.password}".encode()).decode()
        return f"Proxy-Authorization: Basic {words}\r\n"

    def asks_itself(self, origin: Origin) -> bool:
        """Whether the proxy forwards requests itself (plain HTTP), without a tunnel."""
        return not self.socks and not origin.secure

    async def tunnel(self, sock: socket.socket, origin: Origin) -> None:
        """Make a tunnel through the proxy to the origin. Raises `FetchFault`, or an OSError if this
        machine is at fault (`limits`)."""
        try:
            if self.socks:
                await self._socks(sock, origin)
            elif origin.secure:
                await self._connect(sock, origin)
        except OSError as error:
            if is_ours(error):
                raise
            raise FetchFault(FailureKind.REFUSED, f"{self}: {error}") from None

    async def _connect(self, sock: socket.socket, origin: Origin) -> None:
        loop = asyncio.get_running_loop()
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        where = f"{host}:{origin.port}"
        head = f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n{self.authorization}\r\n"
        await loop.sock_sendall(sock, head.encode("latin-1"))
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = await loop.sock_recv(sock, 4096)
            answer += piece
            strange = not answer.startswith(b"HTTP/1."[: len(answer)])
            if not piece or strange or len(answer) > _MOST_HEAD:
                raise FetchFault(FailureKind.BAD_HTTP, f"{self} does not answer as one of HTTP")
        status = _STATUS.match(answer)
        if status is None or not status[1].startswith(b"2"):
            code = "no status" if status is None else status[1].decode()
            raise FetchFault(FailureKind.REFUSED, f"{self} answered {code} for {where}")

    async def _socks(self, sock: socket.socket, origin: Origin) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(sock, b"\x05\x02\x00\x02" if self.user else b"\x05\x01\x00")
        version, method = await self._exactly(sock, 2)
        if version != 5:
            raise FetchFault(FailureKind.REFUSED, f"{self} does not answer as one of SOCKS")
        if method not in (0, 2):
            raise FetchFault(FailureKind.REFUSED, f"{self} wants another way to log in")
        if method == 2:
            user, password = self.user.encode()[:255], self.password.encode()[:255]
            words = b"\x01%c%b%c%b" % (len(user), user, len(password), password)
            await loop.sock_sendall(sock, words)
            if (await self._exactly(sock, 2))[1]:
                raise FetchFault(FailureKind.REFUSED, f"{self} does not know the user")
        await loop.sock_sendall(
            sock, b"\x05\x01\x00" + _socks_address(origin.host) + origin.port.to_bytes(2)
        )
        version, answer, _, kind = await self._exactly(sock, 4)
        if version != 5 or answer:
            why = _SOCKS_REFUSALS.get(answer, f"code {answer}")
            raise FetchFault(FailureKind.REFUSED, f"{self}: {why}")
        length = {1: 4, 4: 16}.get(kind) or (await self._exactly(sock, 1))[0]
        await self._exactly(sock, length + 2)

    async def _exactly(self, sock: socket.socket, size: int) -> bytes:
        loop = asyncio.get_running_loop()
        data = b""
        while len(data) < size:
            piece = await loop.sock_recv(sock, size - len(data))
            if not piece:
                raise FetchFault(FailureKind.REFUSED, f"{self} hung up")
            data += piece
        return data


def _socks_address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode()[:255]
        return b"\x03%c%b" % (len(name), name)
    return (b"\x01" if address.version == 4 else b"\x04") + address.packed
