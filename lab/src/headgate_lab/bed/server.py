"""A web server for the bed: ``/small/<anything>`` is a page of 10 KB, ``/large/<anything>`` a file
of 5 MB, ``/bytes/<n>/<anything>`` as many bytes as asked for, ``/drops/<n>/<anything>`` the same in
segments of a byte, four every millisecond. Otherwise it answers as fast as the line takes it. It
has no time-outs, and ends when its standard input closes. Connections use the congestion control
named, cubic unless told otherwise: most servers do.

    python -m headgate_lab.bed.server PORT [CONGESTION_CONTROL]
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import cast

import uvloop

__all__ = ["LARGE_BYTES", "SMALL_BYTES", "main"]

SMALL_BYTES = 10_000
LARGE_BYTES = 5_000_000

_DROPS_AT_ONCE = 4
_DROPS_SECONDS = 0.001


class _Answers(asyncio.Protocol):
    """Requests are short GETs without a body; a torn one waits for its rest."""

    def __init__(self) -> None:
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in whole:
            self._answer(request.split(b" ", 2)[1])

    def _answer(self, target: bytes) -> None:
        size = _size(target)
        head = (
            "HTTP/1.1 200 OK\r\nServer: bed\r\nContent-Type: application/octet-stream\r\n"
            f"Cache-Control: no-store\r\nContent-Length: {size}\r\n\r\n"
        )
        self._transport.write(head.encode())
        if target.startswith(b"/drops/"):
            self._drop(size)
        else:
            self._transport.write(_BODY[:size])

    def _drop(self, left: int) -> None:
        if self._transport.is_closing():
            return
        for _ in range(min(left, _DROPS_AT_ONCE)):
            self._transport.write(b".")
        if left > _DROPS_AT_ONCE:
            loop = asyncio.get_running_loop()
            loop.call_later(_DROPS_SECONDS, self._drop, left - _DROPS_AT_ONCE)


_BODY = memoryview(bytes(LARGE_BYTES))


def _size(target: bytes) -> int:
    if target.startswith(b"/large/"):
        return LARGE_BYTES
    if target.startswith((b"/bytes/", b"/drops/")):
        return min(int(target.split(b"/")[2]), LARGE_BYTES)
    return SMALL_BYTES


async def _serve(port: int, congestion_control: str) -> None:
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("0.0.0.0", port), backlog=4096)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
    server = await loop.create_server(_Answers, sock=listener)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main(port: int, congestion_control: str = "cubic") -> None:
    uvloop.run(_serve(port, congestion_control))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:3])
