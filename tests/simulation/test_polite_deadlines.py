"""Deadlines of sites asked as is polite by default: sizes told, speeds of their servers not.

One request at a time, on average, makes a far server slow, whatever its line carries. Deadlines
are drawn at random and scaled so that hindsight, which knows all sizes and speeds, could just keep
them in four fifths of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.watcher import Watcher
from headgate.features.crawl.job import CrawlJob, crawl
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import RunReport
from headgate.model.site import POLITE_DELAY, Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.scheduling.problem import Problem
from headgate.scheduling.water_filling import deadlines_can_be_met
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

BUDGET = 300_000.0
SLACK = 1.25
HTML = (("content-type", "text/html"),)
SHAPES = ((200, 10_000, 0.02), (60, 15_000, 0.4), (90, 20_000, 0.15), (30, 100_000, 0.05))
"""Pages, bytes of each, seconds until a server begins to answer."""


@dataclass(frozen=True)
class Server:
    """Page k leads to the pages 4k + 1 to 4k + 4."""

    host: str
    pages: int
    page_bytes: int
    answer_seconds: float

    @property
    def bytes(self) -> float:
        return self.pages * self.page_bytes * 1.04

    @property
    def speed(self) -> float:
        """Asked as is polite, at a public address."""
        return min(self.page_bytes / max(self.answer_seconds, POLITE_DELAY), BUDGET)

    def answer(self, path: str) -> Answer:
        number = int(path or "0") if path.isdigit() or not path else self.pages
        if number >= self.pages:
            return Answer(404, first_byte_seconds=self.answer_seconds)
        links = "".join(
            f"<a href=/{child}>next</a>"
            for child in range(4 * number + 1, 4 * number + 5)
            if child < self.pages
        )
        body = f"<p>{self.host} {number}</p>{links}".encode().ljust(self.page_bytes)
        return Answer(200, HTML, body, first_byte_seconds=self.answer_seconds)


def drawn(rng: np.random.Generator) -> tuple[list[Server], list[float]]:
    """Servers, and deadlines that hindsight can keep with slack."""
    servers = []
    for number in range(5):
        pages, size, seconds = SHAPES[rng.integers(len(SHAPES))]
        scale = float(rng.uniform(0.5, 1.5))
        servers.append(Server(f"s{number}.test", int(pages * scale), size, seconds * scale))
    shape = rng.uniform(0.3, 1.0, len(servers))
    low, high = 1.0, 1_000.0
    for _ in range(30):
        middle = (low + high) / 2
        problem = Problem.from_arrays(
            [server.bytes for server in servers],
            list(middle * shape),
            budget=BUDGET,
            caps=[server.speed for server in servers],
            slots=len(servers),
        )
        low, high = (low, middle) if deadlines_can_be_met(problem) else (middle, high)
    return servers, [float(SLACK * high * part) for part in shape]


def crawled(out: Path, servers: list[Server], deadlines: list[float]) -> RunReport:
    sites = tuple(
        Site(
            server.host,
            (f"http://{server.host}/",),
            deadline=Seconds(deadline),
            expect=Bytes(server.bytes),
        )
        for server, deadline in zip(servers, deadlines, strict=True)
    )
    by_host = {server.host: server for server in servers}

    def answer(request: FetchRequest, _wall: float) -> Answer:
        host, _, path = request.url.removeprefix("http://").partition("/")
        return by_host[host].answer(path)

    async def run(loop: VirtualLoop) -> RunReport:
        clock = VirtualClock(loop, 1_794_751_200.0)
        job = CrawlJob(sites, Budget(BytesPerSecond(BUDGET)), out, fetcher_settings(sites, "test"))
        return await crawl(job, virtual_parts(clock, answer, Line()), Watcher())

    return run_virtually(run)


@pytest.mark.parametrize("seed", range(8))
def test_far_servers_asked_politely_are_served_in_time(seed: int, tmp_path: Path) -> None:
    servers, deadlines = drawn(np.random.default_rng(seed))
    report = crawled(tmp_path, servers, deadlines)
    late = {
        site.name: round(site.finished - site.deadline, 2)
        for site in report.sites
        if site.finished is not None and site.deadline is not None and site.met is not True
    }
    assert all(site.state == "done" for site in report.sites)
    assert not late
