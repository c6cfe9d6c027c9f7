"""Nodes elsewhere as a fleet: a `headgate.crawling.ports.MeasuredFleet` over the manager's desk.

    start ─► a task on the board ─► some node ─► result stored ─► merged ─► returned by `wait`

A keeper starts visits here as on its own machine. Rates of single sites are ignored: each node
divides its part of the total itself. A node learns with its next heartbeat that a task is stopped,
and delivers what it has fetched. Results of tasks that are no longer expected, because the manager
was restarted or gave up waiting, are stored and merged, too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.background_tasks import TaskSet
from headgate.crawling.progress import Progress, TaskState
from headgate.features.grid.coordinator.requests import RequestDesk
from headgate.features.grid.coordinator.upload_commit import Received
from headgate.features.grid.protocol import Lease
from headgate.features.grid.scheduler.records import BoardState, NewTask
from headgate.model.task import Task
from headgate.storage.journals.journal import Owner

__all__ = ["LOST", "DeskGone", "GridFleet"]

LOST = "lost with several nodes"
"""Reason of a task that was given up."""
_LOOK_SECONDS = 0.5
_CLOSING_LEASES = 1.5
"""Time for running tasks to be stopped and to deliver what they have, in leases."""
_OF_OLD = "its manager was started again"

TakeIn = Callable[[Owner, Task | None], Awaitable[None]]
"""Merges a stored result into the site's memory. None: its task is no longer expected."""


class DeskGone(Exception):
    """The catalog failed: this desk has stopped, and another must be opened."""


@dataclass(slots=True)
class _Running:
    task: Task
    number: int | None = None
    """Its number on the board; None: not there yet."""
    stopped: str = ""


