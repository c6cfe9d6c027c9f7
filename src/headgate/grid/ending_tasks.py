"""Tasks that are wanted no further: whoever has one brings what there is of it."""

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
    """Those that end without their task."""

    def end(self, task: int, why: str) -> None:
        """Its node hears of it with the next beat; where nobody has it, it is dropped at once."""
        self._why.setdefault(task, why)
        self.drop_waiting()

    def end_lease(self, lease: Lease, why: str) -> None:
        """The same, but its task is done again should the node not bring it."""
        self._leases = {held: w for held, w in self._leases.items() if self.board.leases.get(held)}
        self._leases[lease] = why

    def end_all(self, why: str) -> None:
        """That are on the board."""
        open_tasks = [
            *self.board.tasks.in_state(BoardState.READY),
            *self.board.tasks.in_state(BoardState.LEASED),
        ]
        for task in open_tasks:
            self.end(task.id, why)

    def drop_waiting(self) -> None:
        """Those that were given back, or lost with their node."""
        for number in list(self._why):
            task = self.board.tasks.get(number)
            if task is None:
                del self._why[number]
            elif task.state is BoardState.READY:
                self.board.drop(task)

    def orders(self, leases: Sequence[Lease]) -> tuple[Stop, ...]:
        """Of leases that are good, those that are to end."""
        reasons = ((lease, self._why.get(lease.task, self._leases.get(lease))) for lease in leases)
        return tuple(Stop(lease=lease, why=why) for lease, why in reasons if why is not None)
