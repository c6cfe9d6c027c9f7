"""A connection for each request: a kept one that suits the site's rate of today, or a new one.

Whoever got one gives it back by `release` or `drop`, whatever happens: its host's slot is held
until then.
"""

from __future__ import annotations

from headgate.fetching.connection import Connection
from headgate.fetching.exchange import Exchange
from headgate.fetching.opener import Opener
from headgate.fetching.origin import Origin
from headgate.fetching.pool import Pool
from headgate.model.fetch import FetchRequest

__all__ = ["Supply"]


class Supply:
    """Of one fetcher."""

    def __init__(self, opener: Opener, pool: Pool) -> None:
        self._opener = opener
        self._pool = pool

    def kept(self, origin: Origin, request: FetchRequest) -> Connection | None:
        """One that is wide enough for the request; others are closed on the way."""
        while (connection := self._pool.take(origin)) is not None:
            if self._opener.fits(connection, request):
                return connection
            self._pool.drop(origin, connection)
        return None

    async def open(self, origin: Origin, request: FetchRequest) -> Connection:
        """A new one when the host has a slot for it, or one given back meanwhile."""
        connection = await self._pool.claim(origin)
        if connection is not None and self._opener.fits(connection, request):
            return connection
        if connection is not None:
            connection.close()
        try:
            return await self._opener.open(origin, request)
        except BaseException:
            self._pool.drop(origin, None)
            raise

    def release(self, connection: Connection, exchange: Exchange) -> None:
        """After an exchange that went well: kept, where the server has nothing against it."""
        if connection.served == 1:
            self._opener.learn(connection)
        if exchange.reply.reusable and not connection.closed:
            self._pool.give(connection, exchange.finished)
        else:
            self.drop(connection)

    def drop(self, connection: Connection) -> None:
        self._pool.drop(connection.origin, connection)
