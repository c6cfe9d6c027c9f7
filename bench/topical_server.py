"""Serves a topical web on the bed, a site at each address, until its standard input closes.

python -m bench.topical_server SEED SITES PAGES
"""

from __future__ import annotations

import asyncio
import sys
from functools import lru_cache
from typing import cast

import uvloop

from headgate_lab.bed.network import server_address
from headgate_lab.worlds.topical_web import TopicalWeb

_PORT = 80


class _Answers(asyncio.Protocol):
    """Requests are short GETs without a body; a torn one waits for its rest."""

    def __init__(self, web: TopicalWeb, sites: dict[str, int]) -> None:
        self._web, self._sites = web, sites
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._site = self._sites[transport.get_extra_info("sockname")[0]]

    def data_received(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in whole:
            self._transport.write(answer(self._web, self._site, request.split(b" ", 2)[1].decode()))


@lru_cache(maxsize=4096)
def answer(web: TopicalWeb, site: int, path: str) -> bytes:
    body = web.body(site, path)
    status = "200 OK" if body is not None else "404 Not Found"
    body = body or b""
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(seed: int, sites: int, pages: int) -> None:
    web = TopicalWeb(seed, sites, pages)
    addresses = {server_address(number): number for number in range(sites)}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: _Answers(web, addresses), "0.0.0.0", _PORT, backlog=4096
    )
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    uvloop.run(serve(*map(int, sys.argv[1:4])))
