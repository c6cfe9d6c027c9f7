"""The crawler's stand-in on the bed: every site's list of pages, fetched without end.

    python -m bench.bed.client < settings.json

Runs until its time is up, as many fetches at once per site as `HttpFetcher.connections` says, and
writes what it did as JSON. Budgets may be changed on the way, as a timetable or an operator would.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from dataclasses import asdict, dataclass, field

import uvloop

from headgate.engine.clock import AwakeClock
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.fetching.limits import Limits
from headgate.fetching.meter import Meter
from headgate.model.fetch import Fetched, FetchRequest

__all__ = ["ClientReport", "ClientSettings"]


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What to fetch, how fast, for how long."""

    rate: float
    """Bytes per second in all; 0: unlimited."""
    addresses: list[str]
    """One site each."""
    targets: list[str]
    """What to ask for, over and over; each site begins elsewhere in the list."""
    seconds: float
    shares: list[float] = field(default_factory=list)
    """Each site's rate; none: an equal share."""
    changes: list[tuple[float, float]] = field(default_factory=list)
    """(seconds from the start, new total): equal shares follow."""
    connections_per_host: int = 200


@dataclass(slots=True)
class ClientReport:
    """What came of it, by the program's own count."""

    started: float = 0.0
    ended: float = 0.0
    pages: int = 0
    failures: list[str] = field(default_factory=list)
    payload_bytes: int = 0
    wire_bytes: int = 0
    cpu_seconds: float = 0.0
    most_connections: int = 0


class _MeanSize:
    """Wire bytes of a response: the mean of about the last hundred.

    The bench's own, since commits are measured in which a crawl had none of the kind.
    """

    def __init__(self) -> None:
        self.expected = 20_000.0
        self._seen = 1

    def add(self, wire_bytes: float) -> None:
        self._seen = min(self._seen + 1, 100)
        self.expected += (wire_bytes - self.expected) / self._seen


class _Site:
    """Keeps as many fetches going as the fetcher says."""

    def __init__(self, fetcher: HttpFetcher, settings: ClientSettings, address: str) -> None:
        self._fetcher = fetcher
        self._settings = settings
        self._name = address
        self._size = _MeanSize()
        self._count = settings.addresses.index(address) * 37
        self._workers: set[asyncio.Task[None]] = set()

    async def run(self, report: ClientReport) -> None:
        while True:
            wanted = self._wanted()
            while len(self._workers) < wanted:
                worker = asyncio.ensure_future(self._work(report))
                self._workers.add(worker)
                worker.add_done_callback(self._workers.discard)
            report.most_connections = max(report.most_connections, len(self._workers))
            await asyncio.sleep(0.1)

    async def _work(self, report: ClientReport) -> None:
        while True:
            self._count += 1
            target = self._settings.targets[self._count % len(self._settings.targets)]
            url = f"http://{self._name}{target}{self._count}"
            request = FetchRequest(url, self._name, int(self._size.expected), 50_000_000)
            outcome = await self._fetcher.fetch(request)
            if isinstance(outcome, Fetched):
                report.pages += 1
                report.payload_bytes += len(outcome.payload)
                report.wire_bytes += outcome.wire_bytes
                self._size.add(outcome.wire_bytes)
            elif len(report.failures) < 20:
                report.failures.append(f"{outcome.kind}: {outcome.detail}")
            if len(self._workers) > self._wanted():
                return

    def _wanted(self) -> int:
        url = f"http://{self._name}/"
        return self._fetcher.connections(self._name, url, self._size.expected)


async def _run(settings: ClientSettings) -> ClientReport:
    report = ClientReport()
    meter = Meter(settings.rate or math.inf, clock=AwakeClock.now)
    for number, address in enumerate(settings.addresses):
        share = settings.rate / len(settings.addresses)
        meter.set_site(address, (settings.shares[number] if settings.shares else share) or math.inf)
    limits = Limits(
        stall_seconds=60.0,
        total_seconds=1e6,
        connections_per_host=settings.connections_per_host,
        idle_connections=10_000,
    )
    named = frozenset(settings.addresses)
    fetching = FetcherSettings("bed", limits, named)
    async with HttpFetcher(fetching, meter, clock=AwakeClock()) as fetcher:
        report.started = time.time()
        sites = [_Site(fetcher, settings, address) for address in settings.addresses]
        tasks = [asyncio.ensure_future(site.run(report)) for site in sites]
        await _wait(settings, meter)
        report.ended = time.time()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    report.cpu_seconds = time.process_time()
    return report


async def _wait(settings: ClientSettings, meter: Meter) -> None:
    start = time.monotonic()
    for moment, rate in settings.changes:
        await asyncio.sleep(start + moment - time.monotonic())
        meter.set_total(rate)
        for address in settings.addresses:
            meter.set_site(address, rate / len(settings.addresses))
    await asyncio.sleep(start + settings.seconds - time.monotonic())


if __name__ == "__main__":
    print(json.dumps(asdict(uvloop.run(_run(ClientSettings(**json.load(sys.stdin)))))))
