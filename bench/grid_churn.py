"""Nodes that come and go by what was measured of desktops, in virtual time: what churn costs.

The worker, its control and storage are the product's own, the web and the time are simulated. A
node is up and down for Weibull times of the Failure Trace Archive (hours; `fta-availability-fits`):
when it goes, it tells nobody, and half of the times it comes back with its disk as it was.

    python -m bench.grid_churn --days 7 --nodes 8 --seeds 1,2
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from bench.cut_line import CutLine

from headgate.crawling.memory_desk import MemoryDesk
from headgate.crawling.task_messages import Claim, ClaimAnswer, Grant
from headgate.jobs.lending.guest_rules import GuestRules
from headgate.jobs.lending.worker import Worker, WorkerJob, work
from headgate.jobs.virtual_parts import virtual_parts
from headgate.lab.worlds.simulated_web import Answer, Line
from headgate.lab.worlds.virtual_time import VirtualClock, VirtualLoop, run_virtually
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.node_status import NodeStatus
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import UNLIMITED, Seconds

BEGIN = 1_794_751_200.0
HOUR = 3600.0
LEASE_SECONDS = 60.0
SLOTS = 2


@dataclass(frozen=True, slots=True)
class Availability:
    """Weibull, hours: (shape, scale) of being up, and of being down."""

    up: tuple[float, float]
    down: tuple[float, float]

    def drawn(self, rng: np.random.Generator, *, up: bool) -> float:
        shape, scale = self.up if up else self.down
        return float(rng.weibull(shape)) * scale * HOUR


FITS = {
    "Nd07cpu": Availability((0.45, 4.16), (0.51, 0.74)),
    "Microsoft99": Availability((0.55, 35.3), (0.6, 9.34)),
}


@dataclass(slots=True)
class Web:
    """Hosts of trees of pages, one site each. By the desk's own clock: did whoever asks have the
    lease?"""

    pages: dict[str, int]
    desk: MemoryDesk
    asked: Counter[str] = field(default_factory=Counter)
    without_lease: int = 0

    def answer(self, node: str, request: FetchRequest, _now: float) -> Answer:
        parts = urlsplit(request.url)
        host, name = parts.netloc, parts.path.strip("/p")
        if not (name.isdecimal() or parts.path == "/"):
            return Answer(404)
        number = int(name or 0)
        task = 1 + list(self.pages).index(host)
        self.without_lease += self.desk.holder(task) != node
        self.asked[request.url] += 1
        links = [k for k in (2 * number + 1, 2 * number + 2) if k < self.pages[host]]
        anchors = "".join(f'<a href="/p{k}">{k}</a>' for k in links)
        body = f"<title>{number}</title>{anchors}<p>" + f"{number} " * 300
        return Answer(200, (("content-type", "text/html"),), body.encode())


@dataclass
class Way(CutLine):
    """A node's way to the desk."""

    grants: int = 0

    async def claim(self, claim: Claim) -> ClaimAnswer:
        answer = await super().claim(claim)
        self.grants += isinstance(answer, Grant)
        return answer


class Nobody:
    """Looks on."""

    def told(self, words: Sequence[str]) -> None: ...

    def state(self, status: NodeStatus) -> None: ...

    def attach(self, worker: Worker) -> None: ...


@dataclass(frozen=True, slots=True)
class Found:
    tasks: int
    done: int
    fetches: int
    pages: int
    departures: int
    leases: int
    end_seconds: float
    without_lease: int
    """Requests that left a node for a task that was not its own at that moment."""

    @property
    def lost(self) -> float:
        """Part of the fetches whose pages did not count."""
        return 1.0 - self.pages / self.fetches


@dataclass(slots=True)
class Churn:
    """One play."""

    folder: Path
    nodes: int
    seconds: float
    availability: Availability
    seed: int
    tasks: int
    pages: tuple[int, int] = (20, 120)
    delay_seconds: float = 5.0
    departures: int = 0
    leases: int = 0

    def play(self) -> Found:
        return run_virtually(self._play)

    async def _play(self, loop: VirtualLoop) -> Found:
        rng = np.random.default_rng(self.seed)
        clock = VirtualClock(loop, BEGIN)
        desk = MemoryDesk(clock.now, LEASE_SECONDS)
        sizes = rng.integers(*self.pages, self.tasks).tolist()
        web = Web({f"h{number}.test": size for number, size in enumerate(sizes)}, desk)
        for host in web.pages:
            site = Site(host, (f"http://{host}/",), delay=Seconds(self.delay_seconds))
            desk.add(Task(site), host)
        lives = [
            asyncio.create_task(self._live(f"n{number}", desk, web, clock, rng.spawn(1)[0]))
            for number in range(self.nodes)
        ]
        while clock.now() < self.seconds and len(desk.results()) < self.tasks:
            await asyncio.sleep(60.0)
        ended = clock.now()
        for life in lives:
            life.cancel()
        await asyncio.gather(*lives, return_exceptions=True)
        done = desk.results()
        counted = sum(sizes[number - 1] for number in done)
        return Found(
            self.tasks, len(done), sum(web.asked.values()), counted, self.departures,
            self.leases, ended, web.without_lease,
        )  # fmt: skip

    async def _live(
        self, name: str, desk: MemoryDesk, web: Web, clock: VirtualClock, rng: np.random.Generator
    ) -> None:
        """Up, down, up, …: each life of the node's process is another."""
        home = self.folder / name

        def answering(request: FetchRequest, now: float) -> Answer:
            return web.answer(name, request, now)

        job = WorkerJob(name, home, Budget(UNLIMITED, SLOTS), GuestRules(), allow_private=True)
        parts = virtual_parts(clock, answering, Line())
        while True:
            way = Way(desk, name)
            node = asyncio.create_task(work(job, parts, way, Nobody()))
            try:
                await asyncio.sleep(self.availability.drawn(rng, up=True))
            finally:
                way.cut = True
                node.cancel()
                with suppress(asyncio.CancelledError):
                    await node
                self.leases += way.grants
            self.departures += 1
            await asyncio.sleep(self.availability.drawn(rng, up=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--days", type=float, default=7.0)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--tasks", type=int, default=600)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--fits", default=",".join(FITS))
    arguments = parser.parse_args()
    print("fit          seed  done        departures  leases  fetches  lost    ended    CPU")
    for fit in arguments.fits.split(","):
        for seed in map(int, arguments.seeds.split(",")):
            began = time.process_time()
            with tempfile.TemporaryDirectory(prefix="headgate-") as folder:
                seconds = arguments.days * 24 * HOUR
                churn = Churn(
                    Path(folder), arguments.nodes, seconds, FITS[fit], seed, arguments.tasks
                )
                found = churn.play()
            cpu = time.process_time() - began
            done = f"{found.done}/{found.tasks}"
            print(
                f"{fit:<12} {seed:>4}  {done:<10}  {found.departures:>10}  {found.leases:>6}"
                f"  {found.fetches:>7}  {100 * found.lost:>4.1f} %"
                f"  {found.end_seconds / HOUR:>5.1f} h  {cpu:>4.0f} s"
            )
            if found.without_lease:
                raise SystemExit(f"{found.without_lease} requests left without a lease")


if __name__ == "__main__":
    main()
