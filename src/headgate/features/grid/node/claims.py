"""Claims tasks for a node's free slots, and fetches what is known of their sites."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec

from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.features.grid.node.bandwidth import CoordinatorBandwidth
from headgate.features.grid.node.delivery import until_answered
from headgate.features.grid.node.heartbeats import Heartbeats, cannot_do
from headgate.features.grid.node.leased_tasks import (
    LeasedTask,
    LeasedTasks,
    LeaseFolder,
    keep_handout,
    keep_memory,
)
from headgate.features.grid.node.owner_limits import GuestRules, OwnerBounds
from headgate.features.grid.node.statistics import WorkerTally
from headgate.features.grid.node.wakeups import Wakeups, machine_backoff
from headgate.features.grid.protocol import (
    MOST_AMOUNT,
    MOST_TASKS,
    Claim,
    Grant,
    Idle,
    Inability,
    Known,
    Refused,
    TaskSource,
)
from headgate.frontier.retries import Backoff
from headgate.model.errors import HeadgateError
from headgate.model.units import format_duration, format_size
from headgate.storage.atomic_write import write_soon

__all__ = ["ClaimLoop", "TaskClaim"]

_MOST_MEMORY_BYTES = 1 << 30
_MOST_REFUSED = 1000


@dataclass(slots=True)
class TaskClaim:
    """Claims a task for a node, and fetches what is known of its site.

    A claim has a name, which is on disk until there is a task: if a node that was killed repeats
    it, it gets the same task. A task that the owner's rules forbid is given back and excluded from
    later claims.
    """

    source: TaskSource
    leased_tasks: LeasedTasks
    heartbeats: Heartbeats
    rules: GuestRules
    line: CoordinatorBandwidth
    clock: Clock
    notify: Callable[[str], None]
    tally: WorkerTally
    refused_in_a_row: int = 0
    """Since a task was last taken."""
    _refused: list[int] = field(default_factory=list)
    """Tasks that this node has refused."""

    async def claim(self, slots: int, free_bytes: int, rate: float | None) -> Idle | None:
        """None: there was a task, which was taken or refused. ``rate``: what the owner allows
        now."""
        claim = Claim(
            id=self._open_claim(),
            slots=min(slots, MOST_TASKS),
            free_bytes=free_bytes,
            bandwidth=None if rate is None else min(rate, MOST_AMOUNT),
            not_these=tuple(self._refused),
        )
        asked = self.clock.now()

        async def ask() -> Grant | Idle:
            nonlocal asked
            asked = self.clock.now()
            return await self.source.claim(claim)

        answer = await until_answered(ask)
        if isinstance(answer, Idle):
            return answer
        if answer.lease not in self.leased_tasks.works:
            await self._take_or_return(answer, asked)
        (self.leased_tasks.home / "claim").unlink(missing_ok=True)
        await self.line.take(len(msgspec.json.encode(answer)))
        return None

    async def _take_or_return(self, grant: Grant, asked: float) -> None:
        """Raises faults of this machine, after the task was given back."""
        why_not = self.rules.why_not(grant.task.site)
        if why_not:
            self.notify(f"not taken: {why_not}")
            self._refuse(grant, self.rules.inability(grant.task.site), why_not)
            return
        work = None
        try:
            work = self.leased_tasks.accept(grant, asked, self.clock.wall())
            await self._take(work)
        except Refused:
            raise
        except (HeadgateError, OSError):
            if work is not None and work.lost:
                return  # its folder was deleted meanwhile
            self._return(grant, work)
            raise

    def _return(self, grant: Grant, work: LeasedTask | None) -> None:
        """Give a task back that this machine had no room for."""
        self.tally.gave_back()
        self.heartbeats.give_back(grant.lease, Progress(grant.task.name))
        if work is None:
            LeaseFolder(self.leased_tasks.home, grant.lease).delete()
        else:
            self.leased_tasks.lose(work, "a fault of this machine")
        (self.leased_tasks.home / "claim").unlink(missing_ok=True)

    async def _take(self, work: LeasedTask) -> None:
        grant = work.grant
        if grant.known_bytes:
            await self._take_memory(work)
        if grant.handed_bytes and not await self._take_handout(work):
            self.notify(f"{work.site}: its URLs arrived damaged; it is given back")
            self._refuse(work.grant)
            self.leased_tasks.lose(work, "it arrived damaged")
        if not work.lost:
            await asyncio.to_thread(work.folder.complete)
            self.refused_in_a_row = 0
        work.complete = True

    async def _take_memory(self, work: LeasedTask) -> None:
        """Fetch the site's memory; without it, everything is crawled again."""
        await self._all_pieces(work, work.grant.known_bytes, handed=False)
        if work.lost:
            return
        if not await asyncio.to_thread(keep_memory, work.folder, work.grant):
            self.notify(f"{work.site}: its memory arrived damaged and is ignored")

    async def _take_handout(self, work: LeasedTask) -> bool:
        """Fetch what was handed to a part of a site; False: it cannot be crawled without."""
        await self._all_pieces(work, work.grant.handed_bytes, handed=True)
        if work.lost:
            return True
        return await asyncio.to_thread(keep_handout, work.folder, work.grant)

    async def _all_pieces(self, work: LeasedTask, size: int, *, handed: bool) -> None:
        """They are written to the disk as they come."""
        came = 0
        await asyncio.to_thread(work.folder.add_piece, came, b"")
        async with self.line.memory():
            while came < min(size, _MOST_MEMORY_BYTES) and not work.lost:
                known = Known(
                    lease=work.lease, offset=came, handed=handed,
                    most=self.line.piece_bytes(),
                )  # fmt: skip
                await self.line.take(known.most)
                piece = await until_answered(partial(self._piece, work, known))
                if not piece:
                    break
                await asyncio.to_thread(work.folder.add_piece, came, piece)
                came += len(piece)

    async def _piece(self, work: LeasedTask, known: Known) -> bytes:
        return b"" if work.lost else await self.source.known(known)

    def exclude(self, task: int) -> None:
        """Exclude a task from later claims."""
        self._refused = [*self._refused, task][-_MOST_REFUSED:]

    def _refuse(self, grant: Grant, what: Inability | None = None, why: str = "") -> None:
        """Give a task back, and exclude it from later claims."""
        self.refused_in_a_row += 1
        self.exclude(grant.lease.task)
        cannot = None if what is None else cannot_do(grant.lease, what, why)
        self.heartbeats.give_back(grant.lease, Progress(grant.task.name), cannot)

    def _open_claim(self) -> str:
        path = self.leased_tasks.home / "claim"
        name = path.read_text().strip() if path.exists() else ""
        if not name:
            name = secrets.token_hex(12)
            write_soon(path, name.encode())
        return name


