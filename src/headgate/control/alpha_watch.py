"""How much longer each site takes than its bytes would: alpha of Zhu 2020, Eq. 17, in this run.

A visit's alpha is what the server could have delivered over the bytes that came, summed up while
the server or the site's own delay is the bottleneck. While our own rate is, nothing is learned.
`planning.alpha` fits it over visits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from headgate.control.server_watch import ServerWatch
from headgate.crawling.progress import Progress, TaskState
from headgate.frontier.scope import host_of
from headgate.model.local_time import LocalMoment
from headgate.model.site import Site
from headgate.planning.alpha import Offered

__all__ = ["AlphaWatch"]

_USED_UP = 0.9


class AlphaWatch(msgspec.Struct):
    """``_came`` has the bytes of each site at the last look, ``_granted`` the rates since then."""

    servers: ServerWatch
    hosts: Mapping[str, str]
    """The host of each site's first seed."""
    _offered: dict[str, Offered] = msgspec.field(default_factory=dict)
    _came: dict[str, int] = msgspec.field(default_factory=dict)
    _granted: Mapping[str, float] = msgspec.field(default_factory=dict)
    _unrated: dict[str, tuple[float, float, LocalMoment]] = msgspec.field(default_factory=dict)
    """Seconds and bytes from before the server's speed was known, and when that was."""
    _looked: float = 0.0

    @classmethod
    def of(cls, sites: Sequence[Site], servers: ServerWatch) -> AlphaWatch:
        return cls(servers, {site.name: host_of(site.seeds[0]) for site in sites if site.seeds})

    def look(
        self, reports: Sequence[Progress], granted: Mapping[str, float], now: float, wall: float
    ) -> None:
        """``granted``: rates from now on; ``now`` is seconds since the start of the run, ``wall``
        since 1970."""
        seconds, self._looked = now - self._looked, now
        before, self._granted = self._granted, granted
        running = [report for report in reports if report.state is TaskState.CRAWLING]
        served = [
            (report, came)
            for report in running
            if ((came := self._fresh(report)) or granted.get(report.site))
            and report.site in granted
            and report.site in self.hosts
        ]
        if not served:  # all are parked, for hours where a quota is used up
            return
        moment = self.servers.calendar.moment(wall)
        addresses = {report.site: self._address(report.site) for report in running}
        sharing = Counter(address for address in addresses.values() if address)
        for report, came in served:
            # Rates may have changed in between; it had at least this much all the time.
            least = min(granted[report.site], before.get(report.site, 0.0))
            grant = least * seconds if seconds > 0 else 0.0
            self.servers.note_use(self.hosts[report.site], grant, came)
            rate = self._rate(report.site, moment, sharing[addresses[report.site] or ""])
            idle = came < _USED_UP * grant
            if rate is None and idle:
                waiting = self._unrated.get(report.site, (0.0, 0.0, moment))
                self._unrated[report.site] = waiting[0] + seconds, waiting[1] + came, moment
            elif rate is not None and (idle or rate <= granted[report.site]):
                offered = self._offered.setdefault(report.site, Offered())
                offered.add(seconds, rate, came)

    def _fresh(self, report: Progress) -> int:
        """Bytes of a site since the last look."""
        arrived = report.arrived_bytes
        known = self._came.get(report.site)
        if arrived == known:
            return 0
        self._came[report.site] = arrived
        return 0 if known is None else max(arrived - known, 0)  # less than known: begun anew

    def alpha(self, site: str) -> float | None:
        """The alpha of this visit; None: not enough is known."""
        offered = self._offered.setdefault(site, Offered())
        if site in self._unrated:
            seconds, came, moment = self._unrated[site]
            rate = self._rate(site, moment)
            if rate is not None:
                del self._unrated[site]
                offered.add(seconds, rate, came)
        return offered.alpha

    def _rate(self, site: str, moment: LocalMoment, sharing: int = 1) -> float | None:
        """The speed of a site's server; None: not known yet."""
        address = self._address(site)
        speed = None if address is None else self.servers.speeds.speed(address)
        if speed is None or not speed.bounded:
            return None
        return (speed.rate(moment) or 0.0) / max(sharing, 1)

    def _address(self, site: str) -> str | None:
        host = self.hosts.get(site)
        return None if host is None else self.servers.hosts.get(host)
