"""A manager and its nodes in virtual time, over a web that tells who asked it when.

Manager, desk, board, catalog, workers and storage are the product's own; the web, the time and the
line between nodes and manager are simulated. Both sides can be killed: they tell nobody, and come
back with their disks as they were.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq
from bench.cut_line import CutLine
from bench.grid_churn import Nobody
from msgspec import structs

from headgate.control.snapshots import Moment
from headgate.features.grid.coordinator.coordinator import (
    ManagerJob,
    ManagerParts,
    ManagerWatcher,
    manage,
)
from headgate.features.grid.node.owner_limits import GuestRules
from headgate.features.grid.node.worker import WorkerJob, work
from headgate.features.grid.protocol import Claim, ClaimAnswer, Idle, SourceAway, TaskDesk
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.grid import GridTerms
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, BytesPerSecond, Seconds
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock

BEGIN = 1_794_751_200.0
LEASE_SECONDS = 20.0


@dataclass(slots=True)
class LinkedWeb:
    """Pages by URL, with what each links to; ``robots`` by origin. Who asked for what, and when."""

    links: Mapping[str, Sequence[str]]
    robots: Mapping[str, str] = field(default_factory=dict)
    redirects: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, bytes] = field(default_factory=dict)
    """What else there is, such as sitemaps."""
    page_bytes: int = 0
    """At least."""
    asked: list[tuple[float, str, str]] = field(default_factory=list)
    """When, by which node, for what."""

    def answer(self, node: str, request: FetchRequest, now: float) -> Answer:
        url, parts = request.url, urlsplit(request.url)
        self.asked.append((now, node, url))
        if url in self.redirects:
            return Answer(301, (("location", self.redirects[url]),))
        if url in self.others:
            return Answer(200, (("content-type", "application/xml"),), self.others[url])
        if parts.path == "/robots.txt":
            text = self.robots.get(f"{parts.scheme}://{parts.netloc}", "")
            return Answer(200, (("content-type", "text/plain"),), text.encode())
        if url not in self.links:
            return Answer(404)
        anchors = "".join(f'<a href="{link}">x</a>' for link in self.links[url])
        body = f"<title>{url}</title>{anchors}".encode().ljust(self.page_bytes)
        return Answer(200, (("content-type", "text/html"), ("etag", f'"{len(body)}"')), body)

    def times(self) -> Counter[str]:
        """How often each page was asked for."""
        return Counter(url for _, _, url in self.asked if url in self.links)

    def nodes_at(self, host: str) -> dict[str, tuple[float, float]]:
        """Who asked it, from when until when."""
        found: dict[str, tuple[float, float]] = {}
        for at, node, url in self.asked:
            if urlsplit(url).netloc == host:
                found[node] = found.get(node, (at, at))[0], at
        return found


class LookingOn(ManagerWatcher):
    """At a manager."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.reports: list[RunReport] = []

    def on_progress(self, seen: Moment) -> None:
        seen.standing(None)

    def on_messages(self, words: Sequence[str]) -> None:
        self.words += words

    def on_finish(self, report: RunReport) -> None:
        if not report.interrupted:
            self.reports.append(report)


class _NoKeeper:
    def revoke(self, tokens: Mapping[str, float]) -> None: ...


@dataclass
class _Line(CutLine):
    """To whichever manager is there."""

    world: SharedWorld | None = None

    @property
    def _open(self) -> TaskDesk:
        assert self.world is not None
        if self.cut or self.world.desk is None:
            raise SourceAway("nobody is there")
        return self.world.desk

    async def claim(self, claim: Claim) -> ClaimAnswer:
        answer = await super().claim(claim)
        assert self.world is not None
        if not isinstance(answer, Idle):
            self.world.granted[self.node] += 1
        return answer


@dataclass(slots=True)
class SharedWorld:
    folder: Path
    clock: VirtualClock
    web: LinkedWeb
    sites: tuple[Site, ...]
    looking_on: LookingOn = field(default_factory=LookingOn)
    desk: TaskDesk | None = None
    granted: Counter[str] = field(default_factory=Counter)
    _lines: dict[str, _Line] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task[object]] = field(default_factory=dict)

    @property
    def out(self) -> Path:
        return self.folder / "collection"

    @property
    def running(self) -> Container[str]:
        """Nodes and ``manager`` that were started and not killed."""
        return self._tasks

    def start_manager(self) -> asyncio.Task[RunReport]:
        job = ManagerJob(
            self.sites, Budget(UNLIMITED, 5), GridTerms(lease=Seconds(LEASE_SECONDS)), self.out,
            once=True,
        )  # fmt: skip
        web = self.web
        parts = virtual_parts(self.clock, lambda asked, now: web.answer("", asked, now), Line())
        own = {"open_catalog": SqliteCatalog, "open_door": self._open_door}
        whole = ManagerParts(**structs.asdict(parts) | own)
        task = asyncio.create_task(manage(job, whole, self.looking_on))
        self._tasks["manager"] = task
        return task

    def start_node(self, name: str, slots: int = 5, bandwidth: BytesPerSecond = UNLIMITED) -> None:
        def answering(request: FetchRequest, _now: float) -> Answer:
            return self.web.answer(name, request, self.clock.now())

        job = WorkerJob(
            name, self.folder / name, Budget(bandwidth, slots), GuestRules(), allow_private=True
        )
        line = self._lines[name] = _Line(None, name, world=self)  # type: ignore[arg-type]
        parts = virtual_parts(self.clock, answering, Line())
        self._tasks[name] = asyncio.create_task(work(job, parts, line, Nobody()))

    async def kill(self, name: str) -> None:
        if name in self._lines:
            self._lines[name].cut = True
        else:
            self.desk = None
        task = self._tasks.pop(name)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def close(self) -> None:
        for name in list(self._tasks):
            await self.kill(name)

    @asynccontextmanager
    async def _open_door(self, desk: TaskDesk, _revoked: Iterable[str]) -> AsyncIterator[_NoKeeper]:
        self.desk = desk
        try:
            yield _NoKeeper()
        finally:
            self.desk = None


def stored(out: Path) -> Counter[str]:
    """URLs of pages, as often as the last run's table has them."""
    *_, run = sorted(out.glob("runs/*"))
    rows = pq.read_table(run / "pages.parquet", columns=["url", "role", "site"]).to_pylist()
    return Counter(f"{row['site']} {row['url']}" for row in rows if row["role"] == "page")
