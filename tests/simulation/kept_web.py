"""A web that changes by known laws, and a keeper of it in virtual time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from headgate.engine.watcher import Watcher
from headgate.features.keep.job import KeepJob, Stoppable
from headgate.features.keep.keeper import Keeper, keep
from headgate.features.keep.recrawl.policies import keep_policy
from headgate.features.keep.status import KeepStatus
from headgate.model.budget import Budget
from headgate.model.fetch import FailureKind, FetchRequest
from headgate.model.keeping import Keeping, VolumeBounds
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, BytesPerSecond
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

BEGIN = 1_794_751_200.0
"""2026-11-15 14:00 UTC."""
HOUR, DAY = 3600.0, 86_400.0


@dataclass(slots=True)
class ChangingPages:
    """Hosts of numbered pages that change at moments drawn beforehand."""

    hosts: Sequence[str]
    pages: int = 8
    rates: tuple[float, ...] = (0.1, 1.0, 4.0)
    """Changes per day, of the pages in turn."""
    days: float = 60.0
    seed: int = 1
    heeds: bool = True
    """A condition is answered with 304."""
    sitemap: bool = False
    down: Callable[[str, float], bool] = lambda _host, _now: False
    sorry: Callable[[str, float], bool] = lambda _host, _now: False
    """Whether every page is one text."""
    changes: dict[tuple[str, int], np.ndarray[Any, Any]] = field(default_factory=dict)
    asked: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    sent: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Versions that were sent whole."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        for host in self.hosts:
            for page in range(self.pages):
                rate = self.rates[page % len(self.rates)]
                count = rng.poisson(rate * self.days)
                self.changes[host, page] = np.sort(BEGIN + rng.random(count) * self.days * DAY)

    def version(self, host: str, page: int, now: float) -> int:
        return int(np.searchsorted(self.changes[host, page], now, side="right"))

    def answer(self, request: FetchRequest, now: float) -> Answer:
        parts = urlsplit(request.url)
        host, path = parts.netloc, parts.path
        if self.down(host, now):
            return Answer(fault=FailureKind.REFUSED)
        if path == "/robots.txt":
            return Answer(404)
        if path == "/sitemap.xml":
            return Answer(404)
        page = 0 if path == "/" else int(path.strip("/p"))
        if page >= self.pages:
            return Answer(404)
        self.asked[request.url].append(now)
        if self.sorry(host, now):
            return Answer(200, (("content-type", "text/html"),), b"<p>Sorry, back in an hour")
        version = self.version(host, page, now)
        etag = f'"{version}"'
        headers = (("content-type", "text/html"), ("etag", etag))
        if self.heeds and dict(request.headers).get("If-None-Match") == etag:
            return Answer(304, headers)
        self.sent[request.url].add(version)
        links = "".join(f'<a href="/p{n}">{n}</a>' for n in range(1, self.pages))
        body = f"<title>{host} {page}</title><p>version {version}</p>{links}" + "x" * 3000
        return Answer(200, headers, body.encode())


@dataclass(slots=True)
class Onlooker(Watcher[Stoppable, KeepStatus]):
    words: list[str] = field(default_factory=list)
    states: list[KeepStatus] = field(default_factory=list)
    keeper: Keeper | None = None

    def on_messages(self, words: Sequence[str]) -> None:
        self.words += words

    def on_progress(self, seen: KeepStatus) -> None:
        self.states.append(seen)

    def on_start(self, running: Stoppable) -> None:
        assert isinstance(running, Keeper)
        self.keeper = running


def site(host: str, **keeping: Any) -> Site:
    return Site(host, (f"http://{host}/",), keeping=Keeping(**keeping))


def keep_job(out: Path, sites: Sequence[Site], days: float, **changes: Any) -> KeepJob:
    rate = changes.pop("rate", None)
    volume = changes.pop("volume", VolumeBounds())
    budget = Budget(UNLIMITED if rate is None else BytesPerSecond(rate), volume=volume)
    values = {"seconds": days * DAY, "tend_seconds": 300.0, **changes}
    return KeepJob(tuple(sites), budget, out, "test", keep_policy("index"), **values)


Meanwhile = Callable[[VirtualClock, Onlooker], Coroutine[Any, Any, None]]


def keep_virtually(
    job: KeepJob,
    web: ChangingPages,
    begin: float = BEGIN,
    meanwhile: Meanwhile | None = None,
) -> tuple[KeepStatus, Onlooker, Line]:
    line, onlooker = Line(), Onlooker()

    async def run(loop: VirtualLoop) -> KeepStatus:
        clock = VirtualClock(loop, begin)
        beside = None
        if meanwhile is not None:
            beside = asyncio.create_task(meanwhile(clock, onlooker))
        status = await keep(job, virtual_parts(clock, web.answer, line), onlooker)
        if beside is not None:
            beside.cancel()
        return status

    return run_virtually(run), onlooker, line
