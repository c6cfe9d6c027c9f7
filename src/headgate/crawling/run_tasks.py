"""The asyncio tasks of one run, of a site or a survey, which end together.

A run ends once, with a reason or with a fault. An exception in any task is the run's fault: it
comes from this machine or from us, not from the web.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

__all__ = ["RunTasks"]


class RunTasks:
    """Filled by `spawn`, emptied as tasks end and by `wind_down`."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def over(self) -> bool:
        return self._ended.done()

    async def reason(self) -> str:
        """Wait for the end of the run; returns its reason or raises its fault."""
        return await self._ended

    def end(self, reason: str) -> None:
        """Only the first reason counts."""
        if not self._ended.done():
            self._ended.set_result(reason)

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def fail_with(self, task: asyncio.Task[None]) -> None:
        """Done callback of another task: its exception becomes the run's fault."""
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._ended.done():
            self._ended.set_exception(error)

    def wake_after(self, seconds: float, tick: Callable[[], None]) -> None:
        """Set the timer; replaces the one before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(max(seconds, 0.0), tick)

    async def wind_down(self) -> None:
        """Cancel all tasks and wait for their end."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.fail_with(task)
