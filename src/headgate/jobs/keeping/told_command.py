"""Runs a command of the user with a document on stdin; its time and the output kept are bounded.

There is no shell: the command is split by shell rules, and a user who wants a shell writes one. The
command has a process group of its own, which is killed at its end, so that nothing it started
stays."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import IO

__all__ = ["CommandEnd", "run_command"]

_MOST_WORDS = 500
"""Bytes of its stderr that are kept."""
_PIECE = 65_536
_LAST_WORDS_SECONDS = 1.0
"""Wait for output written before its end."""
_CANNOT_BE_RUN = 126, 127
_NO_PROGRAM = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENOEXEC))
"""What says that the command is wrong; anything else is what this machine lacks just now."""


@dataclass(frozen=True, slots=True)
class CommandEnd:
    code: int | None
    """None: there is no such program, or it timed out."""
    problem: str = ""
    startable: bool = True

    @property
    def well(self) -> bool:
        return self.code == 0


async def run_command(
    command: str, document: bytes, environment: Mapping[str, str], seconds: float
) -> CommandEnd:
    """``document`` is its standard input; the environment is added to ours. Raises `OSError` if
    this machine can start nothing now."""
    async with _listening() as (words, its_end):
        try:
            process = await asyncio.create_subprocess_exec(
                *shlex.split(command),
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=its_end,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        except OSError as error:
            if error.errno not in _NO_PROGRAM:
                raise
            return CommandEnd(None, error.strerror or str(error), startable=False)
        except ValueError as error:
            return CommandEnd(None, str(error), startable=False)
        finally:
            its_end.close()
        said = bytearray()
        hearing = asyncio.create_task(_hear(words, said))
        telling = asyncio.create_task(_tell(process, document))
        try:
            async with asyncio.timeout(seconds):
                code = await process.wait()
        except TimeoutError:
            return CommandEnd(None, f"not done in {seconds:g} seconds")
        finally:
            await _end(process)
            await asyncio.wait([hearing], timeout=_LAST_WORDS_SECONDS)
            for work in (hearing, telling):
                work.cancel()
            await asyncio.gather(hearing, telling, return_exceptions=True)
    line = said.decode("utf-8", "replace").strip().replace("\n", " ")
    return CommandEnd(code, line or f"it ended with code {code}", code not in _CANNOT_BE_RUN)


@asynccontextmanager
async def _listening() -> AsyncIterator[tuple[asyncio.StreamReader, IO[bytes]]]:
    """A pipe for what a command says, and the command's end of it. Ours is closed even if a process
    that left the command's group still holds the other."""
    read, write = os.pipe()
    reader = asyncio.StreamReader()
    with os.fdopen(read, "rb", 0) as ours, os.fdopen(write, "wb", 0) as its_end:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), ours
        )
        try:
            yield reader, its_end
        finally:
            transport.close()


async def _tell(process: Process, document: bytes) -> None:
    """Write to its stdin; a command that does not read it has not failed."""
    assert process.stdin is not None
    try:
        with suppress(OSError):
            process.stdin.write(document)
            await process.stdin.drain()
    finally:
        with suppress(OSError):
            process.stdin.close()


async def _hear(words: asyncio.StreamReader, said: bytearray) -> None:
    """The last of its words; all are read, so that the command never blocks."""
    while piece := await words.read(_PIECE):
        said += piece
        del said[:-_MOST_WORDS]


async def _end(process: Process) -> None:
    """Kill the command and whatever it left running."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
