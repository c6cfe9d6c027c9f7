"""Commits many stores in one go, off the event loop.

With hundreds of small sites at once, each would wait for the disk alone, and their threads for each
other. All who ask while a commit is in progress share the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["GroupCommit"]

Store = TypeVar("Store")


class GroupCommit(Generic[Store]):
    """Within one event loop."""

    def __init__(self, begin: Callable[[Sequence[Store]], Callable[[], object]]) -> None:
        """``begin`` does the quick part and returns the rest, which may block and is run in a
        thread. The next commit begins after it."""
        self._begin = begin
        self._waiting: list[Store] = []
        """Stores to be part of the next commit."""
        self._next: asyncio.Task[None] | None = None
        """The next commit."""
        self._last: asyncio.Task[None] | None = None
        """The commit in progress, or the last one."""

    async def commit(self, store: Store) -> None:
        """Returns when all that the store was given until now is durable."""
        self._waiting.append(store)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._commit())
        await asyncio.shield(self._next)  # cancelling one does not cancel the others

    async def _commit(self) -> None:
        if self._last is not None:
            await asyncio.wait([self._last])
        stores, self._waiting = self._waiting, []
        self._last, self._next = self._next, None
        await asyncio.to_thread(self._begin(stores))
