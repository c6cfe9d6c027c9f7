"""Saves the board's decisions in the catalog, with one transaction for all who wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from headgate.control.board import Board
from headgate.control.board_rows import BoardState, BoardStore, Changes
from headgate.crawling.group_commit import GroupCommit
from headgate.model.errors import HeadgateError

__all__ = ["BoardSaving"]


@dataclass(slots=True)
class _Asked:
    task: int | None = None
    """The task whose spec is wanted; None: no spec is."""
    spec: bytes = b""


def _nobody(_: int) -> None: ...


@dataclass(slots=True)
class BoardSaving:
    board: Board
    store: BoardStore
    fault: BaseException | None = None
    """Why saving failed; the board is ahead of the catalog then, and no more questions are
    answered."""
    given_up: Callable[[int], None] = _nobody
    """Called for each task that is dropped."""
    _saving: GroupCommit[_Asked] = field(init=False)

    def __post_init__(self) -> None:
        self._saving = GroupCommit(self._begin)

    async def stored(self) -> None:
        """Returns when all decisions so far are stored."""
        await self._commit(_Asked())

    async def stored_with_spec(self, task: int) -> bytes:
        """The same, and return the spec of a task; read separately, it would wait for the next
        transaction."""
        asked = _Asked(task)
        await self._commit(asked)
        return asked.spec

    async def _commit(self, asked: _Asked) -> None:
        try:
            await self._saving.commit(asked)
        except HeadgateError as fault:
            self.fault = fault
            raise

    def _begin(self, asked: Sequence[_Asked]) -> Callable[[], object]:
        changes = self.board.changes.take()
        for number, task in changes.tasks.items():
            if task.state is BoardState.DROPPED:
                self.given_up(number)
        return partial(self._save, changes, asked)

    def _save(self, changes: Changes, asked: Sequence[_Asked]) -> None:
        if changes:
            self.store.save(changes)
        for one in asked:
            if one.task is not None:
                one.spec = self.store.spec(one.task)
