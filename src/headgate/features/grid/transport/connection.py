"""A connection to NATS that reconnects by itself, and reports faults in one line.

If retrying cannot help (a token that is wrong, expired or revoked; another server than the
token's), it raises `Refused`. All else is a fault of the network: a request without an answer
raises `SourceAway`, and the caller retries later.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import math
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from nats import errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from headgate.features.grid.protocol import Refused, SourceAway
from headgate.features.grid.transport.credentials import Key, Token, inbox_of
from headgate.model.errors import UserMistake

__all__ = ["AtTheDoor", "connected"]

_TOKEN_SECONDS = 0.25
_OLDEST = (2, 11)
_AGAIN_SECONDS = 2
_CONNECT_SECONDS = 10
_PING_SECONDS = 20
_PENDING_BYTES = 8 << 20
_REFUSED = re.compile(r"authorization violation|authentication (expired|revoked)", re.IGNORECASE)
_asyncio_log = logging.getLogger("asyncio")
_VIOLATION = "permissions violation for "


class AtTheDoor:
    """One client of the server; use `connected`."""

    def __init__(self, token: Token, tell: Callable[[str], None]) -> None:
        self._token = token
        self._tell = tell
        self.client = Client()
        """For tests of what a node may not do."""
        self._refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.forbidden: set[str] = set()
        """Subjects, in lower case, for which the server denied us publishing or subscribing."""
        self._away = False
        self._closing = False

    async def open(self, patience_seconds: float) -> None:
        opening = asyncio.create_task(self._connect())
        try:
            async with asyncio.timeout(None if math.isinf(patience_seconds) else patience_seconds):
                either: set[asyncio.Future[Any]] = {opening, self._refused}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            raise SourceAway(f"no NATS server answers at {self._servers}") from None
        finally:
            if not opening.done():
                opening.cancel()
                with suppress(asyncio.CancelledError):
                    await opening
        self._check()
        await opening
        version = self.client.connected_server_version
        if (version.major, version.minor) < _OLDEST:
            raise UserMistake(
                f"the NATS server at {self._servers} is version {version.major}.{version.minor};"
                f" Headgate needs {_OLDEST[0]}.{_OLDEST[1]} or newer"
            )

    @property
    def reached(self) -> bool:
        """Whether we are connected now."""
        return bool(self.client.is_connected)

    async def request(self, subject: str, body: bytes, seconds: float) -> bytes:
        """The answer. Requests are not queued while the server is away."""
        self._check()
        if not self.client.is_connected:
            raise SourceAway(f"the manager's server {self._servers} is away")
        try:
            answer = await _answer(self.client, subject, body, seconds)
        except errors.NoRespondersError:
            raise SourceAway("no manager listens at the server") from None
        except (errors.Error, TimeoutError, OSError) as fault:
            self._check()
            if subject.lower() in self.forbidden:
                raise Refused(f"the server does not let this token publish {subject}") from None
            raise SourceAway(f"no answer from the manager ({fault})") from None
        return bytes(answer.data)

    async def listen(self, subject: str, hear: Callable[[Msg], Awaitable[None]]) -> None:
        await self.client.subscribe(subject, cb=hear, pending_bytes_limit=16 * _PENDING_BYTES)
        await self.client.flush()

    async def wait_refused(self) -> str:
        """Wait until we are refused; returns why."""
        return await asyncio.shield(self._refused)

    async def close(self) -> None:
        self._closing = True
        with suppress(errors.Error, OSError, TimeoutError):
            await self.client.close()
        self._refused.cancel()

    async def _connect(self) -> None:
        token, key = self._token, Key.of_seed(self._token.seed)
        await self.client.connect(
            servers=list(token.servers),
            name=token.node,
            error_cb=self._on_error,
            disconnected_cb=self._on_away,
            reconnected_cb=self._on_back,
            closed_cb=self._on_closed,
            connect_timeout=_CONNECT_SECONDS,
            reconnect_time_wait=_AGAIN_SECONDS,
            max_reconnect_attempts=-1,
            ping_interval=_PING_SECONDS,
            pending_size=_PENDING_BYTES,
            inbox_prefix=inbox_of(token.node),
            tls=ssl.create_default_context(cadata=token.ca) if token.ca else None,
            user_jwt_cb=lambda: bytearray(token.jwt.encode()),
            signature_cb=lambda nonce: base64.b64encode(key.sign(nonce.encode())),
        )

    @property
    def _servers(self) -> str:
        return ", ".join(self._token.servers)

    def _check(self) -> None:
        if self._refused.done() and not self._refused.cancelled():
            raise Refused(self._refused.result())

    def _refuse(self, why: str) -> None:
        if not self._refused.done():
            self._refused.set_result(why)

    async def _on_error(self, fault: Exception) -> None:
        if isinstance(fault, ssl.SSLCertVerificationError):
            self._refuse(
                f"the server at {self._servers} is not the one this token was made for"
                f" ({fault.verify_message}); ask for another token"
            )
        elif isinstance(fault, errors.AuthorizationError) or _REFUSED.search(str(fault)):
            self._refuse(
                f"the server at {self._servers} refuses this token (wrong, expired or revoked);"
                " ask the manager's operator for another (headgate manager invite)"
            )
        elif _VIOLATION in (said := str(fault).lower()):
            self.forbidden.update(said.partition(_VIOLATION)[2].split('"')[1:2])
        elif not self.client.is_connected:
            await self._on_away(str(fault))

    async def _on_away(self, why: str = "") -> None:
        if not (self._away or self._closing or self._refused.done()):
            self._away = True
            because = f" ({why})" if why else ""
            self._tell(f"the server at {self._servers} is away{because}; trying on")

    async def _on_back(self) -> None:
        if self._away:
            self._away = False
            self._tell(f"the server at {self._servers} is back")

    async def _on_closed(self) -> None:
        """Closed for good: after all other errors the library reconnects."""
        fault = self.client.last_error
        if fault is not None:
            await self._on_error(fault)


@asynccontextmanager
async def connected(
    token: Token, tell: Callable[[str], None], patience_seconds: float = math.inf
) -> AsyncIterator[AtTheDoor]:
    """``patience_seconds``: how long to wait for a server that is not there yet."""
    door = AtTheDoor(token, tell)
    _asyncio_log.addFilter(_is_of_interest)
    try:
        await door.open(patience_seconds)
        yield door
    finally:
        await door.close()
        _asyncio_log.removeFilter(_is_of_interest)


async def _answer(client: Client, subject: str, body: bytes, seconds: float) -> Msg:
    try:
        return await client.request(subject, body, timeout=seconds)
    except errors.NoRespondersError:
        # While a server loads a new token, there are no subscribers for a moment.
        await asyncio.sleep(_TOKEN_SECONDS)
        return await client.request(subject, body, timeout=seconds)


def _is_of_interest(record: logging.LogRecord) -> bool:
    """The client library closes TLS in a way that asyncio logs and that is harmless."""
    return "eof_received" not in record.getMessage()
