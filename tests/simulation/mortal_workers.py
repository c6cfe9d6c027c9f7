"""Worker processes in virtual time, which can be killed at any moment.

They stand in the place of spawned ones under the very `ProcessFleet`, and live the very life of a
crawling process, over streams that carry the very messages. Each is a task in the one event loop,
with a context by which it is known who acts: once a worker is killed, nothing that it still does
reaches disk, web or stream. What it had written stays: the machine lives on.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from typing import cast

from headgate.crawling.child_process import AsyncPipe
from headgate.crawling.node import Node
from headgate.crawling.ports import MeasuredFleet
from headgate.engine.crawling_process import live
from headgate.engine.node import NodeJob, NodeParts, open_node
from headgate.engine.process_messages import Order, Stream, Word
from headgate.engine.processes import ProcessFleet, open_processes

__all__ = ["MortalWorker", "MortalWorkers", "acting"]

_acting: ContextVar[MortalWorker | None] = ContextVar("_acting", default=None)


def acting() -> MortalWorker | None:
    """The worker whose code this is; None: its parent's."""
    return _acting.get()


class _Pipe:
    """Takes the place of a writer: what is written can be read at the other end."""

    def __init__(self, end: asyncio.StreamReader) -> None:
        self._end = end
        self._closed = False

    def write(self, data: bytes) -> None:
        if not self._closed:
            self._end.feed_data(data)

    def is_closing(self) -> bool:
        return self._closed

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._end.feed_eof()


class MortalWorker:
    """The adapter of `headgate.engine.process_messages.Process`."""

    pid: int | None = None

    def __init__(self, job: NodeJob, parts: NodeParts, starting_seconds: float) -> None:
        self.alive = True
        self.dies_at = -1
        """The operation on the disk in the middle of which it dies."""
        self.operations = 0
        self.asked: set[str] = set()
        """Sites that it ever fetched for."""
        self.died: Callable[[MortalWorker], None] = lambda _: None
        self._job = job
        self._parts = parts
        self._node: Node | None = None
        to_us, to_it = asyncio.StreamReader(), asyncio.StreamReader()
        self._voice = _Pipe(to_us)
        self.stream: Stream[Word] = Stream(AsyncPipe(to_us, _writer(_Pipe(to_it))), Word)
        theirs: Stream[Order] = Stream(AsyncPipe(to_it, _writer(self._voice)), Order)
        context = copy_context()
        context.run(_acting.set, self)
        life = self._live(theirs, starting_seconds)
        self._task = asyncio.get_running_loop().create_task(life, context=context)

    @property
    def sites(self) -> frozenset[str]:
        """That it runs; nothing while it starts."""
        if self._node is None or not self.alive:
            return frozenset()
        return frozenset(progress.site for progress in self._node.progress())

    def operate(self) -> None:
        """It is about to change the disk."""
        self.operations += 1
        if self.operations == self.dies_at:
            self.kill()
        self.refuse_if_dead()

    def refuse_if_dead(self) -> None:
        if not self.alive:
            raise OSError(errno.EIO, "the worker is dead")

    def kill(self) -> None:
        """As ``kill -9`` does, in the middle of a message."""
        if self.alive and not self._task.done():
            self.died(self)
            self.alive = False
            self._voice.write(b"\x40\x00\x00\x00torn")
            self._voice.close()
            self._task.cancel()

    async def end(self, seconds: float) -> None:
        await asyncio.wait({self._task}, timeout=seconds)
        self.kill()
        await asyncio.wait({self._task})
        if self.alive and not self._task.cancelled():
            self._task.result()

    async def _live(self, stream: Stream[Order], starting_seconds: float) -> None:
        await asyncio.sleep(starting_seconds)
        # All the time goes into computing, as far as others can tell: sites are worth moving.
        await live(self._open_node, stream, asyncio.get_running_loop().time)

    @asynccontextmanager
    async def _open_node(self) -> AsyncIterator[Node]:
        async with open_node(self._job, self._parts) as node:
            self._node = node
            yield node


def _writer(pipe: _Pipe) -> asyncio.StreamWriter:
    return cast(asyncio.StreamWriter, pipe)


class MortalWorkers:
    """Those of one leg."""

    def __init__(
        self,
        count: int,
        parts: NodeParts,
        starting_seconds: Callable[[], float],
        died: Callable[[MortalWorker], None],
    ) -> None:
        self.begun: list[MortalWorker] = []
        self._fleet: ProcessFleet | None = None
        self._count = count
        self._parts = parts
        self._starting_seconds = starting_seconds
        self._died = died

    @property
    def at_work(self) -> list[MortalWorker]:
        return [worker for worker in self.begun if worker.sites]

    def move(self, number: int) -> None:
        """Have a site handed over to another worker, as if that had nothing to do."""
        fleet = self._fleet
        sites = [] if fleet is None else [
            site for site, running in sorted(fleet._running.items())
            if not fleet._stays(running) and running.target is None
        ]  # fmt: skip
        if fleet is not None and sites:
            site = sites[number % len(sites)]
            others = [place for place in fleet._workers if site not in place.sites]
            fleet._move(site, others[number % len(others)])

    @asynccontextmanager
    async def open_fleet(
        self,
        job: NodeJob,
        left: Callable[[str], float],
        processes: int,  # noqa: ARG002 - by the seed
    ) -> AsyncIterator[MeasuredFleet]:
        async def begin() -> tuple[MortalWorker, Stream[Word]]:
            worker = MortalWorker(job, self._parts, self._starting_seconds())
            worker.died = self._died
            self.begun.append(worker)
            return worker, worker.stream

        begun: Callable[[], Awaitable[tuple[MortalWorker, Stream[Word]]]] = begin
        async with open_processes(
            begun, left, self._count, self._parts.clock, may_move=job.may_move
        ) as fleet:
            self._fleet = fleet
            yield fleet
