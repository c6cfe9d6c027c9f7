"""The board of a grid: who gets which task, and whose result counts. Pure: time is an argument.

- A task is **leased** to a node for a while; beats prolong it. Each lease of a task has a higher
  **epoch**, so whatever comes from an earlier holder is told from what comes from the present one.
- A lease that ended without a beat is not taken away at once: the node may be back. It is, when
  somebody else wants the task and nothing better waits, or wants the host.
- The first whole result brought under any lease that was really given counts; all other leases of
  the task are **superseded**.
- At one host there are no more nodes than it has places, usually one, whatever gets lost: a node
  stops by its own clock before its lease ends here.
- A task lost three times is dropped: it may be what kills nodes. A lease under which nothing moves
  is ended after three lease times.
- When few tasks are left and nothing waits, those that run are given a second time, where their
  host has a place for it.

Times are those of a clock that does not jump, but for ``wall``, which is for the catalog.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field

from headgate.control.board_rows import BoardState, BoardTask, Changes, Ending, LeaseRow
from headgate.control.open_leases import OpenLease, OpenLeases
from headgate.control.ready_tasks import ReadyTasks
from headgate.crawling.task_messages import Held, Lease, Stop

__all__ = ["Asker", "Board", "BoardTerms", "Standing"]

_WINDOW = 16
"""Tasks among which it is chosen who is near to which."""
_LOOKS_A_LEASE = 20
_OPEN = (BoardState.READY, BoardState.LEASED, BoardState.DROPPED)

Choose = Callable[[str, Sequence[BoardTask]], BoardTask | None]
"""Of tasks that come first, the one for this node; None: all are for others."""


@dataclass(frozen=True, slots=True)
class BoardTerms:
    lease_seconds: float = 60.0
    stuck_leases: float = 3.0
    """Lease times without progress."""
    most_lost: int = 3
    twice_share: float = 0.05
    """Of all tasks: when no more are left, they are given twice."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A node that wants a task."""

    node: str
    claim: str
    group: str = ""
    free_bytes: float = math.inf
    not_these: Container[int] = ()
    """Tasks."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a lease stands: by whom its task is settled, if it is."""

    state: BoardState
    wins: bool


def _first(_: str, tasks: Sequence[BoardTask]) -> BoardTask | None:
    return tasks[0] if tasks else None


