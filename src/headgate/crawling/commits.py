"""Group commit: pages of a site run are made durable in batches, off the event loop.

A batch is committed when it is old or large enough, so that one sync serves many pages. When the
disk is slower than the line, `room` makes fetches wait: memory stays bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from headgate.crawling.ports import SiteStore
from headgate.crawling.progress import Landed, Progress

__all__ = ["Commits"]

_EVERY_SECONDS = 0.5
_BATCH_BYTES = 4_000_000
_MOST_WAITING_BYTES = 16_000_000


class Commits:
    """The commits of one store, one at a time, and one more at the end."""

    def __init__(
        self,
        store: SiteStore,
        store_all: Callable[[], Awaitable[object]],
        landed: Landed,
        progress: Progress,
    ) -> None:
        """``store_all`` commits the store, off the event loop."""
        self._store = store
        self._store_all = store_all
        self._landed = landed
        self._progress = progress
        self._any = asyncio.Event()
        """Something was added since the last commit began."""
        self._wanted = asyncio.Event()
        """So much was added that it should be committed at once."""
        self._committed = asyncio.Condition()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._any.wait()
            try:
                async with asyncio.timeout(_EVERY_SECONDS):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            await self.commit()

    async def commit(self) -> None:
        self._any.clear()
        self._wanted.clear()
        given = self._landed.copy()  # the counters of what is about to be committed
        await self._store_all()
        self._progress.keep(given)
        async with self._committed:
            self._committed.notify_all()

    def given(self) -> None:
        """Something was added to the store."""
        self._any.set()
        if self._store.waiting_bytes >= _BATCH_BYTES:
            self._wanted.set()

    async def room(self) -> None:
        """Wait until the store can take more."""
        if self._store.waiting_bytes < _MOST_WAITING_BYTES:
            return
        async with self._committed:
            await self._committed.wait_for(lambda: self._store.waiting_bytes < _MOST_WAITING_BYTES)
