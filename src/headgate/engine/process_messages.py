"""Between a crawl and its worker processes: messages, and starting and ending a process."""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast
from zlib import crc32

import msgspec

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.child_process import AsyncPipe, Child, Pipe
from headgate.crawling.ports import SetRates, SetTotal, StopSite
from headgate.crawling.progress import Progress
from headgate.model.task import Task

if TYPE_CHECKING:
    from headgate.engine.node import NodeJob

__all__ = [
    "Begin",
    "Close",
    "Fault",
    "Hello",
    "News",
    "Order",
    "Process",
    "Start",
    "Stream",
    "UseCores",
    "Word",
    "encoded",
    "spawning",
    "version",
]


# Messages between a crawl and its worker processes, and their stream.
#
# Workers get orders: tasks to start, rates, their part of total and cores, stops and the end. They
# first send the version of their messages, since a crawl may run for weeks and start a process
# after Headgate was updated. Then they send news: what changed since the last, each ended site
# once, and at regular intervals in any case, so that a process that hangs is noticed.
#
# A message is MessagePack, over the pipe of a child process.


_Received = TypeVar("_Received")


class Start(msgspec.Struct, frozen=True, tag=True, array_like=True):
    task: Task
    at: float
    """When it was first given to a process, by the clock that all processes of the machine
    share."""


class UseCores(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Number of cores to use until the next such message; one at first."""

    count: int


class Close(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Stop all tasks, report them and end."""


Order = Start | SetRates | SetTotal | UseCores | StopSite | Close


class Hello(msgspec.Struct, frozen=True, tag=True, array_like=True):
    version: int


class News(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """From one process; without what did not change."""

    progress: list[Progress] = []
    """Of running sites; may already be `encoded` for sending."""
    ended: list[Progress] = []
    servers: dict[str, ServerTally] = {}
    """Totals by address."""
    carried: int = 0
    cpu_seconds: float = 0.0
    """Used so far."""


class Fault(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The process ends with it."""

    text: str


Word = Hello | News | Fault


@cache
def version() -> int:
    """A hash of the types of all messages: changes with any of them."""
    schema = msgspec.json.schema(Order | Word, schema_hook=lambda kind: {"type": str(kind)})
    return crc32(msgspec.json.encode(schema))


_encode = msgspec.msgpack.Encoder().encode


def encoded(progress: Progress) -> Progress:
    """For comparing with what was sent before, and sending without encoding again."""
    return cast(Progress, msgspec.Raw(_encode(progress)))


class Stream(Generic[_Received]):
    """One end of the stream, in an event loop."""

    def __init__(self, pipe: AsyncPipe, received: Any) -> None:
        """``received`` is the union of what may come, as msgspec understands it."""
        self._pipe = pipe
        self._decode = msgspec.msgpack.Decoder(received, dec_hook=_from_plain).decode

    @classmethod
    async def over(cls, pipe: Pipe, received: Any) -> Stream[_Received]:
        return cls(await AsyncPipe.over(pipe), received)

    def send(self, message: msgspec.Struct) -> None:
        """Send soon; dropped if the other end is gone."""
        self._pipe.send(_encode(message))

    async def sent(self) -> None:
        """Wait until the send buffer is small."""
        await self._pipe.sent()

    async def receive(self) -> _Received | None:
        """The next message; None: the other end is gone."""
        try:
            data = await self._pipe.receive()
        except EOFError:
            return None
        message: _Received = self._decode(data)
        return message

    def close(self) -> None:
        self._pipe.close()


def _from_plain(kind: Any, value: Any) -> Any:
    """The one type that msgspec does not know."""
    if getattr(kind, "__origin__", None) is Counter:
        return Counter(value)
    raise NotImplementedError(kind)


class Process(Protocol):
    """Starts, talks to and ends processes of this machine, for a fleet."""

    @property
    def pid(self) -> int | None: ...

    async def end(self, seconds: float) -> None:
        """Wait so long for it to end by itself, then kill it. When this returns, it no longer
        writes to its journals."""
        ...


Begin = Callable[[], Awaitable[tuple[Process, Stream[Word]]]]
"""Starts a process; returns it and our end of the stream."""


def spawning(job: NodeJob) -> Begin:
    """Crawling processes for this job, which share nothing with this one."""
    return partial(_spawn, pickle.dumps(job))


async def _spawn(job: bytes) -> tuple[Process, Stream[Word]]:
    child = Child("headgate.engine.crawling_process")
    try:
        pipe = await AsyncPipe.over(child)
    except BaseException:
        child.stop()
        raise
    pipe.send(job)
    return _Spawned(child), Stream(pipe, Word)


class _Spawned:
    def __init__(self, child: Child) -> None:
        self._child = child

    @property
    def pid(self) -> int | None:
        return self._child.pid

    async def end(self, seconds: float) -> None:
        """What is stored stays stored, however it ends."""
        await asyncio.to_thread(self._child.stop, seconds)
