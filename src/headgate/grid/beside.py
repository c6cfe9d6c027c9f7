"""Background tasks of an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field

__all__ = ["Beside"]


@dataclass(slots=True)
class Beside:
    """The first error is kept for `raise_fault`; other tasks go on."""

    fault: Exception | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def settle(self) -> None:
        """Wait until all tasks have ended."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))
            await asyncio.sleep(0)  # for the callbacks

    def raise_fault(self) -> None:
        """Raise the first error since the last call."""
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
