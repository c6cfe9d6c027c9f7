"""What a run learns: server speeds, which go into the catalog, and each visit's alpha.

Server speeds are written every minute and at the end, all changes in one transaction: a crash costs
at most a minute of learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from headgate.control.alpha_watch import AlphaWatch
from headgate.control.catalog import Catalog, Server
from headgate.control.server_watch import ServerWatch
from headgate.crawling.progress import Progress
from headgate.model.local_time import Calendar
from headgate.model.site import Site
from headgate.traffic.server_speed import ServerSpeeds
from headgate.traffic.server_tally import ServerTally

__all__ = ["Learning"]

_SAVE_EVERY_SECONDS = 60.0


class Learning(msgspec.Struct):
    """The learning of one run. ``now`` is seconds since its start, ``wall`` since 1970."""

    catalog: Catalog
    servers: ServerWatch
    alphas: AlphaWatch
    _saved: float = 0.0

    @classmethod
    def of(cls, catalog: Catalog, calendar: Calendar, sites: Sequence[Site]) -> Learning:
        servers = ServerWatch(ServerSpeeds(find=catalog.server), calendar)
        return cls(catalog, servers, AlphaWatch.of(sites, servers))

    def look(
        self,
        tallies: Mapping[str, ServerTally],
        reports: Sequence[Progress],
        granted: Mapping[str, float],
        now: float,
        wall: float,
    ) -> None:
        self.alphas.look(reports, granted, now, wall)
        self.servers.look(tallies, now, wall)
        if now - self._saved >= _SAVE_EVERY_SECONDS:
            self._saved = now
            self._save()

    def finish(self, tallies: Mapping[str, ServerTally], now: float, wall: float) -> None:
        """The run is over."""
        self.servers.finish(tallies, now, wall)
        self._save()

    def _save(self) -> None:
        changed = self.servers.take_changed()
        if changed:
            self.catalog.record_servers(
                Server(address, tuple(sorted(hosts)), self.servers.speeds.speed(address))
                for address, hosts in changed.items()
            )
