"""Heartbeats of a node: what it holds, in messages that are small enough, and its orders."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from msgspec.structs import replace

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.ports import Clock
from headgate.crawling.progress import Growth, Progress
from headgate.features.grid.node.leased_tasks import LeasedTask, LeasedTasks, Stage
from headgate.features.grid.protocol import (
    MOST_TASKS,
    Beat,
    CannotDo,
    Held,
    Inability,
    Lease,
    SourceAway,
    TaskSource,
    encoded,
)
from headgate.model.errors import HeadgateError
from headgate.model.run_report import LeftOut
from headgate.storage.atomic_write import write_whole

__all__ = ["Heartbeats", "cannot_do", "fitting", "fitting_together"]

_AGAIN_SECONDS = 1.0
_LONGEST_REASON = 200
_FIRST_PAUSE_SECONDS = 1.0
_MOST_SERVERS = 1_000
"""Servers, and names of them, in one heartbeat, which has to fit into a message."""
_COUNTERS = (
    "requests", "bytes", "busy_seconds", "first_byte_seconds", "response_seconds", "held_seconds",
)  # fmt: skip
_ROUNDING = 1e-3
"""Of sums of seconds."""


@dataclass(slots=True)
class Heartbeats:
    """Heartbeats of a node: every third of a lease it reports what it holds, and gets its orders.

    A heartbeat whose answer was lost is sent again with the same number and differences, so that
    the manager counts them once. The number of the node's life is stored in its folder.
    """

    source: TaskSource
    leased_tasks: LeasedTasks
    clock: Clock
    back: dict[Lease, Progress] = field(default_factory=dict)
    """Leases to give back with the next heartbeat."""
    cannot: dict[Lease, CannotDo] = field(default_factory=dict)
    """Those that this node cannot do."""
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
        path = self.leased_tasks.home / "life"
        earlier = path.read_text().strip() if path.exists() else ""
        self._life = int(earlier) + 1 if earlier.isdecimal() else 1
        write_whole(path, str(self._life).encode())

    async def beat(self, servers: Mapping[str, ServerTally]) -> list[LeasedTask]:
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

    def give_back(self, lease: Lease, progress: Progress, cannot: CannotDo | None = None) -> None:
        self.back[lease] = progress
        if cannot is not None:
            self.cannot[lease] = cannot
        self._at_once.set()

    async def _beat(self, *, leaving: bool) -> list[LeasedTask]:
        asked, back = self.clock.now(), dict(islice(self.back.items(), MOST_TASKS))
        given = tuple(Held(lease=lease, progress=progress) for lease, progress in back.items())
        tasks = fitting_together((given + self.leased_tasks.held())[:MOST_TASKS])
        if sum(len(encoded(held)) for held in tasks) > MOST_BYTES:
            self._unheard = {}  # servers can wait
        orders = await self.source.beat(
            Beat(
                life=self._life,
                number=self._number,
                heard=self._heard,
                holds=self.leased_tasks.book.holds(asked),
                tasks=tasks,
                servers=self._unheard or {},
                connects=_round_trips((self._unheard or {}).values()),
                reference_seconds=self.reference_seconds,
                back=tuple(back),
                cannot=tuple(self.cannot[lease] for lease in back if lease in self.cannot),
                leaving=leaving,
            )
        )
        for lease in back:
            self.back.pop(lease, None)
            self.cannot.pop(lease, None)
        self._heard = self._number
        self._number += 1
        self._pause_seconds = max(min(orders.seconds, orders.total_seconds) / 3, 0.1)
        self.reference = orders.reference
        lost = self.leased_tasks.obey(orders, asked)
        for work in _end_standing(self.leased_tasks):
            self.give_back(work.lease, work.progress)
            self.leased_tasks.lose(work, work.ending)
        return lost


def cannot_do(lease: Lease, what: Inability, why: str) -> CannotDo:
    """With as much of the reason as fits."""
    return CannotDo(lease=lease, what=what, why=why.replace("\0", "")[:_LONGEST_REASON])


def _end_standing(leased_tasks: LeasedTasks) -> list[LeasedTask]:
    """End waiting tasks that the manager wants ended, so that their results are delivered; return
    those without any result, or whose end cannot be written."""
    nothing = []
    for work in leased_tasks.in_stage(Stage.WAITING):
        if not work.ending or work.lost:
            continue
        if work.progress.ended is None or not work.folder.files(work.grant):
            nothing.append(work)
            continue
        try:
            leased_tasks.end(work, work.progress)
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
                bytes=tally.bytes - old.bytes,
                busy_seconds=tally.busy_seconds - old.busy_seconds,
                first_byte_seconds=tally.first_byte_seconds - old.first_byte_seconds,
                response_seconds=tally.response_seconds - old.response_seconds,
                held_seconds=tally.held_seconds - old.held_seconds,
                round_trip_seconds=tally.round_trip_seconds,
            )
    return found


# Progress that fits into a message: a NATS server lets no more than a mebibyte through, and what
# is larger would be sent again for ever, without an answer.
#
# A chain of a hundred thousand pages has as many depths, and a site may have as many dead hosts.
# The manager does without such details: first those that only improve its estimates are left out.


MOST_BYTES = 512 << 10
"""The other half of a message is for servers, connect times, or names of files."""
_FEW_HOSTS = 100


def _counts(left_out: Mapping[str, LeftOut]) -> dict[str, LeftOut]:
    return {reason: LeftOut(found.count) for reason, found in left_out.items()}


_SHORTER: tuple[Callable[[Progress], Progress], ...] = (
    lambda progress: replace(progress, growth=Growth()),
    lambda progress: replace(
        progress, given_up=dict(islice(progress.given_up.items(), _FEW_HOSTS))
    ),
    lambda progress: replace(progress, given_up={}, left_out=_counts(progress.left_out)),
    lambda progress: replace(progress, left_out={}, errors=Counter[str](), focus=None),
)


def fitting(progress: Progress, most_bytes: float = MOST_BYTES) -> Progress:
    for shorter in _SHORTER:
        if len(encoded(progress)) <= most_bytes:
            break
        progress = shorter(progress)
    return progress


def fitting_together(held: Sequence[Held]) -> tuple[Held, ...]:
    """Of a heartbeat; each may have the same part of it. A thousand may take more all the same,
    when nothing is left to leave out."""
    each = MOST_BYTES / max(len(held), 1)
    return tuple(replace(one, progress=fitting(one.progress, each)) for one in held)