@dataclass(slots=True)
class Board:
    """Of one run's tasks. ``choose`` says which of the first is for whom."""

    terms: BoardTerms = field(default=BoardTerms())
    choose: Choose = _first
    window: int = _WINDOW
    """Tasks that are shown to whoever chooses."""
    changes: Changes = field(default_factory=Changes)
    """Since somebody last took them."""
    draining: bool = False
    """Nothing is given out any more."""
    _tasks: dict[int, BoardTask] = field(default_factory=dict)
    """Not done."""
    _ready: ReadyTasks = field(default_factory=ReadyTasks)
    _open: OpenLeases = field(default_factory=OpenLeases)
    _added: int = 0
    _dropped: int = 0
    _looked: float = -math.inf
    """For leases that lapsed."""

    def add(self, task: BoardTask) -> None:
        self._added += 1
        if task.state is BoardState.DONE:
            return
        self._tasks[task.id] = task
        self._dropped += task.state is BoardState.DROPPED
        if task.state in (BoardState.READY, BoardState.LEASED):
            task.state = BoardState.READY
            self._ready.add(task)

    def take_up(self, row: LeaseRow, now: float) -> None:
        """A lease that was open when the manager ended: it gets one more time from now."""
        task = self._tasks.get(row.lease.task)
        if task is not None and task.state in (BoardState.READY, BoardState.LEASED):
            self._hold(row, task, now)

    @property
    def left(self) -> int:
        """Tasks that are neither done nor dropped."""
        return len(self._tasks) - self._dropped

    @property
    def busy(self) -> bool:
        """Whether anything is given out, or on its way into the run."""
        return bool(self._open) or any(self.in_state(BoardState.RECEIVED))

    def waiting(self) -> list[BoardTask]:
        """Whatever is not given out, in the order of adding."""
        return [task for task in self._tasks.values() if task.id in self._ready]

    def held(self, node: str) -> int:
        """Tasks that a node has."""
        return len(self._open.of_node(node))

    def task(self, number: int) -> BoardTask | None:
        """None: done, or there never was one."""
        return self._tasks.get(number)

    def in_state(self, state: BoardState) -> list[BoardTask]:
        return [task for task in self._tasks.values() if task.state is state]

    def open_lease(self, lease: Lease) -> OpenLease | None:
        return self._open.get(lease)

    def claim(self, asker: Asker, now: float, wall: float) -> OpenLease | None:
        """A task for a free slot; asked again, the same. None: nothing for this node now."""
        same = self._open.by_claim(asker.node, asker.claim)
        if same is not None or self.draining:
            return same
        self._wake_hosts(now)
        while (task := self._next(asker, now)) is not None:
            for held in (*self._open.of_task(task), *self._open.at_host(task.host)):
                if held.until <= now and self._open.get(held.row.lease) is not None:
                    self._end(held, Ending.EXPIRED, wall)
            if task.state is not BoardState.DROPPED:
                return self._give(task, asker, now, wall)
        return None

    def beat(
        self, node: str, held: Iterable[Held], now: float, wall: float
    ) -> tuple[list[Lease], list[Stop]]:
        """Leases that go on, and those that do not."""
        good: list[Lease] = []
        stop: list[Stop] = []
        for word in held:
            found = self._open.get(word.lease, node)
            if found is None:
                stop.append(Stop(lease=word.lease, why=self._why_over(word.lease)))
                continue
            told = word.progress
            found.row.pages, found.row.wire_bytes = told.pages, told.wire_bytes
            mark = (told.fetches, told.wire_bytes + told.under_way_bytes, told.seen)
            if mark != found.mark:
                found.mark, found.moved = mark, now
            elif now - found.moved > self.terms.stuck_leases * self.terms.lease_seconds:
                self._end(found, Ending.STUCK, wall)
                stop.append(Stop(lease=word.lease, why="stuck: nothing moved for three leases"))
                continue
            found.until = now + self.terms.lease_seconds
            good.append(word.lease)
        return good, stop

    def give_back(
        self, node: str, how: Ending, wall: float, leases: Container[Lease] | None = None
    ) -> None:
        """What a node holds, all of it or some, for others."""
        for held in self._open.of_node(node):
            if leases is None or held.row.lease in leases:
                self._end(held, how, wall)

    def standing(self, lease: Lease) -> Standing | None:
        """Of a lease that was given; None: its task is none of those not done."""
        task = self._tasks.get(lease.task)
        return None if task is None else Standing(task.state, task.winner == lease.epoch)

    def receive(self, row: LeaseRow, manifest: bytes, wall: float) -> bool:
        """A whole result is here, brought under a lease that was given; whether it counts."""
        task = self._tasks.get(row.lease.task)
        if task is None or task.state not in _OPEN:
            return False
        self._dropped -= task.state is BoardState.DROPPED
        for held in self._open.of_task(task):
            if held.row.lease == row.lease:
                self._let_go(held)
            else:
                self._end(held, Ending.SUPERSEDED, wall)
        self._ready.remove(task)
        self._touch(task)
        task.state, task.winner, task.epoch = BoardState.RECEIVED, row.lease.epoch, task.epoch + 1
        row.ended = wall
        self.changes.leases[row.lease] = row
        self.changes.manifests[task.id] = manifest
        return True

    def commit(self, row: LeaseRow, pages: int, wire_bytes: int) -> None:
        """A result that was received is stored, under the lease of ``row``."""
        task = self._tasks.pop(row.lease.task)
        assert task.state is BoardState.RECEIVED
        assert task.winner == row.lease.epoch
        self._touch(task)
        task.state = BoardState.DONE
        row.how, row.pages, row.wire_bytes = Ending.COMMITTED, pages, wire_bytes
        self.changes.leases[row.lease] = row

    def spoil(self, row: LeaseRow) -> None:
        """What was received cannot be stored: the task is to be done again."""
        task = self._tasks[row.lease.task]
        self._touch(task)
        task.state, task.winner, task.epoch = BoardState.READY, None, task.epoch + 1
        row.how = Ending.SPOILT
        self.changes.leases[row.lease] = row
        self._ready.add(task)

    def give_up_audits(self) -> None:
        """Those that nobody took."""
        for task in self.waiting():
            if task.audit_of is not None:
                self._ready.remove(task)
                self._touch(task)
                task.state = BoardState.DROPPED
                self._dropped += 1

    def take_changes(self) -> Changes:
        """Copies: what is here goes on changing while they are stored."""
        taken, self.changes = self.changes, Changes()
        taken.tasks = {number: copy(task) for number, task in taken.tasks.items()}
        taken.leases = {lease: copy(row) for lease, row in taken.leases.items()}
        return taken

    def _next(self, asker: Asker, now: float) -> BoardTask | None:
        def fit(task: BoardTask) -> bool:
            other_group = task.not_group is None or task.not_group != asker.group
            wanted = task.id not in asker.not_these and task.expected_bytes <= asker.free_bytes
            return other_group and wanted

        def free(host: str) -> bool:
            return self._open.place(host, self._places(host), now) is not None

        best = self._ready.best(self.window, free, fit)
        chosen = self.choose(asker.node, best) if best else None
        if chosen is not None:
            return chosen
        lapsed = next((held for held in self._open.lapsed(now) if fit(held.task)), None)
        if lapsed is not None:
            return lapsed.task
        few = self.left <= max(self.terms.twice_share * self._added, 1.0)
        alone = [
            held.task
            for held in (self._open if few and not len(self._ready) else ())
            if held.row.node != asker.node and len(self._open.of_task(held.task)) == 1
            and free(held.row.host) and fit(held.task)
        ]  # fmt: skip
        return max(alone, key=lambda task: (task.expected_seconds, -task.id), default=None)

    def _give(self, task: BoardTask, asker: Asker, now: float, wall: float) -> OpenLease:
        place = self._open.place(task.host, self._places(task.host), now)
        assert place is not None
        self._touch(task)
        task.epoch += 1
        lease = Lease(task.id, task.epoch)
        row = LeaseRow(lease, asker.node, asker.claim, task.host, place, wall)
        self.changes.leases[lease] = row
        return self._hold(row, task, now)

    def _hold(self, row: LeaseRow, task: BoardTask, now: float) -> OpenLease:
        task.state = BoardState.LEASED
        self._ready.remove(task)
        held = OpenLease(row, task, now + self.terms.lease_seconds, now)
        self._open.add(held)
        return held

    def _places(self, host: str) -> int:
        """The least that any of those who are there, or come next, allows."""
        tasks = [held.task for held in self._open.at_host(host)]
        waiting = self._ready.first_at(host)
        if waiting is not None:
            tasks.append(waiting)
        return min((task.nodes_at_once for task in tasks), default=1)

    def _end(self, held: OpenLease, how: Ending, wall: float) -> None:
        """The task waits again, unless somebody else has it, too, or it was lost too often."""
        self._let_go(held)
        row, task = held.row, held.task
        row.ended, row.how = wall, how
        self.changes.leases[row.lease] = row
        if how is Ending.SUPERSEDED:
            return
        self._touch(task)
        task.lost += how.lost
        if self._open.of_task(task):
            return
        if task.lost >= self.terms.most_lost:
            task.state = BoardState.DROPPED
            self._dropped += 1
        else:
            task.state = BoardState.READY
            self._ready.add(task)

    def _let_go(self, held: OpenLease) -> None:
        self._open.remove(held)
        self._ready.awake(held.row.host)

    def _wake_hosts(self, now: float) -> None:
        if now - self._looked >= self.terms.lease_seconds / _LOOKS_A_LEASE:
            self._looked = now
            for held in self._open.lapsed(now):
                self._ready.awake(held.row.host)

    def _touch(self, task: BoardTask) -> None:
        """About to change: the epoch that it was last stored with is remembered once."""
        self.changes.tasks[task.id] = task
        self.changes.epochs.setdefault(task.id, task.epoch)

    def _why_over(self, lease: Lease) -> str:
        task = self._tasks.get(lease.task)
        if task is None or task.state is BoardState.RECEIVED:
            return "superseded: its result is here"
        if task.state is BoardState.DROPPED:
            return "dropped: it was lost too often"
        return "lost: another has it"
