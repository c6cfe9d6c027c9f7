"""A connection for each request: a kept one that suits the site's current rate, or a new one."""

from __future__ import annotations

import asyncio
from collections import deque

from headgate.fetching.connection import Connection
from headgate.fetching.exchange import Exchange
from headgate.fetching.limits import Limits
from headgate.fetching.open_files import cannot_connect
from headgate.fetching.opener import Opener
from headgate.fetching.origin import Origin
from headgate.model.fetch import FetchRequest

__all__ = ["Pool", "Supply"]


class _Host:
    """Invariant: ``idle`` connections are among the ``open`` slots."""

    __slots__ = ("idle", "open", "waiting")

    def __init__(self) -> None:
        self.open = 0
        self.idle: list[Connection] = []
        self.waiting: deque[tuple[Origin, asyncio.Future[Connection | None]]] = deque()


class Pool:
    """Keeps connections between requests, with a limit per host.

    A slot is taken before a connection is opened and freed when it is closed. Without an idle
    connection or a free slot, requests wait in order: a returned connection goes to the first that
    can use it, a free slot to the first in line. The connection used last is taken first, since its
    congestion window is widest and the others may time out.

    Filled and emptied by `client`; `sweep` is called on its clock.

    Slots are counted by host: two origins of one host share them.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._hosts: dict[str, _Host] = {}
        self._idle = 0

    def acquire_idle(self, origin: Origin) -> Connection | None:
        """An idle connection to the origin, if there is one."""
        host = self._hosts.get(origin.host)
        if host is None:
            return None
        for at in range(len(host.idle) - 1, -1, -1):
            if host.idle[at].origin is origin or host.idle[at].origin == origin:
                self._idle -= 1
                return host.idle.pop(at)
        return None

    async def claim(self, origin: Origin) -> Connection | None:
        """A connection, or None: a slot is held now, and a connection may be opened.

        A slot is released by `drop`, a connection by `give` or `drop`.
        """
        connection = self.acquire_idle(origin)
        if connection is not None:
            return connection
        host = self._hosts.setdefault(origin.host, _Host())
        if host.open >= self._limits.connections_per_host and host.idle:
            self._idle -= 1
            host.idle.pop(0).close()
            return None
        if host.open < self._limits.connections_per_host:
            host.open += 1
            return None
        turn: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        host.waiting.append((origin, turn))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on(origin, turn.result())
            raise

    def release(self, connection: Connection, now: float) -> None:
        """Return a connection that can be used again."""
        host = self._hosts[connection.origin.host]
        for at, (origin, turn) in enumerate(host.waiting):
            if origin == connection.origin and not turn.done():
                del host.waiting[at]
                turn.set_result(connection)
                return
        if host.waiting or self._idle >= self._limits.idle_connections:
            self.drop(connection.origin, connection)
            return
        connection.idle_since = now
        host.idle.append(connection)
        self._idle += 1

    def drop(self, origin: Origin, connection: Connection | None) -> None:
        """The connection has ended or could not be opened; its slot goes to the next in line."""
        if connection is not None:
            connection.close()
        host = self._hosts[origin.host]
        while host.waiting:
            _, turn = host.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        host.open -= 1
        if not host.open:
            del self._hosts[origin.host]

    def forget(self, connection: Connection) -> None:
        """An idle connection was closed by the server."""
        host = self._hosts.get(connection.origin.host)
        if host is not None and connection in host.idle:
            host.idle.remove(connection)
            self._idle -= 1
            self.drop(connection.origin, connection)

    def sweep(self, now: float) -> None:
        """Close connections that were idle for too long."""
        for host in list(self._hosts.values()):
            for connection in list(host.idle):
                if now - connection.idle_since > self._limits.idle_seconds:
                    self.forget(connection)

    def close(self) -> None:
        """Close all idle connections."""
        for host in list(self._hosts.values()):
            for connection in list(host.idle):
                self.forget(connection)

    def _pass_on(self, origin: Origin, got: Connection | None) -> None:
        """Pass on what a cancelled waiter got."""
        if got is None:
            self.drop(origin, None)
        else:
            self.release(got, got.idle_since)

    def check(self) -> None:
        assert self._idle == sum(len(host.idle) for host in self._hosts.values())
        for host in self._hosts.values():
            assert 0 < host.open <= self._limits.connections_per_host
            assert len(host.idle) <= host.open
            assert all(connection.closed is False for connection in host.idle)


class Supply:
    """A connection for each request: a kept one that suits the site's current rate, or a new one.

    Each must be returned by `release` or `drop`, whatever happens: its host's slot is held until
    then.

    The connections of one fetcher.
    """

    def __init__(self, opener: Opener, pool: Pool) -> None:
        self._opener = opener
        self._pool = pool

    def kept(self, origin: Origin, request: FetchRequest) -> Connection | None:
        """A kept connection whose window suits the request; unsuitable ones are closed."""
        while (connection := self._pool.acquire_idle(origin)) is not None:
            if self._opener.fits(connection, request):
                return connection
            self._pool.drop(origin, connection)
        return None

    async def open(self, origin: Origin, request: FetchRequest) -> Connection:
        """A new connection when the host has a free slot, or one returned meanwhile. Raises
        `WorldFault` if this machine can open none."""
        connection = await self._pool.claim(origin)
        if connection is not None and self._opener.fits(connection, request):
            return connection
        if connection is not None:
            connection.close()
        try:
            return await self._opened(origin, request)
        except BaseException:
            self._pool.drop(origin, None)
            raise

    async def _opened(self, origin: Origin, request: FetchRequest) -> Connection:
        """If this machine cannot open one, idle ones make room, once."""
        try:
            return await self._opener.open(origin, request)
        except OSError:
            self._pool.close()
        try:
            return await self._opener.open(origin, request)
        except OSError as error:
            raise cannot_connect(str(origin), error) from error

    def release(self, connection: Connection, exchange: Exchange) -> None:
        """After a successful exchange: keep the connection if the server allows it."""
        if connection.served == 1:
            self._opener.learn(connection)
        if exchange.reply.reusable and not connection.closed:
            self._pool.release(connection, exchange.finished)
        else:
            self.drop(connection)

    def drop(self, connection: Connection) -> None:
        self._pool.drop(connection.origin, connection)
