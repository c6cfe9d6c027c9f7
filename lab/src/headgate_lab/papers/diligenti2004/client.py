"""A form in real time: the queue, fetched by Headgate's own fetcher from the servers of the bed.

    python -m headgate_lab.papers.diligenti2004.client < settings.json

The paper's manager and its rival have no limiter, so for them the fetcher has none: its connections
are as wide as the kernel makes them. With shares, each download is a site of its own to the
limiter, held to its share, and all of them together to the limit.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import uvloop

from headgate.bandwidth.admission_control import StartDownload
from headgate.engine.clock import AwakeClock
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.fetching.limits import Limits
from headgate.fetching.meter import Meter
from headgate.model.fetch import Fetched, FetchRequest
from headgate_lab.bed.network import server_address
from headgate_lab.papers.diligenti2004.forms import Form, form_named
from headgate_lab.papers.diligenti2004.steering import Steering
from headgate_lab.papers.diligenti2004.world import World, make_world

__all__ = ["ClientReport", "ClientSettings", "main"]

_BEAT = 1.0
"""Seconds between two measurements of the rate."""
_TOGETHER = "queue"
"""The one site of all downloads where nothing is enforced."""
_LATEST_WEIGHT = 0.05
_FIRST_GUESS_BYTES = 20_000.0


@dataclass(frozen=True, slots=True)
class ClientSettings:
    form: str
    seed: int
    seconds: float
    report: str
    """The file to write the report to, as JSON; a pipe would have to be read meanwhile."""


@dataclass(slots=True)
class ClientReport:
    """As `Trace`, but for what only the meter knows."""

    started: float = 0.0
    """Wall time."""
    predicted: list[tuple[float, float]] = field(default_factory=list)
    starts: list[tuple[float, int, int]] = field(default_factory=list)
    ended: int = 0
    failures: list[str] = field(default_factory=list)


class _Crawl:
    """One form working down the queue."""

    def __init__(self, form: Form, world: World, fetcher: HttpFetcher) -> None:
        self.report = ClientReport(time.time())
        self._form = form
        self._world = world
        self._fetcher = fetcher
        self._steering = Steering(form, world)
        self._began = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sites: set[str] = set()
        self._expected = _FIRST_GUESS_BYTES
        self._received = 0
        """Wire bytes of the downloads that ended."""

    async def run(self, seconds: float) -> None:
        beats = asyncio.create_task(self._beat())
        self._start()
        await asyncio.sleep(seconds)
        for task in (beats, *self._tasks):
            task.cancel()
        await asyncio.gather(beats, *self._tasks, return_exceptions=True)

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _start(self) -> None:
        now = self._now
        for start in self._steering.starts(now):
            self.report.starts.append((now, int(start.download.key), start.passed_over))
            task = asyncio.create_task(self._download(start))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self.report.predicted.append((now, self._steering.predicted))

    async def _download(self, start: StartDownload) -> None:
        key = start.download.key
        document = self._world.documents[int(key)]
        site = key if self._form.enforced else _TOGETHER
        self._sites.add(site)
        self._fetcher.meter.set_site(site, start.taken.share)
        url = f"http://{server_address(document.server)}/bytes/{document.bytes}/{key}"
        expected = int(self._expected)
        fetched = await self._fetcher.fetch(FetchRequest(url, site, expected, 2 * document.bytes))
        if self._form.enforced:
            self._fetcher.meter.forget_site(site)
            self._sites.remove(site)
        if isinstance(fetched, Fetched):
            self._received += fetched.wire_bytes
            self._expected += _LATEST_WEIGHT * (fetched.wire_bytes - self._expected)
            times = (fetched.seconds, fetched.first_byte_seconds)
            self._steering.ended(key, self._now, fetched.wire_bytes, *times)
            self.report.ended += 1
        else:
            self._steering.failed(key)
            self.report.failures.append(f"{fetched.kind}: {fetched.detail}")
        self._start()

    async def _beat(self) -> None:
        """Looks at the rate and, as the paper has it, at the queue."""
        before, beats = 0, 0
        while True:
            beats += 1
            await asyncio.sleep(max(self._began + beats * _BEAT - time.monotonic(), 0.0))
            received = self._received + sum(map(self._fetcher.under_way, self._sites))
            self._steering.measured((received - before) / _BEAT)
            before = received
            self._start()


async def _run(settings: ClientSettings) -> ClientReport:
    form = form_named(settings.form)
    world = make_world(settings.seed)
    limits = Limits(first_byte_seconds=120.0, stall_seconds=120.0, total_seconds=1e6)
    named = frozenset(server_address(number) for number in range(len(world.servers)))
    meter = Meter(form.limit if form.enforced else math.inf, clock=AwakeClock.now)
    fetching = FetcherSettings("lab", limits, named)
    async with HttpFetcher(fetching, meter, clock=AwakeClock()) as fetcher:
        crawl = _Crawl(form, world, fetcher)
        await crawl.run(settings.seconds)
    return crawl.report


def main(settings: ClientSettings) -> None:
    report = uvloop.run(_run(settings))
    Path(settings.report).write_text(json.dumps(asdict(report)), encoding="utf-8")


if __name__ == "__main__":
    main(ClientSettings(**json.load(sys.stdin)))
