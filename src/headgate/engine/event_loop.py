"""Runs a job in an event loop of its own, for callers that may already have one.

The loop runs in a thread, so that a notebook can make a blocking call, and a caller whose own loop
is blocked does not hold up the crawl.
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
    """In this thread if no loop runs here, else in another; returns when it is done."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return uvloop.run(make())
    return _in_thread(make).result()


async def run_beside(make: _Make[_Result], stop: Callable[[], None]) -> _Result:
    """In another thread, awaited. When cancelled, it calls ``stop`` and waits for the end."""
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
