"""Tasks of a board that are not done: how each stands, and how many are left. No decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.control.board_rows import BoardState, BoardTask, Changes, LeaseRow
from headgate.crawling.task_messages import Lease

__all__ = ["BoardTasks", "Standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a lease stands: by whom its task is settled, if it is."""

    state: BoardState
    wins: bool


@dataclass(slots=True)
class BoardTasks:
    changes: Changes
    """Takes what changes here."""
    added: int = 0
    """At any time, also those that are done."""
    _open: dict[int, BoardTask] = field(default_factory=dict)
    """In the order of adding."""
    _few: dict[BoardState, dict[int, BoardTask]] = field(
        default_factory=lambda: {BoardState.RECEIVED: {}, BoardState.DROPPED: {}}
    )
    """Those in states in which few are, and for which a manager looks all the time."""
    _silent: dict[int, dict[Lease, str]] = field(default_factory=dict)
    """By task, leases whose node was not heard of, and which."""

    @property
    def left(self) -> int:
        """Neither done nor dropped."""
        return len(self._open) - len(self._few[BoardState.DROPPED])

    def get(self, number: int) -> BoardTask | None:
        """None: done, or there never was one."""
        return self._open.get(number)

    def of(self, row: LeaseRow) -> BoardTask:
        """The task of a lease; it is not done."""
        return self._open[row.lease.task]

    def in_state(self, state: BoardState) -> Sequence[BoardTask]:
        if state in self._few:
            return list(self._few[state].values())
        return [task for task in self._open.values() if task.state is state]

    def add(self, task: BoardTask) -> None:
        self.added += 1
        if task.state is not BoardState.DONE:
            self._open[task.id] = task
            if task.state in self._few:
                self._few[task.state][task.id] = task

    def put(self, task: BoardTask, state: BoardState) -> None:
        """Into another state."""
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
        """Whether a node that lost it was only silent, as far as anybody knows."""
        return bool(self._silent.get(task.id))

    def heard_again(self, lease: Lease, node: str, *, new_life: bool) -> BoardTask | None:
        """Of a node that was silent: either it had died, or it never did, and then its task, which
        is answered, was not to blame."""
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
        """Of a lease that was given; None: its task is none of those not done."""
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
