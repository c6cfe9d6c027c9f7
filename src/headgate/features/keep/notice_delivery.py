"""Delivers a notice: to a command of the user, or by POST to a URL."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import signal
import ssl
from asyncio.subprocess import DEVNULL, PIPE, Process
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import IO
from urllib.parse import SplitResult, unquote, urlsplit

from headgate.fetching.tls import trusting_context

__all__ = ["CommandEnd", "PostAnswer", "post_json", "run_command"]

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
    """Runs a command of the user with a document on stdin; its time and the output kept are
    bounded.

    There is no shell: the command is split by shell rules, and a user who wants a shell writes one.
    The command has a process group of its own, which is killed at its end, so that nothing it
    started stays.
    """

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


_MOST_HEAD = 16_384


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """Posts JSON to a URL that the user named.

    One request on its own connection, with limits on time and on what is read of the response.
    Redirects are not followed, so that only the host that the user named is contacted; it may be
    private.
    """

    status: int
    """0: there was no response."""
    problem: str = ""
    """Why, in a few words."""


async def post_json(url: str, document: bytes, seconds: float, agent: str) -> PostAnswer:
    """The server's answer, within ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            return await _post(url, document, agent)
    except TimeoutError:
        return PostAnswer(0, f"no answer in {seconds:g} seconds")
    except ssl.SSLCertVerificationError as error:
        return PostAnswer(0, f"its certificate: {error.verify_message}")
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        return PostAnswer(0, str(error) or type(error).__name__)


async def _post(url: str, document: bytes, agent: str) -> PostAnswer:
    parts = urlsplit(url)
    host = parts.hostname or ""
    secure = parts.scheme.lower() == "https"
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(
        host, port, limit=_MOST_HEAD, ssl=_context() if secure else None
    )
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n"
            f"User-Agent: {agent}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(document)}\r\n{_authorization(parts)}Connection: close\r\n\r\n"
        )
        writer.write(head.encode("ascii") + document)
        await writer.drain()
        return _read(await reader.readuntil(b"\n"))
    finally:
        writer.close()
        with suppress(OSError):
            await asyncio.wait_for(writer.wait_closed(), 1.0)


def _authorization(parts: SplitResult) -> str:
    """Of ``https://name:password@host/``."""
    if parts.username is None:
        return ""
    name, password = unquote(parts.username), unquote(parts.password or "")
    return f"Authorization: Basic {b64encode(f'{name}:{password}'.encode()).decode()}\r\n"


def _read(line: bytes) -> PostAnswer:
    words = line.split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        return PostAnswer(0, "what answers there is no HTTP server")
    return PostAnswer(int(words[1][:3]))


@cache
def _context() -> ssl.SSLContext:
    """Reading the store of certificates takes a while."""
    return trusting_context()
