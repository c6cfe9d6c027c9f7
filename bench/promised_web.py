"""The web of `bench.promises`: sites of given pages, links and speeds, one address each.

    python -m bench.promised_web SITES.json

A site's pages are numbered in the order in which a crawl finds them; ``links`` says how many of
them are known once page k was read, so a star, a chain and a tree are three lists of numbers. A
site with a folder is real: it has the files that are there. Pacing is by one clock per site from
its first request on. It says ``ready`` and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import mimetypes
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import msgspec
import uvloop

__all__ = ["HEAD_BYTES", "Answered", "ServedSite", "answer_of", "body_bytes"]

HEAD_BYTES = 85
_LINK_BYTES = 32
_CHUNK = 4096
_TIMER_SECONDS = 0.02


class ServedSite(msgspec.Struct, frozen=True):
    """One site."""

    address: str
    pages: list[int]
    """Bytes of each body, where its links leave room for it."""
    known: list[int]
    """Pages known when page k and all before it were read; one entry per page."""
    speeds: list[tuple[float, float]]
    """(seconds from its first request, bytes per second from then on)."""
    crawl_delay: float = 0.0
    folder: str = ""
    """Of a real site; ``pages`` are then what can be reached in it."""
    seed: str = ""
    """Path of its first page."""

    def links(self, page: int) -> range:
        before = self.known[page - 1] if page else 1
        return range(before, self.known[page])


def body_bytes(site: ServedSite, page: int) -> int:
    return max(site.pages[page], 40 + _LINK_BYTES * len(site.links(page)))


class Answered(NamedTuple):
    """What a request gets."""

    status: str
    body: bytes
    media_type: str = "text/html"


def answer_of(site: ServedSite, path: str) -> Answered:
    if path == "/robots.txt":
        delay = site.crawl_delay
        return Answered("200 OK", f"User-agent: *\nCrawl-delay: {delay}\n".encode() * bool(delay))
    return _file_of(site, path) if site.folder else _page_of(site, path)


def _file_of(site: ServedSite, path: str) -> Answered:
    name = unquote(path.partition("?")[0])
    file = Path(site.folder, (name + "index.html" if name.endswith("/") else name).lstrip("/"))
    if ".." in file.parts or not file.is_file():
        return Answered("404 Not Found", b"")
    media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return Answered("200 OK", file.read_bytes(), media_type)


def _page_of(site: ServedSite, path: str) -> Answered:
    name = path[1:].removesuffix(".html") or "0"
    if not name.isdigit() or int(name) >= len(site.pages):
        return Answered("404 Not Found", b"")
    page = int(name)
    links = "".join(f'<a href="/{k:05d}.html">{k:05d}</a>\n' for k in site.links(page))
    text = f"<title>{page}</title>\n{links}"
    return Answered("200 OK", text.encode().ljust(body_bytes(site, page), b"."))


class _Server:
    def __init__(self, site: ServedSite) -> None:
        self._site = site
        self._began: float | None = None
        self._free_at = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                path = request.split(b" ", 2)[1].decode()
                status, body, media_type = answer_of(self._site, path)
                head = (
                    f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n"
                )
                await self._send(writer, head.encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError, RuntimeError):
            pass  # uvloop raises the last where the other side is gone
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        if self._began is None:
            self._began = loop.time()
        for start in range(0, len(data), _CHUNK):
            chunk = data[start : start + _CHUNK]
            now = loop.time()
            # A server that stood idle has no savings to give out at once, but a timer that goes off
            # late must not make it slower than it is said to be.
            self._free_at = max(self._free_at, now - _TIMER_SECONDS)
            self._free_at += len(chunk) / self._speed(now)
            if self._free_at - now > 0.002:
                await asyncio.sleep(self._free_at - now)
            writer.write(chunk)
            await writer.drain()

    def _speed(self, now: float) -> float:
        assert self._began is not None
        since = now - self._began
        speeds = [*self._site.speeds, (float("inf"), 0.0)]
        return next(rate for (_, rate), (until, _) in pairwise(speeds) if since < until)


async def _serve(sites: list[ServedSite]) -> None:
    for site in sites:
        await asyncio.start_server(_Server(site).serve, site.address, 80, backlog=1024)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    given = Path(sys.argv[1]).read_bytes()
    uvloop.run(_serve(msgspec.json.decode(given, type=list[ServedSite])))
