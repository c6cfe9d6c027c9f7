"""Measures the round trip to the servers of running sites."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import urlsplit

from headgate.fetching.dns import CachedResolver, NetworkResolver
from headgate.fetching.faults import FetchFault
from headgate.fetching.line_probe import Heard, LineProbe, Target

__all__ = ["SiteProbe"]

_PORTS = {"http": 80, "https": 443}


class SiteProbe:
    """A `headgate.grid.yielding_fleet.Prober` over the network. ``_targets`` has the sites whose
    addresses are known."""

    def __init__(self, heard: Heard) -> None:
        self._resolver = CachedResolver(NetworkResolver())
        self._probe = LineProbe(heard)
        self._targets: dict[str, Target] = {}
        self._finding: dict[str, asyncio.Task[None]] = {}

    def add(self, site: str, url: str) -> None:
        if site not in self._targets and site not in self._finding:
            task = self._finding[site] = asyncio.ensure_future(self._find(site, url))
            task.add_done_callback(lambda _: self._finding.pop(site, None))

    def drop(self, site: str) -> None:
        self._targets.pop(site, None)
        self._probe.aim(list(self._targets.values()))

    async def run(self) -> None:
        try:
            await self._probe.run()
        finally:
            finding = list(self._finding.values())
            for task in finding:
                task.cancel()
            await asyncio.gather(*finding, return_exceptions=True)
            await self._resolver.close()

    async def _find(self, site: str, url: str) -> None:
        """A site whose name does not resolve, or cannot be asked for now, is not probed."""
        parts = urlsplit(url)
        with contextlib.suppress(FetchFault, OSError):
            address = (await self._resolver.resolve(parts.hostname or "")).addresses[0]
            self._targets[site] = Target(address, parts.port or _PORTS[parts.scheme])
            self._probe.aim(list(self._targets.values()))
