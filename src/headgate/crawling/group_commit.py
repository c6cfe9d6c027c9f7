"""Commits of many stores in one go, off the event loop.

Where hundreds of small sites are crawled at once, each would wait for the disk alone, and their
threads for each other. Whoever asks while a commit is under way is part of the next one, together
with all others who did.
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
        """``begin`` does what is done quickly and answers with the rest, which may block and is
        done in a thread. The next commit begins when it is."""
        self._begin = begin
        self._waiting: list[Store] = []
        """Those who asked since the last commit began."""
        self._next: asyncio.Task[None] | None = None
        """Their commit."""
        self._last: asyncio.Task[None] | None = None
        """The one under way, or done."""

    async def commit(self, store: Store) -> None:
        """Returns when all that the store was given until now is stored."""
        self._waiting.append(store)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._commit())
        await asyncio.shield(self._next)  # whoever leaves does not take the others along

    async def _commit(self) -> None:
        if self._last is not None:
            await asyncio.wait([self._last])
        stores, self._waiting = self._waiting, []
        self._last, self._next = self._next, None
        await asyncio.to_thread(self._begin(stores))
