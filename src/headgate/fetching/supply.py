"""A connection for each request: a kept one that suits the site's current rate, or a new one.

Each must be returned by `release` or `drop`, whatever happens: its host's slot is held until then.
"""

from __future__ import annotations

from headgate.fetching.connection import Connection
from headgate.fetching.exchange import Exchange
from headgate.fetching.open_files import cannot_connect
from headgate.fetching.opener import Opener
from headgate.fetching.origin import Origin
from headgate.fetching.pool import Pool
from headgate.model.fetch import FetchRequest

__all__ = ["Supply"]


class Supply:
    """The connections of one fetcher."""

    def __init__(self, opener: Opener, pool: Pool) -> None:
        self._opener = opener
        self._pool = pool

    def kept(self, origin: Origin, request: FetchRequest) -> Connection | None:
        """A kept connection whose window suits the request; unsuitable ones are closed."""
        while (connection := self._pool.take(origin)) is not None:
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
            self._pool.give(connection, exchange.finished)
        else:
            self.drop(connection)

    def drop(self, connection: Connection) -> None:
        self._pool.drop(connection.origin, connection)