_FULL_LOOKS = 5
"""Looks between two questions whether there is room again."""
_LONGEST_IDLE_SECONDS = 60.0
_PER_REFUSAL_SECONDS = 1e-3


@dataclass(slots=True)
class ClaimLoop:
    """Claims tasks for a node's free slots, one after another, while there is room and nothing
    failed.

    A fault of this machine, such as a full disk, is no reason to end: the node rests, and claims
    again.
    """

    claiming: TaskClaim
    bounds: OwnerBounds
    clock: Clock
    wakeups: Wakeups
    notify: Callable[[str], None]
    may_claim: Callable[[], bool]
    """Whether the node wants tasks at all."""
    taken: Callable[[], None]
    """Called when there was a task."""
    slots: int
    look_seconds: float
    until_idle: bool
    """Whether to end when no task is left for any node."""
    _backoff: Backoff = field(default_factory=machine_backoff)
    _full: bool = False
    """There is no space for another task, and the owner was told."""

    async def run(self) -> None:
        ended = False
        while not ended:
            if not self._may_claim():
                await self.wakeups.pause(self.look_seconds)
                continue
            try:
                ended = await self._claim()
                self._backoff.reset()
            except Refused:
                raise
            except (HeadgateError, OSError) as fault:
                wait = self._backoff.rest(self.clock.now())
                self.notify(f"{fault}; the next task is claimed in {format_duration(wait)}")

    def _may_claim(self) -> bool:
        busy = len(self.bounds.leased_tasks.unfinished) >= self.slots
        return self.may_claim() and not busy and not self._backoff.rests(self.clock.now())

    async def _claim(self) -> bool:
        """Claim a task, or wait until there may be one; True: there will be none."""
        room = await asyncio.to_thread(self.bounds.room)
        if not self.bounds.has_room(room):
            if not self._full:
                self.notify(f"nothing is claimed while only {format_size(room)} of disk is left")
            self._full = True
            await self.wakeups.pause(_FULL_LOOKS * self.look_seconds)
            return False
        self._full = False
        if not self._may_claim():  # no longer
            return False
        idle = await self.claiming.claim(self.slots, room, self.bounds.leg.own_rate())
        if idle is None:
            self.taken()
            await asyncio.sleep(self._patience_seconds)
            return False
        return await self._wait(idle)

    @property
    def _patience_seconds(self) -> float:
        """Longer with each task in a row that the owner's rules forbid. The manager excludes the
        last thousand only, so a node could claim and return others without end."""
        refused = self.claiming.refused_in_a_row
        return min(refused * _PER_REFUSAL_SECONDS, _LONGEST_IDLE_SECONDS)

    async def _wait(self, idle: Idle) -> bool:
        works = self.bounds.leased_tasks.works.values()
        if self.until_idle and not idle.left and all(work.of_another_run for work in works):
            return True
        await self.wakeups.pause(min(idle.wait, _LONGEST_IDLE_SECONDS))
        return False
