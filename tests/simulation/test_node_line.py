"""A node's bandwidth holds for pages and for what the manager sends, together; in virtual time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bench.grid_churn import BEGIN, Nobody, Way

from headgate.features.grid.node.owner_limits import GuestRules
from headgate.features.grid.node.worker import WorkerJob, work
from headgate.features.grid.protocol import Known
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import BytesPerSecond, Seconds
from headgate.testing.memory_desk import MemoryDesk
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

RATE, LEASE_SECONDS = 100_000, 60.0
MEMORY = bytes(1_000_000)
PAGES, PAGE_BYTES = 1000, 4000
HTML = (("Content-Type", "text/html"),)


def test_what_is_known_of_a_site_arrives_within_the_bandwidth(tmp_path: Path) -> None:
    arrived: list[tuple[float, int]] = []

    async def play(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, BEGIN)

        class CountingWay(Way):
            async def known(self, known: Known) -> bytes:
                piece = await super().known(known)
                arrived.append((clock.now(), len(piece)))
                return piece

        def answering(request: FetchRequest, _now: float) -> Answer:
            name = request.url.rpartition("/")[2]
            if name and not name.isdigit():
                return Answer(404)
            arrived.append((clock.now(), PAGE_BYTES))
            page = int(name or 0)
            following = range(10 * page + 1, min(10 * page + 11, PAGES))
            links = "".join(f'<a href="/{other}">{other}</a>' for other in following)
            return Answer(headers=HTML, body=links.encode().ljust(PAGE_BYTES, b"."))

        desk = MemoryDesk(clock.now, LEASE_SECONDS)
        desk.add(Task(Site("a", ("http://a.test/",), delay=Seconds(0.0))), "a.test")
        desk.add(Task(Site("b", ("http://b.test/",), delay=Seconds(0.0))), "b.test", MEMORY)
        job = WorkerJob(
            "anna", tmp_path, Budget(BytesPerSecond(RATE), 2), GuestRules(), until_idle=True
        )
        await work(
            job, virtual_parts(clock, answering, Line()), CountingWay(desk, "anna"), Nobody()
        )

    run_virtually(play)
    assert sum(size for _, size in arrived) >= len(MEMORY) + 2 * PAGES * PAGE_BYTES
    seconds = [
        sum(size for at, size in arrived if begin <= at < begin + 1.0) for begin, _ in arrived
    ]
    assert max(seconds) <= 1.15 * RATE, "pages count when they are asked for"


def test_a_long_round_trip_hardly_delays_what_is_known(tmp_path: Path) -> None:
    asked: list[float] = []

    async def play(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, BEGIN)

        class FarWay(Way):
            async def known(self, known: Known) -> bytes:
                asked.append(clock.now())
                await asyncio.sleep(0.3)
                return await super().known(known)

        desk = MemoryDesk(clock.now, LEASE_SECONDS)
        desk.add(Task(Site("b", ("http://b.test/",))), "b.test", MEMORY)
        job = WorkerJob(
            "anna", tmp_path, Budget(BytesPerSecond(RATE), 2), GuestRules(), until_idle=True
        )
        await work(
            job, virtual_parts(clock, lambda *_: Answer(404), Line()), FarWay(desk, "anna"),
            Nobody(),
        )  # fmt: skip

    run_virtually(play)
    assert asked[-1] - asked[0] <= 1.1 * len(MEMORY) / (RATE / 2)
