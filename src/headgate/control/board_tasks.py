"""Tasks of a board that are not done, and their states. No decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.control.board_rows import BoardState, BoardTask, Changes, LeaseRow
from headgate.control.far_tasks import FarTasks
from headgate.crawling.task_messages import Lease

__all__ = ["BoardTasks", "Standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a lease's task, and whether the result under this lease counts."""

    state: BoardState
    wins: bool


@dataclass(slots=True)
class BoardTasks:
    changes: Changes
    """Collects the changes made here."""
    far: FarTasks = field(default_factory=FarTasks)
    """Those that are in the catalog alone."""
    _added: int = 0
    """Tasks added so far, including those that are done."""
    _open: dict[int, BoardTask] = field(default_factory=dict)
    """In the order in which they were added."""
    _few: dict[BoardState, dict[int, BoardTask]] = field(
        default_factory=lambda: {BoardState.RECEIVED: {}, BoardState.DROPPED: {}}
    )
    """Tasks in rare states that the manager looks up often."""
    _silent: dict[int, dict[Lease, str]] = field(default_factory=dict)
    """By task, leases whose node fell silent, with the node."""

    @property
    def added(self) -> int:
        """Tasks added so far, including those that are far or done."""
        return self._added + len(self.far)

    @property
    def left(self) -> int:
        """Tasks that are neither done nor dropped."""
        return len(self._open) + len(self.far) - len(self._few[BoardState.DROPPED])

    def get(self, number: int) -> BoardTask | None:
        """None: it is done, or does not exist."""
        return self._open.get(number)

    def of(self, row: LeaseRow) -> BoardTask:
        """The task of a lease; it must not be done."""
        return self._open[row.lease.task]

    def in_state(self, state: BoardState) -> Sequence[BoardTask]:
        if state in self._few:
            return list(self._few[state].values())
        return [task for task in self._open.values() if task.state is state]

    def add(self, task: BoardTask) -> None:
        self._added += 1
        if task.state is not BoardState.DONE:
            self._open[task.id] = task
            if task.state in self._few:
                self._few[task.state][task.id] = task

    def put(self, task: BoardTask, state: BoardState) -> None:
        """Change the state of a task."""
        self.changes.touch(task)
        self._few.get(task.state, {}).pop(task.id, None)
        if state in self._few:
            self._few[state][task.id] = task
        task.state = state
        if state is BoardState.DONE:
            del self._open[task.id]
            self._silent.pop(task.id, None)

    def fell_silent(self, row: LeaseRow) -> None:
        self._silent.setdefault(row.lease.task, {})[row.lease] = row.node

    def may_be_heard_of(self, task: BoardTask) -> bool:
        """Whether a node that lost it may still come back."""
        return bool(self._silent.get(task.id))

    def heard_again(self, lease: Lease, node: str, *, new_life: bool) -> BoardTask | None:
        """A silent node came back. If it was not restarted (``new_life``), its task was not to
        blame, and is returned."""
        task, silent = self._open.get(lease.task), self._silent.get(lease.task, {})
        if task is None or silent.get(lease) != node:
            return None
        del silent[lease]
        if new_life:
            return None
        self.changes.touch(task)
        task.lost = max(task.lost - 1, 0)
        return task

    def standing(self, lease: Lease) -> Standing | None:
        """The standing of a lease that was given; None: its task is done."""
        task = self._open.get(lease.task)
        return None if task is None else Standing(task.state, task.winner == lease.epoch)

    def why_over(self, lease: Lease) -> str:
        """Why a lease has ended, for its node."""
        task = self._open.get(lease.task)
        if task is None or task.state is BoardState.RECEIVED:
            return "superseded: its result is here"
        if task.state is BoardState.DROPPED:
            return "dropped: it was lost too often"
        return "lost: another has it"
