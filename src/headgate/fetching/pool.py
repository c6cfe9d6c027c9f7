"""Keeps connections between requests, with a limit per host.

A slot is taken before a connection is opened and freed when it is closed. Without an idle
connection or a free slot, requests wait in order: a returned connection goes to the first that can
use it, a free slot to the first in line. The connection used last is taken first, since its
congestion window is widest and the others may time out.

Filled and emptied by `http`; `sweep` is called on its clock.
"""

from __future__ import annotations

import asyncio
from collections import deque

from headgate.fetching.connection import Connection
from headgate.fetching.limits import Limits
from headgate.fetching.origin import Origin

__all__ = ["Pool"]


class _Host:
    """Invariant: ``idle`` connections are among the ``open`` slots."""

    __slots__ = ("idle", "open", "waiting")

    def __init__(self) -> None:
        self.open = 0
        self.idle: list[Connection] = []
        self.waiting: deque[tuple[Origin, asyncio.Future[Connection | None]]] = deque()


class Pool:
    """Slots are counted by host: two origins of one host share them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._hosts: dict[str, _Host] = {}
        self._idle = 0

    def take(self, origin: Origin) -> Connection | None:
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
        connection = self.take(origin)
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

    def give(self, connection: Connection, now: float) -> None:
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
            self.give(got, got.idle_since)

    def check(self) -> None:
        assert self._idle == sum(len(host.idle) for host in self._hosts.values())
        for host in self._hosts.values():
            assert 0 < host.open <= self._limits.connections_per_host
            assert len(host.idle) <= host.open
            assert all(connection.closed is False for connection in host.idle)
