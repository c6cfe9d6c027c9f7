"""An honest site crawled beside strangers, by the command itself, until Ctrl-C: what it got of it.

The honest server answers every request in a fiftieth of a second and has more pages than anybody
will fetch, so that each stop of the crawl is a gap between two of its requests. What the machine
itself took is taken off: the kernel tells how long the crawling processes were ready to run and did
not, and a beat in our own loop how late the servers were.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
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


@dataclass
class Beside:
    """What came of it. Moments are monotonic."""

    sites: Mapping[str, Any] = field(default_factory=dict)
    """The report's, by name."""
    began: float = 0.0
    asked: list[float] = field(default_factory=list)
    """When the honest site was."""
    interrupted: float = 0.0
    ended: float = 0.0
    peak_bytes: int = 0
    """Of the largest process."""
    lost: list[tuple[float, float]] = field(default_factory=list)
    """Moments, and the seconds that the machine had kept from us until then."""

    def check(self) -> None:
        """All that a stranger may not touch."""
        assert self.peak_bytes <= MOST_BYTES, f"{self.peak_bytes / 1e6:.0f} MB"
        gap, at = self.longest_gap
        assert gap <= LONGEST_GAP_SECONDS, f"{gap:.2f} s without a request, {at:.2f} s after start"
        heard = self._own_seconds(self.interrupted, max(self.asked[-1], self.interrupted))
        assert heard <= HEARD_SECONDS
        busy = self._own_seconds(self.asked[0], self.interrupted)
        assert len(self.asked) >= LEAST_RATE * busy / ANSWER_SECONDS

    @property
    def waited(self) -> float:
        """Seconds from the crawl's start to the first request of the honest site."""
        return self._own_seconds(self.began, self.asked[0])

    @property
    def longest_gap(self) -> tuple[float, float]:
        """Without what the machine took, and when it began."""
        until = [moment for moment in self.asked if moment < self.interrupted]
        gaps = pairwise([*until, self.interrupted])
        return max((self._own_seconds(*gap), gap[0] - until[0]) for gap in gaps)

    def _own_seconds(self, start: float, end: float) -> float:
        before = [lost for moment, lost in self.lost if moment <= start]
        after = [lost for moment, lost in self.lost if moment >= end]
        lost = (after[0] if after else self.lost[-1][1]) - (before[-1] if before else 0.0)
        return max(end - start - lost, 0.0)


def crawl_beside(
    folder: Path, strangers: Mapping[str, Script], seconds: float, crawlers: int | None = None
) -> Beside:
    """A crawl of all of them and then the honest one, so many seconds from its first request on.

    As many at once as there are, unless told."""
    return uvloop.run(_crawl_beside(folder, strangers, seconds, crawlers))


async def _crawl_beside(
    folder: Path, strangers: Mapping[str, Script], seconds: float, crawlers: int | None
) -> Beside:
    came = Beside()
    async with AsyncExitStack() as stack:
        scripts = {**strangers, "honest": _honest(came.asked)}
        urls = {}
        for number, (name, script) in enumerate(scripts.items(), 1):
            # A host of its own for each: what one host may have, its ports share.
            host = f"127.0.7.{number}"
            server = await stack.enter_async_context(serving(script, host=host))
            urls[name] = server.url(host=host)
        file = folder / "sites.toml"
        file.write_text(_site_file(urls, crawlers or len(urls)), "utf-8")
        command = [sys.executable, "-m", "headgate", "crawl", str(file), "--quiet", "--json"]
        out = ["--out", str(folder / "data"), "--contact", "tests@example.org"]
        came.began = time.monotonic()
        child = await asyncio.create_subprocess_exec(
            *command, *out, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
        watching = asyncio.create_task(_watch(child.pid, came))
        try:
            said, complaints = await _until_interrupted(child, came, seconds)
        finally:
            watching.cancel()
            with contextlib.suppress(ProcessLookupError):
                child.kill()
        assert child.returncode == 130, complaints.decode()
        came.sites = {site["name"]: site for site in json.loads(said)["sites"]}
    return came


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


def _site_file(urls: Mapping[str, str], crawlers: int) -> str:
    sites = [f'[site.{name}]\nseeds = ["{url}"]\n' for name, url in urls.items()]
    return f"[budget]\ncrawlers = {crawlers}\n" + "".join(sites)


async def _watch(pid: int, came: Beside) -> None:
    """Note what the process may not have, and how large it and its children become."""
    late = 0.0
    waited: dict[int, float] = {}
    while True:
        before = time.monotonic()
        await asyncio.sleep(_WATCH_SECONDS)
        now = time.monotonic()
        late += now - before - _WATCH_SECONDS
        with contextlib.suppress(OSError, ValueError, IndexError):
            family = _family(pid)
            waited.update({process: _waited_seconds(process) for process in family})
            came.lost.append((now, sum(waited.values()) + late))
            sizes = [_peak_bytes(process) for process in family]
            came.peak_bytes = max(came.peak_bytes, *sizes)


def _family(pid: int) -> list[int]:
    """A child belongs to the thread that started it."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(int(child) for thread in threads for child in thread.read_text().split())]


def _waited_seconds(pid: int) -> float:
    """For a processor. The crawl waits with its children, where it has asked them to read."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def _peak_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)
