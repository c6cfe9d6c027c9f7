"""The virtual web on real sockets: thousands of servers by name, behind a few loopback addresses.

One process serves them all on one port. By their numbers some are slow, some trickle, some accept
and never answer; dead ones and those without a name are up to the resolver (`addresses`). Requests
are counted by server.

    python -m headgate_lab.worlds.virtual_server --seed 1 --sites 3400 --port 8080 --counts FILE
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headgate_lab.worlds.virtual_web import VirtualWeb, make_web

__all__ = ["Edits", "Manner", "VirtualServer", "addresses", "manner_of", "render", "starts"]

_ADDRESSES = 40
_DEAD_ADDRESS = "127.0.99.99"
"""Where nobody listens."""
_TRICKLE_BYTES_PER_SECOND = 20_000
_PIECE = 1000


@dataclass(frozen=True, slots=True)
class Manner:
    """How one server behaves."""

    latency: float = 0.0
    trickles: bool = False
    hangs: bool = False
    dead: bool = False
    nameless: bool = False


@dataclass(frozen=True, slots=True)
class Edits:
    """How the web differs from the day it was made."""

    without: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Hosts that a page does not link to any more."""
    beside: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Names of hosts that a page links to now."""

    def version(self, page: int) -> int:
        return 1 + (page in self.without or page in self.beside)


def manner_of(site: int) -> Manner:
    """Of 20 servers 12 are quick, 5 slow, one trickles, one hangs, and one is dead or nameless."""
    match site % 20:
        case 3:
            return Manner(latency=0.05, trickles=True)
        case 7:
            return Manner(hangs=True)
        case 11:
            return Manner(dead=site % 40 == 11, nameless=site % 40 != 11)
        case 1 | 5 | 9 | 13 | 17:
            return Manner(latency=0.2 + (site % 100) / 100)
        case _:
            return Manner(latency=(site % 10) / 500)


def addresses(web: VirtualWeb) -> dict[str, str]:
    """Where each server's name leads; the nameless are left out."""
    return {
        web.name(site): _DEAD_ADDRESS if manner.dead else f"127.0.1.{1 + site % _ADDRESSES}"
        for site in range(web.sites)
        if not (manner := manner_of(site)).nameless
    }


def starts(web: VirtualWeb, port: int) -> Iterator[str]:
    return (f"http://{web.name(site)}:{port}/" for site in range(web.sites))


def render(web: VirtualWeb, page: int, edits: Edits) -> bytes:
    """A page as HTML: links to its children, to the home page, and out."""
    gone = edits.without.get(page, frozenset())
    outside = [web.host_name(number) for number in web.external(page) if number not in gone]
    outside += edits.beside.get(page, ())
    paths = ["/", *(web.url(child).partition(".test")[2] for child in web.children(page))]
    inside = "".join(f'<li><a href="{path}">page</a>' for path in paths)
    out = "".join(f'<li><a href="http://{name}/">elsewhere</a>' for name in outside)
    filler = "Text that makes a page of usual size. " * 60
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{page}</title>'
        f"<ul>{inside}{out}</ul><p>{filler}</html>"
    ).encode()


class VirtualServer:
    """All servers of a web."""

    def __init__(self, web: VirtualWeb, edits: Edits | None = None) -> None:
        self.requests: Counter[str] = Counter()
        self.urls: Counter[str] = Counter()
        self.sent_bytes: Counter[str] = Counter()
        """Heads and bodies, by server."""
        self._web = web
        self._edits = edits or Edits()
        self._listening: list[asyncio.Server] = []
        self.port = 0

    async def start(self, port: int = 0) -> None:
        self.port = port
        for number in range(1, _ADDRESSES + 1):
            server = await asyncio.start_server(
                self._accepted, f"127.0.1.{number}", self.port, backlog=1000
            )
            self._listening.append(server)
            self.port = self.port or server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        for server in self._listening:
            server.close()

    def counts(self) -> dict[str, dict[str, int]]:
        return {"requests": dict(self.requests), "sent_bytes": dict(self.sent_bytes)}

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                await self._answer(head, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        except asyncio.CancelledError:  # the world ends while this server hangs
            writer.transport.abort()
        finally:
            writer.close()

    async def _answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        path = head.split(" ", 2)[1]
        headers = dict(line.partition(": ")[::2] for line in head.lower().split("\r\n")[1:] if line)
        name = headers.get("host", "").partition(":")[0]
        self.requests[name] += 1
        self.urls[name + path] += 1
        page = self._web.page_of(f"http://{name}{path}")
        number = name.removeprefix("s").partition(".")[0]
        manner = manner_of(int(number)) if number.isdigit() else Manner()
        if manner.hangs:
            await asyncio.sleep(3600)
        await asyncio.sleep(manner.latency)
        data = self._response(page, headers.get("if-none-match", ""))
        self.sent_bytes[name] += len(data)
        if not manner.trickles:
            writer.write(data)
        else:
            for start in range(0, len(data), _PIECE):
                writer.write(data[start : start + _PIECE])
                await asyncio.sleep(_PIECE / _TRICKLE_BYTES_PER_SECOND)
        await writer.drain()

    def _response(self, page: int | None, known: str) -> bytes:
        if page is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        etag = f'"{page}-{self._edits.version(page)}"'
        if known == etag:
            return f"HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n".encode()
        body = render(self._web, page, self._edits)
        return (
            f"HTTP/1.1 200 OK\r\nServer: virtual/1\r\nContent-Type: text/html\r\nETag: {etag}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body


async def _serve(args: argparse.Namespace) -> None:
    server = VirtualServer(make_web(args.seed, args.sites))
    await server.start(args.port)
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await server.stop()
    args.counts.write_text(json.dumps(server.counts()), encoding="utf-8")


def main() -> None:
    """Serve until told to end; the port goes to stdout, the counts to a file at the end."""
    parser = argparse.ArgumentParser(description="serve a virtual web")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sites", type=int, default=3400)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--counts", type=Path, required=True)
    import uvloop

    uvloop.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
