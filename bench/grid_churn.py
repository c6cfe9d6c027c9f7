r"""Nodes that come and go by what was measured of desktops, in virtual time: what churn costs.

    TMPDIR=/dev/shm python -m bench.grid_churn --days 40 --nodes 4 --tasks 3700 --pages 20 60 \
        --delay 120 [--seeds 1] [--fits Nd07cpu] [--modes pull,batch,round-robin]

Desk, board and catalog of the manager and the worker with its control and storage are the
product's own, the web and the time are simulated. A node is up and down for Weibull times of the
Failure Trace Archive (hours; `fta-availability-fits`): when it goes, it tells nobody, and comes
back with its disk as it was. Its site allows a page every ``--delay`` seconds.

Throughput is told against whoever knows all ups and downs before: in the time until the last task
ended, each slot of a node that is up fetches a page at every delay, and none in vain.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import numpy as np
from bench.arguments import parser
from bench.cut_line import CutLine

from headgate.engine.watcher import Watcher
from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.coordinator.coordinator import set_placing
from headgate.features.grid.coordinator.requests import RequestDesk
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.coordinator.upload_files import UploadFiles
from headgate.features.grid.node.owner_limits import GuestRules
from headgate.features.grid.node.worker import Worker, WorkerJob, work
from headgate.features.grid.protocol import Claim, ClaimAnswer, Grant, encoded
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import BoardState, BoardTerms, NewTask
from headgate.features.grid.trust.journal_check import CheckedHere
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.grid import GridTerms, Mode, NodeStatus
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import UNLIMITED, Seconds
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

BEGIN = 1_794_751_200.0
HOUR = 3600.0
LEASE_SECONDS = 60.0
SLOTS = 2
LOOK_SECONDS = 600.0


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


class Holders(Protocol):
    def holder(self, task: int) -> str | None:
        """Whose lease of it is good at this moment."""
        ...


@dataclass(slots=True)
class Manager:
    """A run of one task for each host, numbered from 1 in their order."""

    desk: RequestDesk
    store: SqlBoard
    run: str

    @staticmethod
    @contextmanager
    def of(
        folder: Path, clock: VirtualClock, pages: Mapping[str, int], delay: float, mode: Mode,
        lease_seconds: float = LEASE_SECONDS,
    ) -> Iterator[Manager]:  # fmt: skip
        collection = Collection(folder)
        with collection.lock(), SqliteCatalog(collection.catalog) as catalog:
            run = collection.new_run(datetime.fromtimestamp(clock.wall(), UTC))
            catalog.begin_run(run.stamp, clock.wall(), "{}")
            store = SqlBoard(catalog.database)
            terms = BoardTerms(lease_seconds)
            desk = RequestDesk(Board(terms), store, UploadFiles(run), clock, judge=CheckedHere())
            set_placing(desk, GridTerms(mode=mode))
            store.add_tasks(
                NewTask(
                    run=run.stamp, site=host, host=host, value=count * delay,
                    expected_seconds=count * delay,
                    spec=encoded(TaskSpec(task=Task(
                        Site(host, (f"http://{host}/",), delay=Seconds(delay))
                    ))),
                )
                for host, count in pages.items()
            )  # fmt: skip
            yield Manager(desk, store, run.stamp)

    def holder(self, task: int) -> str | None:
        now, found = self.desk.clock.now(), self.desk.board.tasks.get(task)
        held = [] if found is None else self.desk.board.leases.of_task(found)
        return next((one.row.node for one in held if one.until > now), None)

    def over(self) -> bool:
        return self.desk.board.tasks.left == 0 and self.desk.committing.idle


@dataclass(slots=True)
class Web:
    """Hosts of trees of pages, one site each. By the desk's own clock: did whoever asks have the
    lease?"""

    pages: dict[str, int]
    desk: Holders
    asked: Counter[str] = field(default_factory=Counter)
    without_lease: int = 0
    _numbers: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = {host: number for number, host in enumerate(self.pages, 1)}

    def answer(self, node: str, request: FetchRequest, _now: float) -> Answer:
        parts = urlsplit(request.url)
        host, name = parts.netloc, parts.path.strip("/p")
        if not (name.isdecimal() or parts.path == "/"):
            return Answer(404)
        number = int(name or 0)
        task = self._numbers[host]
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


class Nobody(Watcher[Worker, NodeStatus]):
    """Looks on."""

    def on_messages(self, words: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Found:
    tasks: int
    done: int
    dropped: int
    """Given up: they were thought to end their nodes."""
    fetches: int
    pages: int
    departures: int
    leases: int
    end_seconds: float
    bound: float
    """Pages that whoever knows all would have had by then."""
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
    mode: Mode = Mode.PULL
    look_seconds: float = 1.0
    """How often a node looks at itself: rates and rules do not change here, so it may be rare."""
    departures: int = 0
    leases: int = 0
    up_seconds: float = 0.0
    """Of all nodes, so far."""

    def play(self) -> Found:
        return run_virtually(self._play)

    async def _play(self, loop: VirtualLoop) -> Found:
        rng = np.random.default_rng(self.seed)
        clock = VirtualClock(loop, BEGIN)
        sizes = rng.integers(*self.pages, self.tasks).tolist()
        pages = {f"h{number}.test": size for number, size in enumerate(sizes)}
        with Manager.of(
            self.folder / "manager", clock, pages, self.delay_seconds, self.mode
        ) as manager:
            await manager.desk.open()
            web = Web(pages, manager)
            lives = [
                asyncio.create_task(self._live(f"n{number}", manager, web, clock, rng.spawn(1)[0]))
                for number in range(self.nodes)
            ]
            while clock.now() < self.seconds and not manager.over():
                await asyncio.sleep(60.0)
            ended = clock.now()
            for life in lives:
                life.cancel()
            await asyncio.gather(*lives, return_exceptions=True)
            done = manager.store.done(manager.run)
            dropped = manager.store.count(manager.run).get(BoardState.DROPPED, 0)
        return Found(
            self.tasks,
            len(done),
            dropped=dropped,
            fetches=sum(web.asked.values()),
            pages=sum(pages[host] for host, _ in done),
            departures=self.departures,
            leases=self.leases,
            end_seconds=ended,
            bound=self.up_seconds * SLOTS / self.delay_seconds,
            without_lease=web.without_lease,
        )

    async def _live(
        self, name: str, manager: Manager, web: Web, clock: VirtualClock, rng: np.random.Generator
    ) -> None:
        """Up, down, up, …: each life of the node's process is another."""
        home = self.folder / name

        def answering(request: FetchRequest, now: float) -> Answer:
            return web.answer(name, request, now)

        job = WorkerJob(name, home, Budget(UNLIMITED, SLOTS), GuestRules(), allow_private=True)
        parts = virtual_parts(clock, answering, Line())
        while True:
            way, began = Way(manager.desk, name), clock.now()
            node = asyncio.create_task(
                work(job, parts, way, Nobody(), look_seconds=self.look_seconds)
            )
            try:
                await asyncio.sleep(self.availability.drawn(rng, up=True))
            finally:
                way.cut = True
                node.cancel()
                with suppress(asyncio.CancelledError):
                    await node
                self.leases += way.grants
                self.up_seconds += clock.now() - began
            self.departures += 1
            await asyncio.sleep(self.availability.drawn(rng, up=False))


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--days", type=float, default=30.0)
    words.add_argument("--nodes", type=int, default=8)
    words.add_argument("--tasks", type=int, default=600)
    words.add_argument("--pages", type=int, nargs=2, default=(20, 120), help="of a site, from, to")
    words.add_argument("--delay", type=float, default=5.0, help="seconds between two pages")
    words.add_argument("--seeds", default="1")
    words.add_argument("--fits", default=",".join(FITS))
    words.add_argument("--modes", default="pull,batch,round-robin")
    asked = words.parse_args()
    print("fit          mode         seed  done       given up  departures  leases  in vain"
          "  of the bound    ended   CPU")  # fmt: skip
    for fit, mode, seed in product(
        asked.fits.split(","), asked.modes.split(","), map(int, asked.seeds.split(","))
    ):
        began = time.process_time()
        with tempfile.TemporaryDirectory(prefix="headgate-") as folder:
            churn = Churn(
                Path(folder),
                asked.nodes,
                seconds=asked.days * 24 * HOUR,
                availability=FITS[fit],
                seed=seed,
                tasks=asked.tasks,
                pages=tuple(asked.pages),
                delay_seconds=asked.delay,
                mode=Mode(mode),
                look_seconds=LOOK_SECONDS,
            )
            found = churn.play()
        cpu = time.process_time() - began
        done = f"{found.done}/{found.tasks}"
        print(
            f"{fit:<12} {mode:<12} {seed:>4}  {done:<9}  {found.dropped:>8}  {found.departures:>10}"
            f"  {found.leases:>6}  {100 * found.lost:>5.1f} %  {found.pages / found.bound:>12.3f}"
            f"  {found.end_seconds / HOUR:>5.1f} h  {cpu:>4.0f} s",
            flush=True,
        )
        if found.without_lease:
            raise SystemExit(f"{found.without_lease} requests left without a lease")


if __name__ == "__main__":
    main()
