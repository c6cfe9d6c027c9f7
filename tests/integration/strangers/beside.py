"""An honest site crawled beside strangers, by the command itself, until Ctrl-C: what it got of it.

The honest server answers every request in a fiftieth of a second and has more pages than anybody
will fetch, so that each stop of the crawl is a gap between two of its requests. What other programs
took of the machine is taken off (`tests.machine`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import uvloop
from tests.integration.fetching.scripted import Wire, page, serving
from tests.machine import Machine, family, peak_bytes, watched

__all__ = ["HTML", "Beside", "Script", "crawl_beside", "paths"]

Script = Callable[[Wire], Awaitable[None]]

HTML = b"Content-Type: text/html"
ANSWER_SECONDS = 0.02
LONGEST_GAP_SECONDS = 0.5
HEARD_SECONDS = 1.0
LEAST_RATE = 0.25
"""Of one request at a time: crawler, strangers and other tests share the processors."""
MOST_BYTES = 300_000_000
_WATCH_SECONDS = 0.05
_ENDING_SECONDS = 60.0
_LONGEST_GAPS = 10
"""Of which one is the longest, once what others took is taken off."""


@dataclass
class Beside:
    """What came of it. Moments are monotonic, seconds those that the machine let us have."""

    machine: Machine
    sites: Mapping[str, Any] = field(default_factory=dict)
    """The report's, by name."""
    began: float = 0.0
    asked: list[float] = field(default_factory=list)
    """When the honest site was."""
    interrupted: float = 0.0
    ended: float = 0.0
    waited: float = 0.0
    """Seconds from the crawl's start to the first request of the honest site."""
    longest_gap: tuple[float, float] = (0.0, 0.0)
    """Its seconds, and when it began."""
    heard: float = 0.0
    """Seconds from the interrupt to the last request of the honest site."""
    busy: float = 0.0
    """Seconds from its first request to the interrupt."""
    peak_bytes: int = 0
    """Of the largest process."""

    def reckon(self) -> None:
        """While the machine is watched."""
        assert self.asked, "the honest site was never asked"
        seconds, first, end = self.machine.own_seconds, self.asked[0], self.interrupted
        self.waited = seconds(self.began, first)
        self.heard = seconds(end, max(self.asked[-1], end))
        self.busy = seconds(first, end)
        until = [moment for moment in self.asked if moment < end]
        gaps = sorted(pairwise([*until, end]), key=lambda gap: gap[0] - gap[1])
        self.longest_gap = max((seconds(*gap), gap[0] - first) for gap in gaps[:_LONGEST_GAPS])

    def check(self, longest_gap_seconds: float = LONGEST_GAP_SECONDS) -> None:
        """All that a stranger may not touch."""
        assert self.peak_bytes <= MOST_BYTES, f"{self.peak_bytes / 1e6:.0f} MB"
        gap, at = self.longest_gap
        assert gap <= longest_gap_seconds, f"{gap:.2f} s without a request, {at:.2f} s after start"
        assert self.heard <= HEARD_SECONDS
        assert len(self.asked) >= LEAST_RATE * self.busy / ANSWER_SECONDS


def crawl_beside(
    folder: Path,
    strangers: Mapping[str, Script],
    seconds: float,
    crawlers: int | None = None,
    preamble: str = "",
    keys: Callable[[str], str] = lambda _: "",
) -> Beside:
    """A crawl of all of them and then the honest one, so many seconds from its first request on.

    As many at once as there are, unless told. ``preamble`` is what Python does first in the
    crawl and in all processes that it starts. ``keys`` are more lines for each stranger in the site
    file, by its URL."""
    with watched() as machine:
        came = Beside(machine)
        uvloop.run(
            _crawl_beside(
                came,
                folder,
                strangers=strangers,
                seconds=seconds,
                crawlers=crawlers,
                preamble=preamble,
                keys=keys,
            )
        )
        came.reckon()
    return came


