"""Starts, talks to and ends processes of this machine, for a fleet."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Protocol

from headgate.grid.messages import Stream, Word

__all__ = ["Begin", "Process", "Work", "spawning"]

Work = Callable[[socket.socket], None]
"""The main function of a process, given its end of the stream; must be picklable."""


class Process(Protocol):
    @property
    def pid(self) -> int | None: ...

    async def end(self, seconds: float) -> None:
        """Wait so long for it to end by itself, then kill it. When this returns, it no longer
        writes to its journals."""
        ...


Begin = Callable[[], Awaitable[tuple[Process, Stream[Word]]]]
"""Starts a process; returns it and our end of the stream."""


def spawning(work: Work) -> Begin:
    """Spawned processes, which share nothing with this one."""
    return partial(_spawn, work)


async def _spawn(work: Work) -> tuple[Process, Stream[Word]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = socket.socketpair()
    process = context.Process(target=work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Spawned(process), await Stream.over(ours, Word)


class _Spawned:
    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int | None:
        return self._process.pid

    async def end(self, seconds: float) -> None:
        """What is stored stays stored, however it ends."""
        await asyncio.to_thread(self._end, seconds)

    def _end(self, seconds: float) -> None:
        self._process.join(seconds)
        self._process.kill()
        self._process.join()
