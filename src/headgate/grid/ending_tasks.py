"""Ends tasks early: the node that holds one delivers what it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.control.board import Board
from headgate.control.board_rows import BoardState
from headgate.crawling.task_messages import Lease, Stop

__all__ = ["EndingTasks"]


@dataclass(slots=True)
class EndingTasks:
    board: Board
    _why: dict[int, str] = field(default_factory=dict)
    _leases: dict[Lease, str] = field(default_factory=dict)
    """Leases that end without their task."""

    def end(self, task: int, why: str) -> None:
        """Its node learns of it with the next heartbeat; a task that no node holds is dropped at
        once."""
        self._why.setdefault(task, why)
        self.drop_waiting()

    def end_lease(self, lease: Lease, why: str) -> None:
        """The same for a lease; its task is repeated if the node does not deliver."""
        self._leases = {held: w for held, w in self._leases.items() if self.board.leases.get(held)}
        self._leases[lease] = why

    def end_all(self, why: str) -> None:
        """End all tasks on the board."""
        open_tasks = [
            *self.board.tasks.in_state(BoardState.READY),
            *self.board.tasks.in_state(BoardState.LEASED),
        ]
        for task in open_tasks:
            self.end(task.id, why)

    def drop_waiting(self) -> None:
        """Drop ended tasks that were given back, or lost with their node."""
        for number in list(self._why):
            task = self.board.tasks.get(number)
            if task is None:
                del self._why[number]
            elif task.state is BoardState.READY:
                self.board.drop(task)

    def orders(self, leases: Sequence[Lease]) -> tuple[Stop, ...]:
        """Those of the given leases that should end, with the reason."""
        reasons = ((lease, self._why.get(lease.task, self._leases.get(lease))) for lease in leases)
        return tuple(Stop(lease=lease, why=why) for lease, why in reasons if why is not None)
