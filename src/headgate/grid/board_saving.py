"""Saves the board's decisions in the catalog, with one transaction for all who wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from headgate.control.board import Board
from headgate.control.board_rows import BoardStore
from headgate.crawling.group_commit import GroupCommit
from headgate.model.errors import HeadgateError

__all__ = ["BoardSaving"]


@dataclass(slots=True)
class BoardSaving:
    board: Board
    store: BoardStore
    fault: BaseException | None = None
    """Why saving failed; the board is ahead of the catalog then, and no more questions are
    answered."""
    _saving: GroupCommit[None] = field(init=False)

    def __post_init__(self) -> None:
        self._saving = GroupCommit(self._begin)

    async def stored(self) -> None:
        """Returns when all decisions so far are stored."""
        try:
            await self._saving.commit(None)
        except HeadgateError as fault:
            self.fault = fault
            raise

    def _begin(self, _: Sequence[None]) -> Callable[[], object]:
        return partial(self.store.save, self.board.changes.take())
