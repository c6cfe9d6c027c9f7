"""Decides about a task whose node was lost: it waits for another node, or is given up.

A silent node need not be dead: a machine that is too busy or asleep comes back, and then the task
is not to blame. So a task that was lost too often (`control.losses`) is given up at once only if
none of its nodes can come back without a restart. Otherwise no node gets it until they have been
silent for long, or one is back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headgate.control.board_rows import BoardState, BoardTask
from headgate.control.board_tasks import BoardTasks
from headgate.control.losses import Losses
from headgate.control.ready_tasks import ReadyTasks

__all__ = ["GivingUp"]


@dataclass(slots=True)
class GivingUp:
    tasks: BoardTasks
    ready: ReadyTasks
    losses: Losses
    patience_seconds: float
    """Time after the end of a lease until its node is considered dead."""
    _doubted: dict[int, float] = field(default_factory=dict)
    """Tasks that no node gets, and until when."""

    def lost(self, task: BoardTask, lapsed: float) -> None:
        """No node holds it now; the last lease was valid until ``lapsed``."""
        self.tasks.put(task, BoardState.READY)
        if not self._is_to_blame(task):
            self.ready.add(task)
        else:
            self._doubted[task.id] = lapsed + self.patience_seconds
            self._decide(task, lapsed)

    def look(self, now: float) -> None:
        """Give up tasks whose nodes have been silent for long."""
        for number in list(self._doubted):
            task = self.tasks.get(number)
            if task is None or task.state is not BoardState.READY or number in self.ready:
                del self._doubted[number]  # a late result came
            else:
                self._decide(task, now)

    def came_back(self, task: BoardTask) -> None:
        """A silent node came back without a restart."""
        given_up = task.state is BoardState.DROPPED or task.id in self._doubted
        if given_up and not self._is_to_blame(task):
            self._doubted.pop(task.id, None)
            self.tasks.put(task, BoardState.READY)
            self.ready.add(task)

    def _decide(self, task: BoardTask, now: float) -> None:
        if now >= self._doubted[task.id] or not self.tasks.may_be_heard_of(task):
            del self._doubted[task.id]
            self.tasks.put(task, BoardState.DROPPED)

    def _is_to_blame(self, task: BoardTask) -> bool:
        return self.losses.blame(task.lost, task.held_seconds, self.tasks.added)
