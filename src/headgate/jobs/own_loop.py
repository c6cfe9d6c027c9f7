"""A job in an event loop of its own, called from a program that may have one already.

In a thread beside the caller's loop a notebook can call what blocks, and a program whose own loop
stands still does not hold up a crawl.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

__all__ = ["run_beside", "run_blocking"]

_Result = TypeVar("_Result")
_Make = Callable[[], Coroutine[Any, Any, _Result]]


def run_blocking(make: _Make[_Result]) -> _Result:
    """Here where no loop runs, else in a thread; returns when it is done."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return uvloop.run(make())
    return _in_thread(make).result()


async def run_beside(make: _Make[_Result], stop: Callable[[], None]) -> _Result:
    """In a thread, awaited. Cancelled, it calls ``stop`` and waits for the end that follows."""
    running = asyncio.wrap_future(_in_thread(make))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if not running.done():
            stop()
            await asyncio.wait([running])
        raise


def _in_thread(make: _Make[_Result]) -> Future[_Result]:
    future: Future[_Result] = Future()

    def work() -> None:
        try:
            future.set_result(uvloop.run(make()))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="headgate", daemon=True).start()
    return future
