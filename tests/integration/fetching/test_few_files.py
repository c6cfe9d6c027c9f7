"""A fetcher whose process can open no more files: idle connections make room, and no URL fails."""

from __future__ import annotations

import asyncio
import sys

import uvloop

from .scripted import Wire, serving

FETCHER = """
import asyncio, os, resource, socket, sys
import uvloop
from headgate.engine.clock import AwakeClock
from headgate.fetching.dns import CachedResolver, FixedResolver, NetworkResolver
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.model.errors import HeadgateError
from headgate.model.fetch import FetchRequest

port = sys.argv[1]
held = []

def hold_all():
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass

async def told(what, fetcher, url):
    try:
        found = await fetcher.fetch(FetchRequest(url, "site", 1000, 10_000))
    except HeadgateError as fault:
        print(what, type(fault).__name__, fault)
    else:
        print(what, getattr(found, "status", None) or f"{found.kind} {found.detail}")

async def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    settings = FetcherSettings("tests", named=frozenset({"127.0.0.0/8"}))
    here = FixedResolver({"*": "127.0.0.1"})
    async with (
        HttpFetcher(settings, resolver=here, clock=AwakeClock()) as fetcher,
        HttpFetcher(settings, resolver=CachedResolver(NetworkResolver(), AwakeClock.now),
                    clock=AwakeClock()) as other,
    ):
        at = f"http://127.0.0.%d:{port}/"
        await told("first", fetcher, at % 1)
        await told("second", fetcher, at % 2)
        hold_all()
        await told("idle", fetcher, at % 3)
        hold_all()
        busy = asyncio.create_task(told("busy", fetcher, at % 3 + "late"))
        await asyncio.sleep(0.1)
        hold_all()
        await told("none", fetcher, at % 4)
        await told("name", other, f"http://somewhere.test:{port}/")
        for each in held:
            os.close(each)
        await told("again", fetcher, at % 4)
        await busy

uvloop.run(main())
"""


async def _script(wire: Wire) -> None:
    while head := await wire.said():
        await asyncio.sleep(1.0 if b"/late" in head else 0.0)
        await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")


def test_idle_connections_make_room_and_then_it_is_our_fault() -> None:
    async def session() -> list[str]:
        async with serving(_script, host="0.0.0.0") as server:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", FETCHER, str(server.port), stdout=asyncio.subprocess.PIPE
            )
            out, _ = await child.communicate()
        return out.decode().splitlines()

    first, second, idle, none, *rest = uvloop.run(session())
    assert [first, second, idle] == ["first 200", "second 200", "idle 200"]
    assert none.startswith("none WorldFault cannot connect to 127.0.0.4:")
    assert "Too many open files" in none
    assert "ulimit -n" in none
    name, again, busy = rest
    assert name.startswith("name WorldFault cannot connect to somewhere.test:")
    assert [again, busy] == ["again 200", "busy 200"]