@dataclass(slots=True)
class GridFleet:
    desk: RequestDesk
    new_task: Callable[[Task], NewTask]
    """Makes the task's row for the board."""
    take_in: TakeIn
    _running: dict[str, _Running] = field(default_factory=dict)
    """By site."""
    _ended: list[Progress] = field(default_factory=list)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _beside: TaskSet = field(default_factory=TaskSet)
    _held: list[Received] | None = field(default_factory=list)
    """Results that arrived outside of `at_work`; None: within it."""

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Results are merged within this context, first those that arrived before it."""
        held, self._held = self._held, None
        for result in held or ():
            self.stored(result)
        try:
            yield
        finally:
            self._held = []
            self._running.clear()

    def start(self, task: Task) -> None:
        running = self._running[task.name] = _Running(task)
        self._beside.do(self._put_up(running))

    def set_rates(self, rates: Mapping[str, float]) -> None:
        """Ignored: each node sets its own."""

    def set_total(self, rate: float) -> None:
        """Ignored: the desk leases the total in parts, and knows its timetable."""

    def stop(self, site: str, reason: str) -> None:
        running = self._running.get(site)
        if running is not None and not running.stopped:
            running.stopped = reason
            if running.number is not None:
                self.desk.ending.end(running.number, reason)
            self._woken.set()

    def progress(self) -> Sequence[Progress]:
        told: dict[int, tuple[Lease, Progress]] = {}
        for lease, progress in self.desk.running().items():
            before = told.get(lease.task)
            if before is None or progress.arrived_bytes > before[1].arrived_bytes:
                told[lease.task] = lease, progress
        return [_told(running, told) for running in self._running.values()]

    def servers(self) -> Mapping[str, ServerTally]:
        return self.desk.registry.servers

    def carried(self) -> int:
        return sum(tally.bytes for tally in self.desk.registry.servers.values())

    async def wait(self, seconds: float) -> Sequence[Progress]:
        until = self.desk.clock.now() + seconds
        while not self._ended:
            self._look()
            left = until - self.desk.clock.now()
            if self._ended or left <= 0:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, _LOOK_SECONDS)):
                    await self._woken.wait()
            self._woken.clear()
        ended, self._ended = self._ended, []
        return ended

    async def close(self, reason: str) -> None:
        """Waits for results that nodes still deliver, also of visits that an earlier manager began.
        Results that come too late are merged after the next start."""
        for site in list(self._running):
            self.stop(site, reason)
        clock, lease = self.desk.clock, self.desk.board.terms.lease_seconds
        until = clock.now() + _CLOSING_LEASES * lease
        ended: list[Progress] = []
        while clock.now() < until and self.desk.fault is None:
            if not self._running and not _expects_results(self.desk):
                break
            ended += await self.wait(_LOOK_SECONDS)
        await self._beside.settle()
        for site, running in list(self._running.items()):
            self._tell_end(site, _nothing(running.task, reason))
        self._ended = [*ended, *self._ended]

    def stored(self, result: Received) -> None:
        """Called by the desk."""
        if self._held is None:
            self._beside.do(self._take_in(result))
        else:
            self._held.append(result)

    async def _put_up(self, running: _Running) -> None:
        new, desk = self.new_task(running.task), self.desk
        (row,) = await asyncio.to_thread(desk.store.add_tasks, [new])
        running.number = row.id
        if row.state is BoardState.DONE:  # for an earlier manager; its result is merged already
            self._tell_end(running.task.name, _nothing(running.task, _OF_OLD))
            return
        if desk.board.tasks.get(row.id) is None:
            desk.board.add(row)
        if running.stopped:
            desk.ending.end(row.id, running.stopped)

    def _look(self) -> None:
        """Raise faults, and end tasks that were dropped: lost too often, or given back when they
        were stopped."""
        if self.desk.fault is not None:
            raise DeskGone(str(self.desk.fault)) from self.desk.fault
        self._beside.raise_fault()
        self._stop_what_nobody_can()
        self.desk.ending.drop_waiting()
        for site, running in list(self._running.items()):
            task = None if running.number is None else self.desk.board.tasks.get(running.number)
            if task is not None and task.state is BoardState.DROPPED:
                self._tell_end(site, _nothing(running.task, running.stopped or LOST))

    def _stop_what_nobody_can(self) -> None:
        """A visit that no node here can make ends; the keeper tries again as after any failure."""
        desk = self.desk
        here = desk.registry.here(desk.clock.now(), desk.board.terms.lease_seconds)
        for site, running in list(self._running.items()):
            task = None if running.number is None else desk.board.tasks.get(running.number)
            if here and task is not None and task.state is BoardState.READY:
                need = desk.inabilities.needs(task.id, here)
                if need:
                    self.stop(site, f"it needs a node {need}")

    async def _take_in(self, result: Received) -> None:
        lease, site = result.row.lease, result.owner.site
        running = self._running.get(site)
        waited = running is not None and running.number == lease.task
        task = running.task if running is not None and waited else None
        await self.take_in(result.owner, task)
        if task is not None:
            self._tell_end(site, _as_life(result.manifest.progress, task, lease.epoch))

    def _tell_end(self, site: str, progress: Progress) -> None:
        if self._running.pop(site, None) is not None:
            self._ended.append(progress)
            self._woken.set()


def _expects_results(desk: RequestDesk) -> bool:
    """From nodes that are connected, or received and not yet in the catalog."""
    board = desk.board
    here = desk.registry.here(desk.clock.now(), board.terms.lease_seconds)
    leased = any(board.leases.held(node) for node in here)
    return leased or any(board.tasks.in_state(BoardState.RECEIVED))


def _told(running: _Running, told: Mapping[int, tuple[Lease, Progress]]) -> Progress:
    task = running.task
    if running.number is None or running.number not in told:
        return Progress(task.name, visit=task.visit)
    lease, progress = told[running.number]
    found = _as_life(progress, task, lease.epoch)
    found.ended, found.state = None, TaskState.CRAWLING
    return found


def _as_life(progress: Progress, task: Task, epoch: int) -> Progress:
    """Each lease counts as a restart."""
    return msgspec.structs.replace(progress, site=task.name, visit=task.visit, restarts=epoch)


def _nothing(task: Task, reason: str) -> Progress:
    return Progress(task.name, TaskState.STOPPED, 0.0, 0.0, reason=reason, visit=task.visit)
