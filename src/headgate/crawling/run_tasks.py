"""The tasks of one run, a site's or a survey's: begun together, ended together.

A run ends once, with a reason or with a fault. Whatever a task breaks off with is the run's fault:
it is this machine's or ours, not the web's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

__all__ = ["RunTasks"]


class RunTasks:
    """Within one event loop. Filled by `spawn`, emptied as tasks end and by `wind_down`."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def over(self) -> bool:
        return self._ended.done()

    async def reason(self) -> str:
        """Why the run ended, when it has; raises its fault."""
        return await self._ended

    def end(self, reason: str) -> None:
        """The first word counts."""
        if not self._ended.done():
            self._ended.set_result(reason)

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def fail_with(self, task: asyncio.Task[None]) -> None:
        """The end of a task that is not one of these, but without which the run is nothing."""
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._ended.done():
            self._ended.set_exception(error)

    def wake_after(self, seconds: float, tick: Callable[[], None]) -> None:
        """In place of what was to wake it before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(max(seconds, 0.0), tick)

    async def wind_down(self) -> None:
        """Nothing of the run is left when this returns."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.fail_with(task)
