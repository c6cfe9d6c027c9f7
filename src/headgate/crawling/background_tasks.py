"""Tasks of an event loop that end together, and long work in pieces between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

__all__ = ["Pieces", "RunTasks", "TaskSet", "at_one_go", "in_turns", "metered"]


class RunTasks:
    """The asyncio tasks of one run, of a site or a survey, which end together.

    A run ends once, with a reason or with a fault. An exception in any task is the run's fault: it
    comes from this machine or from us, not from the web.

    Filled by `spawn`, emptied as tasks end and by `wind_down`.
    """

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


# Long work in pieces, between which an event loop can answer others.
#
# Such work is a generator that yields where it may be interrupted, and returns its result. Whether
# there is an interruption is up to whoever runs it.


Result = TypeVar("Result")
Pieces: TypeAlias = Generator[None, None, Result]


def at_one_go(work: Pieces[Result]) -> Result:
    """
    >>> def sum_of(numbers):
    ...     total = 0
    ...     for number in numbers:
    ...         total += number
    ...         yield
    ...     return total
    >>> at_one_go(sum_of([1, 2, 3]))
    6
    """
    try:
        while True:
            next(work)
    except StopIteration as ended:
        result: Result = ended.value
        return result


async def in_turns(work: Pieces[Result]) -> Result:
    """After each piece it is everybody else's turn."""
    try:
        while True:
            next(work)
            await asyncio.sleep(0)
    except StopIteration as ended:
        result: Result = ended.value
        return result


def metered(
    work: Pieces[Result], clock: Callable[[], float], spend: Callable[[float], None]
) -> Pieces[Result]:
    """The same work; the time of each piece is told, without that of others between them."""
    while True:
        before = clock()
        try:
            next(work)
        except StopIteration as ended:
            result: Result = ended.value
            return result
        finally:
            spend(clock() - before)
        yield


@dataclass(slots=True)
class TaskSet:
    """Background tasks of an event loop.

    The first error is kept for `raise_fault`; other tasks go on.
    """

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
