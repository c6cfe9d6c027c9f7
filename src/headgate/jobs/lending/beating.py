"""Heartbeats of a node: every third of a lease it reports what it holds, and gets its orders.

A heartbeat whose answer was lost is sent again with the same number and differences, so that the
manager counts them once. The number of the node's life is stored in its folder.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.crawling.task_messages import MOST_TASKS, Beat, Held, Lease, encoded
from headgate.crawling.task_source import SourceAway, TaskSource
from headgate.jobs.lending.fitting import MOST_BYTES, fitting_together
from headgate.jobs.lending.holdings import Holdings, Stage, Work
from headgate.model.errors import HeadgateError
from headgate.storage.replacing import write_whole
from headgate.traffic.server_tally import ServerTally

__all__ = ["Beating"]

_AGAIN_SECONDS = 1.0
_FIRST_PAUSE_SECONDS = 1.0
_MOST_SERVERS = 1_000
"""Servers, and names of them, in one heartbeat, which has to fit into a message."""
_COUNTERS = (
    "requests", "bytes", "busy_seconds", "first_byte_seconds", "response_seconds", "held_seconds",
)  # fmt: skip
_ROUNDING = 1e-3
"""Of sums of seconds."""


@dataclass(slots=True)
class Beating:
    source: TaskSource
    holdings: Holdings
    clock: Clock
    back: dict[Lease, Progress] = field(default_factory=dict)
    """Leases to give back with the next heartbeat."""
    reference: str = ""
    """The URL of the reference site; empty: none."""
    reference_seconds: float | None = None
    """How long it took this node to fetch it; None: unknown."""
    _life: int = field(init=False)
    _number: int = 1
    _heard: int = 0
    """The highest number that was answered."""
    _told: dict[str, ServerTally] = field(default_factory=dict)
    """Counters of servers that the manager knows."""
    _unheard: dict[str, ServerTally] | None = None
    """Differences in the heartbeat that was not answered yet."""
    _pause_seconds: float = _FIRST_PAUSE_SECONDS
    _at_once: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        path = self.holdings.home / "life"
        earlier = path.read_text().strip() if path.exists() else ""
        self._life = int(earlier) + 1 if earlier.isdecimal() else 1
        write_whole(path, str(self._life).encode())

    async def beat(self, servers: Mapping[str, ServerTally]) -> list[Work]:
        """Send a heartbeat until it is answered; return the tasks that were lost."""
        now = {address: tally.totals() for address, tally in servers.items()}
        if self._unheard is None:
            self._unheard = _first(_differences(now, self._told))
        while True:
            try:
                lost = await self._beat(leaving=False)
            except SourceAway:
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            told, self._unheard = self._unheard or {}, None
            before, self._told = self._told, now
            for address in _differences(now, before).keys() - told.keys():
                self._told[address] = before.get(address, ServerTally())  # next time
            return lost

    async def leave(self) -> None:
        """Say once that the node leaves; not repeated if it gets lost."""
        self._unheard = self._unheard or {}
        await self._beat(leaving=True)

    async def pause(self) -> None:
        """Wait until the next heartbeat is due, or something is to be given back."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._pause_seconds):
                await self._at_once.wait()
        self._at_once.clear()

    def give_back(self, lease: Lease, progress: Progress) -> None:
        self.back[lease] = progress
        self._at_once.set()

    async def _beat(self, *, leaving: bool) -> list[Work]:
        asked, back = self.clock.now(), dict(islice(self.back.items(), MOST_TASKS))
        given = tuple(Held(lease=lease, progress=progress) for lease, progress in back.items())
        tasks = fitting_together((given + self.holdings.held())[:MOST_TASKS])
        if sum(len(encoded(held)) for held in tasks) > MOST_BYTES:
            self._unheard = {}  # servers can wait
        orders = await self.source.beat(
            Beat(
                life=self._life,
                number=self._number,
                heard=self._heard,
                holds=self.holdings.book.holds(asked),
                tasks=tasks,
                servers=self._unheard or {},
                connects=_round_trips((self._unheard or {}).values()),
                reference_seconds=self.reference_seconds,
                back=tuple(back),
                leaving=leaving,
            )
        )
        for lease in back:
            self.back.pop(lease, None)
        self._heard = self._number
        self._number += 1
        self._pause_seconds = max(min(orders.seconds, orders.total_seconds) / 3, 0.1)
        self.reference = orders.reference
        lost = self.holdings.obey(orders, asked)
        for work in _end_standing(self.holdings):
            self.give_back(work.lease, work.progress)
            self.holdings.lose(work, work.ending)
        return lost


def _end_standing(holdings: Holdings) -> list[Work]:
    """End waiting tasks that the manager wants ended, so that their results are delivered; return
    those without any result, or whose end cannot be written."""
    nothing = []
    for work in holdings.of(Stage.WAITING):
        if not work.ending or work.lost:
            continue
        if work.progress.ended is None or not work.folder.files(work.grant):
            nothing.append(work)
            continue
        try:
            holdings.end(work, work.progress)
        except (HeadgateError, OSError):
            nothing.append(work)
    return nothing


def _round_trips(tallies: Iterable[ServerTally]) -> dict[str, float]:
    """Round-trip times by host, of servers contacted since the last heartbeat."""
    return {
        host: tally.round_trip_seconds
        for tally in tallies
        if tally.round_trip_seconds
        for host in tally.hosts
    }


def _first(servers: Mapping[str, ServerTally]) -> dict[str, ServerTally]:
    """As many as fit into a heartbeat."""
    found, names = dict(islice(servers.items(), _MOST_SERVERS)), _MOST_SERVERS
    for tally in found.values():
        tally.hosts = set(islice(tally.hosts, names))
        names -= len(tally.hosts)
    return found


def _differences(
    now: Mapping[str, ServerTally], before: Mapping[str, ServerTally]
) -> dict[str, ServerTally]:
    """The growth of counters. A new fleet counts from 0: then everything is new."""
    found = {}
    for address, tally in now.items():
        old = before.get(address, ServerTally())
        if any(getattr(tally, each) < getattr(old, each) - _ROUNDING for each in _COUNTERS):
            old = ServerTally()
        if tally.requests > old.requests:
            found[address] = ServerTally(
                tally.hosts,
                tally.requests - old.requests,
                tally.bytes - old.bytes,
                tally.busy_seconds - old.busy_seconds,
                tally.first_byte_seconds - old.first_byte_seconds,
                tally.response_seconds - old.response_seconds,
                tally.held_seconds - old.held_seconds,
                tally.round_trip_seconds,
            )
    return found
