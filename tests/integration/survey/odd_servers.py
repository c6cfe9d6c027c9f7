"""Servers that a survey may meet and must not be caught by, told apart by their names.

One listener on loopback stands for all of them: whoever resolves names sends every name there. What
was asked for is kept by domain, as each server's own log would have it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

__all__ = ["ENDLESS", "Odd", "OddServers", "html", "links", "redirect"]

Odd = Callable[[str, str], bytes]
"""From a host with its port and a path with its query to the whole response."""

ENDLESS = b"endless"
"""A response that is a head and then bytes without end."""


@dataclass
class OddServers:
    """``answers`` by domain; a name below a domain belongs to it."""

    answers: Mapping[str, Odd]
    asked: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Hosts with paths, by domain, in their order."""
    port: int = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[OddServers]:
        server = await asyncio.start_server(self._accepted, "127.0.0.1", 0, backlog=500)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                lines = dict(line.partition(": ")[::2] for line in head.lower().split("\r\n"))
                host = lines["host"]
                name = host.partition(":")[0]
                domain = next((d for d in self.answers if f".{name}".endswith(f".{d}")), name)
                self.asked[domain].append(name + path)
                answer = self.answers.get(domain)
                if path == "/robots.txt" or answer is None:
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                elif (response := answer(host, path)) is ENDLESS:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
                    while True:
                        writer.write(b"<p>and so on " * 1000)
                        await writer.drain()
                else:
                    writer.write(response)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()


def html(*urls: str) -> bytes:
    """A page with these links."""
    body = f"<!doctype html><title>x</title>{links(*urls)}".encode()
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
        % (len(body), body)
    )  # fmt: skip


def links(*urls: str) -> str:
    return "".join(f'<a href="{url}">x</a>\n' for url in urls)


def redirect(target: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()
