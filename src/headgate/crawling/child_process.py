"""Processes of our own beside a crawl: how each is started, talked to and ended.

`Child` starts `headgate.crawling.child_main` with the name of a module, whose function ``main``
gets the other end of the `Pipe` and is the child's work. Whatever the child does, its parent
goes on: it waits no longer than it says, and `Child.stop` leaves no process and no file behind.

Messages are bytes, each after its length, over a pair of sockets: a crawl has thousands of open
files, and one end that is closed is noticed at the other. What they mean is between a module and
who starts it.
"""

from __future__ import annotations

import ctypes
import math
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:  # a child starts in half the time without it
    import asyncio

__all__ = [
    "AsyncPipe",
    "Child",
    "Pipe",
    "answer_of",
    "die_with_parent",
    "leave_signals_to_parent",
    "readable",
]

_LENGTH_BYTES = 8
_LAST_SECONDS = 1.0
"""Between the end of a child's pipe and its own."""


class _File(Protocol):
    def fileno(self) -> int: ...


_AnyFile = TypeVar("_AnyFile", bound=_File)


def readable(files: Iterable[_AnyFile], seconds: float) -> list[_AnyFile]:
    """Those that have data or have ended; waits up to ``seconds`` for the first. `select.select`
    fails for a file number above 1,023, which a crawl of many sites passes."""
    by_number = {file.fileno(): file for file in files}
    poll = select.poll()
    for number in by_number:
        poll.register(number, select.POLLIN)
    milliseconds = None if math.isinf(seconds) else max(seconds, 0.0) * 1_000
    return [by_number[number] for number, _ in poll.poll(milliseconds)]


class Pipe:
    """One end of the pair of sockets, in a program without an event loop."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, message: bytes, seconds: float | None = None) -> None:
        """Raises `TimeoutError`, or another `OSError` if the other end is gone."""
        self._end.settimeout(seconds)
        self._end.sendall(len(message).to_bytes(_LENGTH_BYTES))
        self._end.sendall(message)

    def receive(self, seconds: float = math.inf) -> bytes:
        """The next message as a whole. Raises `TimeoutError`, or `EOFError` if the other end is
        gone."""
        until = time.monotonic() + seconds
        length = self._read(_LENGTH_BYTES, until)
        return self._read(int.from_bytes(length), until)

    def __iter__(self) -> Iterator[bytes]:
        """Messages until the other end is gone."""
        with suppress(EOFError):
            while True:
                yield self.receive()

    def detach(self) -> socket.socket:
        """The socket, for who owns it from now on, such as an event loop."""
        return socket.socket(fileno=self._end.detach())

    def close(self) -> None:
        self._end.close()

    def _read(self, count: int, until: float) -> bytes:
        data = bytearray(count)
        left = memoryview(data)
        while left:
            if not readable([self._end], until - time.monotonic()):
                raise TimeoutError
            try:
                got = self._end.recv_into(left)
            except ConnectionError:  # it ended with something unread
                got = 0
            if not got:
                raise EOFError
            left = left[got:]
        return bytes(data)


class AsyncPipe:
    """One end in an event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, pipe: Pipe) -> AsyncPipe:
        """The pipe's end is ours from now on."""
        import asyncio  # here: a child may do without

        return cls(*await asyncio.open_unix_connection(sock=pipe.detach()))

    def send(self, message: bytes) -> None:
        """Send soon; dropped if the other end is gone."""
        if not self._writer.is_closing():
            self._writer.write(len(message).to_bytes(_LENGTH_BYTES) + message)

    async def sent(self) -> None:
        """Wait until the send buffer is small."""
        await self._writer.drain()

    async def receive(self) -> bytes:
        """The next message; raises `EOFError` if the other end is gone."""
        try:
            length = await self._reader.readexactly(_LENGTH_BYTES)
            return await self._reader.readexactly(int.from_bytes(length))
        except ConnectionError:
            raise EOFError from None

    def close(self) -> None:
        self._writer.close()


class Child(Pipe):
    """A process, and our end of the pipe to it. Raises `OSError` if the machine has no process,
    file or memory left to start it with."""

    def __init__(self, module: str, *arguments: str) -> None:
        """Runs ``module.main(pipe, *arguments)``."""
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        try:
            with theirs, _signals_held():
                self._process = _started(module, theirs.fileno(), arguments)
        except BaseException:
            ours.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def terminate(self) -> None:
        """Ask it to end, if it handles SIGTERM."""
        self._process.terminate()

    def stop(self, seconds: float = 0.0) -> int:
        """Wait so long for it to end by itself, then kill it; returns its exit code."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self._process.kill()
        self.close()
        return self._process.wait()


async def answer_of(module: str, question: bytes, *arguments: str) -> bytes:
    """What a process answers to one question; raises `EOFError` if it ends without an answer. The
    process is killed on cancellation."""
    import asyncio  # here: a child may do without

    child = Child(module, *arguments)
    try:
        pipe = await AsyncPipe.over(child)
        try:
            pipe.send(question)
            return await pipe.receive()
        except EOFError:
            code = await asyncio.to_thread(child.stop, _LAST_SECONDS)
            raise EOFError(f"it ended with code {code}") from None
        finally:
            pipe.close()
    finally:
        await asyncio.to_thread(child.stop)


def _started(module: str, end: int, arguments: Iterable[str]) -> subprocess.Popen[bytes]:
    """It imports from where we do, not from the folder that it happens to be started in."""
    command = [sys.executable, "-P", "-m", "headgate.crawling.child_main"]
    return subprocess.Popen(
        [*command, module, str(os.getpid()), str(end), *arguments],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        pass_fds=(end,),
    )


# A child ends with its parent, which alone decides about it: signals that a terminal or a service
# manager sends to all processes at once are the parent's to handle.


_PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl: the signal to get when the parent dies."""
_LEFT_TO_PARENT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def die_with_parent(parent: int) -> None:
    """End when the parent does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(1)


@contextmanager
def _signals_held() -> Iterator[None]:
    """What is started now holds these signals back from its first instruction on: Ctrl-C while
    Python starts would end it with a traceback. `leave_signals_to_parent` lets go of them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _LEFT_TO_PARENT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_signals_to_parent() -> None:
    """Ignore them, those that were held back included; a module may handle them later."""
    for number in _LEFT_TO_PARENT:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _LEFT_TO_PARENT)
