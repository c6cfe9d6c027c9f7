"""Between a crawl and its worker processes: messages, and starting and ending a process."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import cache, partial
from multiprocessing.process import BaseProcess
from typing import Any, Generic, Protocol, TypeVar, cast
from zlib import crc32

import msgspec

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.progress import Progress
from headgate.model.task import Task

__all__ = [
    "Begin",
    "Close",
    "Fault",
    "Hello",
    "News",
    "Order",
    "Process",
    "SetRates",
    "SetTotal",
    "Start",
    "Stop",
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
# A message is a length of four bytes and MessagePack. It is sent by asyncio streams over a socket
# pair, so that nothing blocks and no half message is read.


_LENGTH_BYTES = 4
_Received = TypeVar("_Received")


class Start(msgspec.Struct, frozen=True, tag=True, array_like=True):
    task: Task
    at: float
    """When it was first given to a process, by the clock that all processes of the machine
    share."""


class SetRates(msgspec.Struct, frozen=True, tag=True, array_like=True):
    rates: dict[str, float]


class SetTotal(msgspec.Struct, frozen=True, tag=True, array_like=True):
    rate: float


class UseCores(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Number of cores to use until the next such message; one at first."""

    count: int


class Stop(msgspec.Struct, frozen=True, tag=True, array_like=True):
    site: str
    reason: str


class Close(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Stop all tasks, report them and end."""


Order = Start | SetRates | SetTotal | UseCores | Stop | Close


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

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, received: Any
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._decode = msgspec.msgpack.Decoder(received, dec_hook=_from_plain).decode

    @classmethod
    async def over(cls, end: socket.socket, received: Any) -> Stream[_Received]:
        """``received`` is the union of what may come, as msgspec understands it."""
        reader, writer = await asyncio.open_unix_connection(sock=end)
        return cls(reader, writer, received)

    def send(self, message: msgspec.Struct) -> None:
        """Send soon; dropped if the other end is gone."""
        if not self._writer.is_closing():
            data = _encode(message)
            self._writer.write(len(data).to_bytes(_LENGTH_BYTES, "little") + data)

    async def sent(self) -> None:
        """Wait until the send buffer is small."""
        await self._writer.drain()

    async def receive(self) -> _Received | None:
        """The next message; None: the other end is gone."""
        try:
            length = await self._reader.readexactly(_LENGTH_BYTES)
            data = await self._reader.readexactly(int.from_bytes(length, "little"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        message: _Received = self._decode(data)
        return message

    def close(self) -> None:
        self._writer.close()


def _from_plain(kind: Any, value: Any) -> Any:
    """The one type that msgspec does not know."""
    if getattr(kind, "__origin__", None) is Counter:
        return Counter(value)
    raise NotImplementedError(kind)


Work = Callable[[socket.socket], None]
"""The main function of a process, given its end of the stream; must be picklable."""


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
