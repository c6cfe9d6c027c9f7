"""Running a command of the user's, to tell it something: bounded in time, and in what it may say.

No shell is asked: the command is taken apart as one would, and a user who wants one writes it. The
command has a process group of its own, which ends with it, so that nothing it started stays."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["CommandEnd", "run_command"]

_MOST_WORDS = 500
"""Bytes of what it says on stderr that are kept."""
_PIECE = 65_536
_CANNOT_BE_RUN = 126, 127


@dataclass(frozen=True, slots=True)
class CommandEnd:
    code: int | None
    """None: it could not be started, or was not done in time."""
    problem: str = ""
    startable: bool = True

    @property
    def well(self) -> bool:
        return self.code == 0


async def run_command(
    command: str, document: bytes, environment: Mapping[str, str], seconds: float
) -> CommandEnd:
    """``document`` is its standard input; the environment is added to ours."""
    try:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command),
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=PIPE,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return CommandEnd(None, getattr(error, "strerror", "") or str(error), startable=False)
    try:
        async with asyncio.timeout(seconds):
            words, _ = await asyncio.gather(_heard(process), _told(process, document))
            code = await process.wait()
    except TimeoutError:
        return CommandEnd(None, f"not done in {seconds:g} seconds")
    finally:
        await _end(process)
    said = words.decode("utf-8", "replace").strip().replace("\n", " ")
    return CommandEnd(code, said or f"it ended with code {code}", code not in _CANNOT_BE_RUN)


async def _told(process: Process, document: bytes) -> None:
    """One that does not listen is no failure."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.write(document)
        await process.stdin.drain()
    with suppress(OSError):
        process.stdin.close()


async def _heard(process: Process) -> bytes:
    """The last lines of output; all is read, so that the command never blocks."""
    assert process.stderr is not None
    last = b""
    while piece := await process.stderr.read(_PIECE):
        last = (last + piece)[-_MOST_WORDS:]
    return last


async def _end(process: Process) -> None:
    """It and whatever it left running."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
