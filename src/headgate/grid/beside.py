"""Small pieces of work that an event loop does beside what it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field

__all__ = ["Beside"]


@dataclass(slots=True)
class Beside:
    """What fails is kept for who asks; one who never asks has not lost the work of others."""

    fault: Exception | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def settle(self) -> None:
        """Until all that was begun has ended."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))
            await asyncio.sleep(0)  # for the callbacks

    def raise_fault(self) -> None:
        """The first since the last call."""
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        fault = task.exception()
        if isinstance(fault, Exception):
            self.fault = self.fault or fault
