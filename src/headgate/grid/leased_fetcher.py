"""A fetcher that sends no request for a site whose lease this node has lost.

Timers cannot ensure that: after a sleep of the machine they are all due at once, in any order. So
the lease is checked at the moment of each request. A request that may not be sent waits until its
site is stopped, or a heartbeat renews the lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from headgate.crawling.ports import Fetcher, Rates
from headgate.fetching.http import FetcherSettings
from headgate.model.fetch import Announced, Fetched, FetchFailure, FetchRequest
from headgate.traffic.server_tally import ServerTally

__all__ = ["LeasedFetcher", "leased"]

_AGAIN_SECONDS = 0.2

OpenFetcher = Callable[[FetcherSettings], AbstractAsyncContextManager[Fetcher]]


@dataclass(frozen=True, slots=True)
class LeasedFetcher:
    inner: Fetcher
    may_fetch: Callable[[str], bool]
    """Whether a site may fetch now."""

    @property
    def meter(self) -> Rates:
        return self.inner.meter

    @property
    def servers(self) -> Mapping[str, ServerTally]:
        return self.inner.servers

    async def fetch(self, request: FetchRequest) -> Fetched | FetchFailure:
        while not self.may_fetch(request.site):
            await asyncio.sleep(_AGAIN_SECONDS)
        return await self.inner.fetch(request)

    def under_way(self, site: str) -> int:
        return self.inner.under_way(site)

    def take_cut_off(self, site: str) -> int:
        return self.inner.take_cut_off(site)

    def announced(self, site: str) -> Announced:
        return self.inner.announced(site)

    def carried(self) -> int:
        return self.inner.carried()

    def connections(self, site: str, url: str, expected_bytes: float) -> int:
        return self.inner.connections(site, url, expected_bytes)


def leased(open_fetcher: OpenFetcher, may_fetch: Callable[[str], bool]) -> OpenFetcher:
    @asynccontextmanager
    async def open_leased(settings: FetcherSettings) -> AsyncIterator[Fetcher]:
        async with open_fetcher(settings) as inner:
            yield LeasedFetcher(inner, may_fetch)

    return open_leased