async def _crawl_beside(
    came: Beside,
    folder: Path,
    strangers: Mapping[str, Script],
    seconds: float,
    crawlers: int | None,
    preamble: str,
    keys: Callable[[str], str],
) -> None:
    async with AsyncExitStack() as stack:
        scripts = {**strangers, "honest": _honest(came.asked)}
        urls = {}
        for number, (name, script) in enumerate(scripts.items(), 1):
            # A host of its own for each: what one host may have, its ports share.
            host = f"127.0.7.{number}"
            server = await stack.enter_async_context(serving(script, host=host))
            urls[name] = server.url(host=host)
        file = folder / "sites.toml"
        more = {name: keys(url) for name, url in urls.items() if name in strangers}
        file.write_text(_site_file(urls, crawlers or len(urls), more), "utf-8")
        command = [sys.executable, "-m", "headgate", "crawl", str(file), "--quiet", "--json"]
        out = ["--out", str(folder / "data"), "--contact", "tests@example.org"]
        (folder / "sitecustomize.py").write_text(preamble, "utf-8")
        path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        came.began = time.monotonic()
        child = await asyncio.create_subprocess_exec(
            *command, *out, stdin=DEVNULL, stdout=PIPE, stderr=PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        watching = asyncio.create_task(_watch(child.pid, came))
        try:
            said, complaints = await _until_interrupted(child, came, seconds)
        finally:
            watching.cancel()
            with contextlib.suppress(ProcessLookupError):
                child.kill()
        assert child.returncode == 130, complaints.decode()
        came.sites = {site["name"]: site for site in json.loads(said)["sites"]}


async def _until_interrupted(
    child: asyncio.subprocess.Process, came: Beside, seconds: float
) -> tuple[bytes, bytes]:
    talking = asyncio.create_task(child.communicate())
    give_up = time.monotonic() + _ENDING_SECONDS
    while not came.asked and time.monotonic() < give_up and not talking.done():
        await asyncio.sleep(_WATCH_SECONDS)
    await asyncio.wait([talking], timeout=seconds)
    came.interrupted = time.monotonic()
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGINT)
    try:
        return await asyncio.wait_for(talking, _ENDING_SECONDS)
    finally:
        came.ended = time.monotonic()


def _honest(asked: list[float]) -> Script:
    """Page k leads to the pages 2k + 1 and 2k + 2."""

    async def script(wire: Wire) -> None:
        while request := await wire.said():
            path = request.split()[1].decode()
            asked.append(time.monotonic())
            await asyncio.sleep(ANSWER_SECONDS)
            if path == "/robots.txt":
                await wire.say(page(b""))
                continue
            name = path.strip("/")
            number = int(name) if name.isdigit() else 0
            links = b'<a href="/%d">next</a><a href="/%d">and</a> %d'
            await wire.say(page(links % (2 * number + 1, 2 * number + 2, number), HTML))

    return script


def paths(answers: Mapping[str, Callable[[Wire], Awaitable[object]]], links: bytes = b"") -> Script:
    """A server with these answers by path; all else is a page with these links."""

    async def script(wire: Wire) -> None:
        while request := await wire.said():
            path = request.split()[1].decode("latin-1")
            answer = answers.get(path.partition("?")[0])
            if answer is not None:
                await answer(wire)
            elif path == "/robots.txt" or path == "/sitemap.xml":
                await wire.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            else:
                await wire.say(page(links, HTML))

    return script


def _site_file(urls: Mapping[str, str], crawlers: int, more: Mapping[str, str]) -> str:
    sites = [
        f'[site.{name}]\nseeds = ["{url}"]\n{more.get(name, "")}\n' for name, url in urls.items()
    ]
    return f"[budget]\ncrawlers = {crawlers}\n" + "".join(sites)


async def _watch(pid: int, came: Beside) -> None:
    """Note how large the process and its children become."""
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        with contextlib.suppress(OSError):
            came.peak_bytes = max(came.peak_bytes, *map(peak_bytes, family(pid)))
