"""The board of a grid: which node gets which task, and whose result counts. Pure: time is an
argument.

- A task is **leased** to a node; heartbeats extend the lease. Each lease of a task has a higher
  **epoch** (fencing token), so an earlier holder is told from the present one.
- A lease that expired is not ended at once, as the node may come back: only when, some seconds
  later, another node wants the task and nothing better waits, or wants its place at the host.
- The first complete result under any lease of the task counts; its other leases are
  **superseded**.
- A host never has more nodes than places, usually one: a node stops by its own clock before its
  lease ends here.
- A task that was lost three times, and more often than others, is dropped: it may be what kills
  nodes (`control.losses`). If its node is heard again without a restart, the task was not to blame,
  so nothing is dropped while that may happen (`control.giving_up`). A lease without progress is
  ended after three lease times, and at least 90 s (`control.movement`).
- A node holds no more tasks than it can use, so one that claims and never works blocks few.
- When few tasks are left and none waits, running ones are given to a second node if their host has
  a place.

Times are of a monotonic clock, except ``wall``, which is for the catalog.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from headgate.control.board_rows import (
    BoardState,
    BoardTask,
    BoardTerms,
    Changes,
    Ending,
    LeaseRow,
)
from headgate.control.board_tasks import BoardTasks
from headgate.control.giving_up import GivingUp
from headgate.control.losses import Losses
from headgate.control.movement import Movement
from headgate.control.open_leases import OpenLease, OpenLeases
from headgate.control.ready_tasks import ReadyTasks
from headgate.control.task_choice import Asker, TaskChoice
from headgate.crawling.task_messages import Held, Lease, Stop

__all__ = ["Board"]

_UNHEARD = (Ending.SUPERSEDED, Ending.REVOKED)
"""Leases that were ended by others: their node may go on until it learns of that."""
_OPEN = (BoardState.READY, BoardState.LEASED, BoardState.DROPPED)


@dataclass(slots=True)
class Board:
    """The board of one run."""

    terms: BoardTerms = field(default=BoardTerms())
    changes: Changes = field(default_factory=Changes)
    """Changes that are not stored yet."""
    draining: bool = False
    """No more tasks are given out."""
    tasks: BoardTasks = field(init=False)
    leases: OpenLeases = field(default_factory=OpenLeases)
    choice: TaskChoice = field(init=False)
    movement: Movement = field(init=False)
    losses: Losses = field(init=False)
    _ready: ReadyTasks = field(default_factory=ReadyTasks)
    """Tasks that wait for a node."""
    _fates: GivingUp = field(init=False)

    def __post_init__(self) -> None:
        self.tasks = BoardTasks(self.changes)
        self.choice = TaskChoice(self.terms, self.tasks, self._ready, self.leases)
        self.movement = Movement(self.terms)
        self.losses = Losses(self.terms.most_lost)
        self._fates = GivingUp(self.tasks, self._ready, self.losses, self.terms.silent_seconds)

    def add(self, task: BoardTask) -> None:
        self.tasks.add(task)
        if task.state in (BoardState.READY, BoardState.LEASED):
            task.state = BoardState.READY
            self._ready.add(task)

    def take_up(self, row: LeaseRow, now: float, wall: float) -> None:
        """Restore a lease that was open when the manager ended; it is valid for one more lease
        time."""
        task = self.tasks.get(row.lease.task)
        if task is not None and task.state in (BoardState.READY, BoardState.LEASED):
            task.state = BoardState.LEASED
            self._hold(row, task, now).since = now - max(wall - row.given, 0.0)

    @property
    def busy(self) -> bool:
        """Whether any task is leased, or any result not stored yet."""
        return bool(self.leases) or any(self.tasks.in_state(BoardState.RECEIVED))

    def claim(self, asker: Asker, now: float, wall: float) -> OpenLease | None:
        """Lease a task for a free slot; the same one for a repeated claim. None: nothing for this
        node now, unless far ones are wanted (`control.far_tasks`)."""
        same = self.leases.by_claim(asker.node, asker.claim)
        if same is not None or self.draining:
            return same
        if self.leases.held(asker.node) >= asker.most_held:
            return None
        self.choice.wake_hosts(now)
        self._fates.look(now)
        while (task := self.choice.next(asker, now)) is not None:
            for held in self.choice.lapsed_of(task, now):
                self._end(held, Ending.EXPIRED, wall)
            going = self.choice.in_the_way(task.host, now, task.nodes_at_once)
            if going is not None and (task.state is BoardState.LEASED or task.id in self._ready):
                for held in going:
                    self._end(held, Ending.EXPIRED, wall)
                return self._give(task, asker, now, wall)
        return None

    def beat(
        self, node: str, held: Sequence[Held], now: float, wall: float, *, new_life: bool = False,
        paused: bool = False,
    ) -> tuple[list[Lease], list[Stop]]:  # fmt: skip
        """Return leases that are extended, and those that have ended. ``new_life``: the node was
        restarted; ``paused``: the budget allows no fetches now."""
        good: list[Lease] = []
        stop: list[Stop] = []
        for word in held:
            found = self.leases.get(word.lease, node)
            if found is None:
                again = self.tasks.heard_again(word.lease, node, new_life=new_life)
                if again is not None:
                    self.losses.lost = max(self.losses.lost - 1, 0)
                    self._fates.came_back(again)
                stop.append(Stop(lease=word.lease, why=self.tasks.why_over(word.lease)))
                continue
            self.losses.lost += new_life  # back in time, but the machine had vanished
            told = word.progress
            found.row.pages, found.row.wire_bytes = told.pages, told.wire_bytes
            if self.movement.hangs(found, told, now, paused=paused):
                blamed = self.movement.is_to_blame(found, told, now, alone=len(held) == 1)
                self._end(found, Ending.STUCK, wall, blamed=blamed)
                still = f"stuck: nothing moved for {self.terms.stuck_seconds:.0f} s"
                stop.append(Stop(lease=word.lease, why=still))
                continue
            found.heard, found.until = now, now + self.terms.lease_seconds
            good.append(word.lease)
        return good, stop

    def give_back(
        self, node: str, how: Ending, wall: float, leases: Container[Lease] | None = None
    ) -> None:
        """End leases of a node, all or the given ones, so that others get the tasks."""
        for held in self.leases.of_node(node):
            if leases is None or held.row.lease in leases:
                self._end(held, how, wall)

    def receive(self, row: LeaseRow, manifest: bytes, wall: float) -> bool:
        """A complete result was received under a lease that was given; True if it counts."""
        task = self.tasks.get(row.lease.task)
        if task is None or task.state not in _OPEN:
            return False
        for held in self.leases.of_task(task):
            if held.row.lease == row.lease:
                self.losses.note_end(held, self.terms.beat_seconds)
                self.leases.remove(held)
            else:
                self._end(held, Ending.SUPERSEDED, wall)
        self._ready.remove(task)
        self._ready.awake(row.host)
        self.tasks.put(task, BoardState.RECEIVED)
        task.winner, task.epoch = row.lease.epoch, task.epoch + 1
        row.ended = wall
        self.changes.leases[row.lease] = row
        self.changes.manifests[task.id] = manifest
        return True

    def commit(self, row: LeaseRow, pages: int, wire_bytes: int) -> None:
        """The result received under the lease of ``row`` was stored."""
        task = self.tasks.of(row)
        assert task.state is BoardState.RECEIVED
        assert task.winner == row.lease.epoch
        self.tasks.put(task, BoardState.DONE)
        row.how, row.pages, row.wire_bytes = Ending.COMMITTED, pages, wire_bytes
        self.changes.leases[row.lease] = row

    def spoil(self, row: LeaseRow) -> None:
        """A received result cannot be stored: the task waits again."""
        task = self.tasks.of(row)
        self.tasks.put(task, BoardState.READY)
        task.winner, task.epoch = None, task.epoch + 1
        row.how = Ending.SPOILT
        self.changes.leases[row.lease] = row
        self._ready.add(task)

    def give_up_audits(self) -> None:
        """Drop audits that no node took."""
        for task in self.tasks.in_state(BoardState.READY):
            if task.audit_of is not None:
                self.drop(task)

    def drop(self, task: BoardTask) -> None:
        """Drop a waiting task: no node will get it."""
        self._ready.remove(task)
        self.tasks.put(task, BoardState.DROPPED)

    def _give(self, task: BoardTask, asker: Asker, now: float, wall: float) -> OpenLease:
        place = self.leases.places.free_place(task.host)
        self.tasks.put(task, BoardState.LEASED)
        task.epoch += 1
        lease = Lease(task.id, task.epoch)
        row = LeaseRow(lease, asker.node, asker.claim, task.host, place, wall)
        self.changes.leases[lease] = row
        return self._hold(row, task, now)

    def _hold(self, row: LeaseRow, task: BoardTask, now: float) -> OpenLease:
        self._ready.remove(task)
        until = now + self.terms.lease_seconds
        held = OpenLease(row, task, until, moved=now, delayed=now, since=now, heard=now)
        self.leases.add(held)
        return held

    def _end(self, held: OpenLease, how: Ending, wall: float, *, blamed: bool = True) -> None:
        """End a lease. The task waits again unless it has another lease or was lost too often."""
        row, task = held.row, held.task
        self.losses.note_end(held, self.terms.beat_seconds)
        self.leases.remove(held, told=how not in _UNHEARD)
        self._ready.awake(row.host)
        row.ended, row.how = wall, how
        self.changes.leases[row.lease] = row
        if how is Ending.SUPERSEDED:
            return
        self.changes.touch(task)
        if how.lost and blamed:
            task.lost += 1
            self.losses.lost += 1
        if how is Ending.EXPIRED:
            self.tasks.fell_silent(row)
        if not self.leases.of_task(task):
            self._fates.lost(task, held.until)
