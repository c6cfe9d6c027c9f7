"""Sites on loopback whose servers give so many bytes per second and no more, in a process apart."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

PAGE_BYTES = 12_000
ETHERNET_SEGMENT = 1460
"""Loopback's own segments hold 64 KB; in these the bytes on the line are those of a real one."""


@dataclass(frozen=True, slots=True)
class PacedSite:
    """A front page that links to ``pages`` pages."""

    name: str
    pages: int
    bytes_per_second: float


class _Server:
    def __init__(self, site: PacedSite) -> None:
        self._site = site
        self._free_at = 0.0

    def body(self, path: str) -> bytes | None:
        if path == "/":
            links = "".join(f'<a href="/{k}.html">{k}</a>' for k in range(self._site.pages))
            return f"<title>{self._site.name}</title>{links}".encode()
        name = path[1:].removesuffix(".html")
        if name.isdigit() and int(name) < self._site.pages:
            return f"<title>{name}</title>".encode().ljust(PAGE_BYTES, b".")
        return None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._answer(head.split(b" ", 2)[1].decode(), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        body = self.body(path)
        status = "404 Not Found" if body is None else "200 OK"
        length = len(body or b"")
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"
        loop = asyncio.get_running_loop()
        seconds = (len(head) + length) / self._site.bytes_per_second
        self._free_at = max(self._free_at, loop.time()) + seconds
        await asyncio.sleep(self._free_at - loop.time())
        writer.write(head.encode() + (body or b""))
        await writer.drain()


def _listener() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, ETHERNET_SEGMENT)
    return listener


async def _serve_all(sites: list[PacedSite], ready: Connection) -> None:
    servers = [await asyncio.start_server(_Server(site).serve, sock=_listener()) for site in sites]
    ready.send([server.sockets[0].getsockname()[1] for server in servers])
    await asyncio.Event().wait()


def _main(sites: list[PacedSite], ready: Connection) -> None:
    asyncio.run(_serve_all(sites, ready))


@contextmanager
def serving(sites: list[PacedSite]) -> Iterator[dict[str, str]]:
    """The sites' front pages by name."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_main, args=(sites, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        ports = ours.recv()
        yield {
            site.name: f"http://127.0.0.1:{port}/" for site, port in zip(sites, ports, strict=True)
        }
    finally:
        process.kill()
        process.join()
