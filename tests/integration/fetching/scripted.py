"""Servers that do as they are told, on real sockets, and a fetcher to send at them.

A script is a coroutine that gets one connection; `said` reads a request head from it. The fetcher
is patient, lest a busy machine end what should succeed; a test of a time-out makes that one short.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import uvloop

from headgate.engine.clock import AwakeClock
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.fetching.dns import FixedResolver
from headgate.fetching.limits import Limits
from headgate.fetching.meter import Meter
from headgate.model.fetch import Fetched, FetchFailure, FetchRequest

PATIENT = Limits(
    connect_seconds=60.0,
    first_byte_seconds=60.0,
    stall_seconds=60.0,
    total_seconds=120.0,
    connections_per_host=4,
)
MOST = 1_000_000


class Wire:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def said(self) -> bytes:
        """The next request's head; empty when the client hung up."""
        try:
            return await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""

    async def say(self, *pieces: bytes, pause: float = 0.0) -> None:
        for piece in pieces:
            if self.writer.is_closing():
                raise ConnectionResetError
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(pause)

    async def pour(self, piece: bytes) -> None:
        """Say it again and again until the client hangs up."""
        while True:
            await self.say(piece)

    def reset(self) -> None:
        """Hang up with an RST."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Wire], Awaitable[None]]


@dataclass
class Server:
    """A scripted server and what it saw."""

    port: int
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def serving(
    script: Script, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Server]:
    tasks: set[asyncio.Task[None]] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        state.connections += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await script(Wire(reader, writer))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(accepted, host, 0, ssl=tls)
    state = Server(server.sockets[0].getsockname()[1])
    try:
        yield state
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def fetching(
    limits: Limits = PATIENT, meter: Meter | None = None
) -> AsyncIterator[HttpFetcher]:
    settings = FetcherSettings(
        "https://example.org/crawler", limits, named=frozenset({"127.0.0.1", "named.test"})
    )
    async with HttpFetcher(
        settings, meter, FixedResolver({"*": "127.0.0.1"}), clock=AwakeClock()
    ) as fetcher:
        yield fetcher


def asking(url: str, *, max_bytes: int = MOST, expected: int = 5_000) -> FetchRequest:
    return FetchRequest(url, "site", expected, max_bytes)


def fetch_once(
    script: Script, *, limits: Limits = PATIENT, max_bytes: int = MOST, partial: bool = False
) -> Fetched | FetchFailure:
    """One fetch from one scripted server."""

    async def session() -> Fetched | FetchFailure:
        async with serving(script) as server, fetching(limits) as fetcher:
            request = asking(server.url(), max_bytes=max_bytes)
            return await fetcher.fetch(msgspec.structs.replace(request, partial=partial))

    return uvloop.run(session())


def answering(*pieces: bytes, pause: float = 0.0, close: bool = True) -> Script:
    """A script that answers one request with these pieces."""

    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(*pieces, pause=pause)
        if not close:
            await wire.said()

    return script


def page(body: bytes, *lines: bytes) -> bytes:
    """A proper response."""
    head = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *lines, b"", b""]
    return b"\r\n".join(head) + body
