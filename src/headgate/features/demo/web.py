"""The small web of ``headgate demo``: seven sites on loopback, fast, large, slow, far, polite,
broken and endless. Real servers on real sockets; the same seed and year give the same pages.

    async with DemoWeb() as web:
        for place in web.places:
            print(place.name, place.seed, place.bytes, place.deadline)

Crawled at 300 KB/s, all of it takes about half a minute, and every suggested deadline can be met.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Self

from headgate.features.demo.sites import DemoRequest, DemoSite, FailureMode, Response, demo_sites

__all__ = ["DemoPlace", "DemoWeb"]

_FIRST_ADDRESS = 11
"""Of 127.0.0.x: each site has one of its own, as hosts on the Web do."""


@dataclass(frozen=True, slots=True)
class DemoPlace:
    """Where a site is, and what a crawler should know of it."""

    name: str
    about: str
    seed: str
    bytes: int
    """That a crawl moves over the line, about."""
    deadline: float | None
    """Seconds from the start that suit 300 KB/s for all sites."""
    max_rate: float | None
    """What the server can give, in bytes per second; None: more than enough."""


class DemoWeb:
    """Serves inside ``async with``, in the loop that entered it."""

    def __init__(
        self, seed: int = 1, year: int = 2026, sites: Sequence[DemoSite] | None = None
    ) -> None:
        """``year`` is where the endless calendar begins: the year of the crawl. ``sites``: others
        than the seven."""
        chosen = demo_sites(seed, year) if sites is None else sites
        self._servers = [DemoServer(site) for site in chosen]

    async def __aenter__(self) -> Self:
        for number, server in enumerate(self._servers):
            await server.start(f"127.0.0.{_FIRST_ADDRESS + number}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self._servers:
            await server.stop()

    @property
    def places(self) -> tuple[DemoPlace, ...]:
        """All sites, while they are served."""
        return tuple(
            DemoPlace(
                site.name,
                site.about,
                seed=server.seed,
                bytes=site.bytes,
                deadline=site.deadline,
                max_rate=site.max_rate,
            )
            for server in self._servers
            for site in (server.site,)
        )

    def asked(self, name: str) -> Counter[str]:
        """How often each path of a site was requested."""
        return next(server.asked for server in self._servers if server.site.name == name)

    @property
    def moved(self) -> int:
        """Bytes of all requests and answers so far."""
        return sum(server.moved for server in self._servers)


_PIECE_BYTES = 2048
_MODIFIED = "Sun, 15 Nov 2026 12:00:00 GMT"
_CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
_BROKEN_CHUNKS = _CHUNKED + b"10\r\n<p>sixteen bytes\r\nnot a number\r\n"
_CUT_SHORT = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<p>So far"


class DemoServer:
    """One site of the demo web on a real socket: HTTP/1.1 with keep-alive, at the site's speed.

    Serves from `start` to `stop`; ``asked`` counts what was asked for, ``moved`` the bytes of
    requests and answers.
    """

    def __init__(self, site: DemoSite) -> None:
        self.site = site
        self.asked: Counter[str] = Counter()
        self.moved = 0
        self._origin = ""
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._throttle = _Throttle(site.server_rate)

    @property
    def seed(self) -> str:
        """The URL to begin with."""
        return f"{self._origin}/"

    async def start(self, address: str) -> None:
        """Listen on a free port; on the first address if this one is not available."""
        try:
            self._server = await asyncio.start_server(self._accepted, address, 0)
        except OSError:
            self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        self._origin = f"http://{host}:{port}"

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._converse(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until one side closes."""
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            method, path = _request_line(head)
            asked = DemoRequest(path, self.asked[path], self._origin)
            self.asked[path] += 1
            self.moved += len(head)
            await asyncio.sleep(self.site.latency)
            answer = self.site.answering(asked)
            if isinstance(answer, FailureMode):
                await _fail(answer, writer)
                return
            validators = self.site.validators
            await self._say(writer, _rendered(answer, method, head, validators=validators))

    async def _say(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        for start in range(0, len(data), _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES]
            await self._throttle.wait(len(piece))
            if writer.is_closing():
                raise ConnectionResetError("whoever asked is gone")
            self.moved += len(piece)
            writer.write(piece)
            await writer.drain()


class _Throttle:
    """Limits all connections together to the server's rate."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._free_at = 0.0

    async def wait(self, count: int) -> None:
        if self._rate is None:
            return
        now = asyncio.get_running_loop().time()
        self._free_at = max(self._free_at, now) + count / self._rate
        await asyncio.sleep(self._free_at - now)


def _request_line(head: bytes) -> tuple[str, str]:
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    return (words[0], words[1]) if len(words) == 3 else ("", "/")


def _rendered(answer: Response, method: str, head: bytes, *, validators: bool) -> bytes:
    """Status line, headers and body; no body for 304 and HEAD."""
    if method not in ("GET", "HEAD"):
        answer = Response(b"only GET\n", "text/plain", 405, (("Allow", "GET, HEAD"),))
    known = validators and f"\r\nif-none-match: {answer.etag}\r\n".encode() in head.lower()
    status = 304 if known and answer.status == 200 else answer.status
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Server: headgate-demo",
        f"Content-Type: {answer.content_type}",
        *(f"{name}: {value}" for name, value in answer.headers),
    ]
    if answer.status == 200 and validators:
        lines += [f"ETag: {answer.etag}", f"Last-Modified: {_MODIFIED}"]
    if status != 304:
        lines.append(f"Content-Length: {len(answer.body)}")
    body = answer.body if status != 304 and method != "HEAD" else b""
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


async def _fail(kind: FailureMode, writer: asyncio.StreamWriter) -> None:
    if kind is FailureMode.RESET:
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return
    writer.write(_BROKEN_CHUNKS if kind is FailureMode.BROKEN_CHUNKS else _CUT_SHORT)
    await writer.drain()
