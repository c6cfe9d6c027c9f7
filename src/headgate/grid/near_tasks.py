"""Reads tasks from the catalog shortly before they are needed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from headgate.control.board import Board
from headgate.control.board_rows import BoardStore

__all__ = ["NearTasks"]


@dataclass(slots=True)
class NearTasks:
    board: Board
    store: BoardStore
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def bring(self) -> None:
        """Put the next tasks on the board, once for all callers that wait."""
        async with self._reading:
            far = self.board.tasks.far
            if not far.wanted:
                return
            tasks = await asyncio.to_thread(self.store.tasks_of, far.next_ones())
            far.read()
            for task in tasks:
                self.board.add(task)
