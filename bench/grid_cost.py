"""What a manager costs: CPU and memory per task, per 100 MB, and with many nodes and tasks.

    python -m bench.grid_cost [--sizes 20x1000,200x10000,1000x100000] [--done 1000] [--seconds 60]

`headgate manager` runs as users start it, with a NATS server of its own without TLS, and a catalog
in SQLite. Nodes are connections of this process that speak as nodes do and fetch nothing. For each
size, nodes x tasks: ``done`` tasks are claimed and brought, each a journal and 1 KB, eight nodes at
a time; then all nodes beat every 20 s for ``seconds``, one task of 100 MB is brought, and four of
50 MB at once. CPU and memory are the manager's, by Linux; answers are timed where nodes are.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import uvloop
from bench.arguments import parser

from headgate.crawling.progress import Progress, TaskState
from headgate.features.grid.coordinator.endpoint import door_folder
from headgate.features.grid.node.delivery import Delivery, until_answered
from headgate.features.grid.protocol import Beat, Claim, Grant, Held, Word
from headgate.features.grid.transport.connection import connected
from headgate.features.grid.transport.requests import NatsTasks
from headgate.features.grid.transport.server_config import Door
from headgate.storage.collection import RunFolder
from headgate.storage.journals.spool import SiteSpool

_AT_ONCE = 8
_BEAT_SECONDS = 20.0
_PATIENCE_SECONDS = 600.0
_BULK_BYTES = 100_000_000
_BULK_NODES = 4
_TICK = os.sysconf("SC_CLK_TCK")
Kind = TypeVar("Kind")


@dataclass(slots=True)
class Manager:
    """A process, as Linux sees it."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        where = ["--serve-nats", f"127.0.0.1:{self.port}", "--host", "127.0.0.1", "--plain"]
        command = [sys.executable, "-m", "headgate", "manager", "sites.toml", "--quiet", *where]
        with (self.folder / "manager.log").open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--out", "collection"], cwd=self.folder, stdout=log, stderr=log
            )

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def resident_mb(self, which: str = "VmRSS") -> float:
        """Now, or with ``VmHWM`` the most so far."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        sizes = dict(line.split(":", 1) for line in lines)
        return int(sizes[which].split()[0]) / 1000

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass(slots=True)
class Node:
    """Answers in time, and never works."""

    name: str
    source: NatsTasks
    folder: Path
    waits: dict[str, list[float]]
    number: int = 0

    async def beat(self, held: Sequence[Held] = ()) -> None:
        self.number += 1
        beat = Beat(life=1, number=self.number, heard=self.number - 1, tasks=tuple(held))
        await self._timed("beat", self.source.beat(beat))

    async def do_one(self, bulk_bytes: int = 1000) -> bool:
        """A task, from the claim to the moment in which it is stored; False: there is none."""
        self.number += 1
        claim = Claim(id=f"c{self.number}", slots=1)
        grant = await self._timed("claim", until_answered(lambda: self.source.claim(claim)))
        if not isinstance(grant, Grant):
            return False
        files = await asyncio.to_thread(self._result, grant, bulk_bytes)
        progress = Progress(
            grant.task.name, TaskState.DONE, 0.0, 1.0, pages=1, wire_bytes=bulk_bytes
        )
        delivery = Delivery(self.source, grant.lease, files, progress, _at_once)
        verdict = await self._timed("bring", delivery.deliver())
        assert verdict.word is Word.COMMITTED, verdict
        for file in files:
            file.unlink()
        return True

    def _result(self, grant: Grant, bulk_bytes: int) -> list[Path]:
        run = RunFolder(self.folder / self.name, grant.stamp)
        for folder in (run.warc, run.spool):
            folder.mkdir(parents=True, exist_ok=True)
        place = run.place(grant.task.name)
        spool = SiteSpool(place)
        spool.finish()
        spool.commit()
        spool.close()
        with place.warc.path(1).open("wb") as file:
            file.truncate(bulk_bytes)
        return [place.journal, place.warc.path(1)]

    async def _timed(self, what: str, answer: Awaitable[Kind]) -> Kind:
        began = time.perf_counter()
        found = await answer
        self.waits.setdefault(what, []).append(time.perf_counter() - began)
        return found


async def _at_once(_: int) -> None:
    """No bound on the line."""


@contextlib.asynccontextmanager
async def nodes_at(manager: Manager, count: int) -> AsyncIterator[list[Node]]:
    url = f"nats://127.0.0.1:{manager.port}"
    door = Door.at(door_folder(manager.folder / "collection"))
    waits: dict[str, list[float]] = {}
    async with contextlib.AsyncExitStack() as stack:
        nodes = []
        for number in range(count):
            name = f"n{number}"
            token = door.invite(name, [url], time.time(), 1.0)
            client = await stack.enter_async_context(connected(token, lambda _: None, 60.0))
            nodes.append(Node(name, NatsTasks(client, name), manager.folder / "nodes", waits))
        yield nodes


def write_sites(path: Path, tasks: int) -> None:
    with path.open("w") as file:
        file.write('[grid]\nlease = "60s"\n')
        for number in range(tasks):
            file.write(f'[site.s{number}]\nseeds = ["http://h{number}.example/"]\n')


async def measure(folder: Path, nodes: int, tasks: int, done: int, seconds: float) -> None:
    write_sites(folder / "sites.toml", tasks)
    manager = Manager(folder, _free_port())
    manager.start()
    try:
        await _until_open(manager)
        print(
            f"{nodes} nodes, {tasks} tasks: started with {manager.cpu():.1f} s of CPU,"
            f" {manager.resident_mb():.0f} MB, {manager.resident_mb('VmHWM'):.0f} MB at the most"
        )
        async with nodes_at(manager, nodes) as here:
            await _tasks(manager, here, min(done, tasks - 1 - _BULK_NODES))
            await _beats(manager, here, seconds)
            await _bulk(manager, here)
    finally:
        manager.end()


async def _tasks(manager: Manager, here: list[Node], done: int) -> None:
    left = iter(range(done))
    before, began = manager.cpu(), time.monotonic()

    async def work(node: Node) -> None:
        for _ in left:
            if not await node.do_one():
                return

    await asyncio.gather(*(work(node) for node in here[:_AT_ONCE]))
    seconds = time.monotonic() - began
    cpu = manager.cpu() - before
    print(
        f"  {done} tasks: {1000 * cpu / done:.1f} ms of CPU each, {done / seconds:.0f} a second;"
        f" claims {_told(here[0].waits['claim'])}; {manager.resident_mb():.0f} MB resident"
    )


async def _bulk(manager: Manager, here: list[Node]) -> None:
    before = manager.cpu()
    assert await here[0].do_one(_BULK_BYTES), "no task was left"
    alone, cpu = here[0].waits["bring"][-1], manager.cpu() - before
    began = time.monotonic()
    some = here[:_BULK_NODES]
    assert all(await asyncio.gather(*(node.do_one(_BULK_BYTES // 2) for node in some)))
    together = time.monotonic() - began
    print(
        f"  100 MB: {cpu:.2f} s of CPU, {_BULK_BYTES / alone / 1e6:.0f} MB/s from one node;"
        f" {len(some) * _BULK_BYTES / 2 / together / 1e6:.0f} MB/s from {len(some)};"
        f" {manager.resident_mb():.0f} MB resident"
    )


async def _beats(manager: Manager, here: list[Node], seconds: float) -> None:
    before, began = manager.cpu(), time.monotonic()
    failed = 0

    async def keep_beating(number: int, node: Node) -> None:
        nonlocal failed
        await asyncio.sleep(_BEAT_SECONDS * number / len(here))
        while time.monotonic() - began < seconds:
            try:
                await node.beat()
            except Exception:
                failed += 1
            await asyncio.sleep(_BEAT_SECONDS)

    await asyncio.gather(*(keep_beating(*one) for one in enumerate(here)))
    beats = here[0].waits["beat"]
    cpu = manager.cpu() - before
    print(
        f"  {len(beats)} beats in {seconds:.0f} s: {cpu:.1f} s of CPU, {_told(beats)}, {failed}"
        f" failed; {manager.resident_mb():.0f} MB resident"
    )


def _told(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)

    def at(part: float) -> float:
        return 1000 * ordered[min(int(part * len(ordered)), len(ordered) - 1)]

    return f"p50 {at(0.5):.0f} ms, p99 {at(0.99):.0f} ms"


async def _until_open(manager: Manager) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", manager.port)):
            return
        assert manager.process.poll() is None, (manager.folder / "manager.log").read_text()
        assert time.monotonic() < until, "the manager opens no door"
        await asyncio.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--sizes", default="20x1000,200x10000,1000x100000")
    words.add_argument("--done", type=int, default=1000)
    words.add_argument("--seconds", type=float, default=60.0)
    asked = words.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
    for size in asked.sizes.split(","):
        nodes, tasks = map(int, size.split("x"))
        with tempfile.TemporaryDirectory(prefix="headgate-") as folder:
            uvloop.run(measure(Path(folder), nodes, tasks, asked.done, asked.seconds))


if __name__ == "__main__":
    main()
