"""What a desk knows, for the choice of nodes for tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.control.board_rows import BoardState, BoardTask, NodeRow
from headgate.control.placements import Connects
from headgate.grid.desk import Desk

__all__ = ["DeskView"]


@dataclass(frozen=True, slots=True)
class DeskView:
    """A `headgate.control.placements.GridView`."""

    desk: Desk

    def here(self) -> Mapping[str, NodeRow]:
        lease = self.desk.board.terms.lease_seconds
        roll = self.desk.roll
        return {name: roll.rows[name] for name in roll.here(self.desk.clock.now(), lease)}

    def held(self, node: str) -> int:
        return self.desk.board.leases.held(node)

    def waiting(self) -> Sequence[BoardTask]:
        return self.desk.board.tasks.in_state(BoardState.READY)

    def waits(self, task: int) -> bool:
        return task in self.desk.board.choice.ready

    def came(self) -> int:
        return self.desk.board.choice.ready.came

    def connects(self) -> Connects:
        return self.desk.connects
