"""What a run learns: the speed of each server, and how much longer a visit takes than its bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from headgate.bandwidth.server_speed import Measure, ServerSpeeds
from headgate.bandwidth.server_tally import ServerTally
from headgate.control.catalog import Catalog, Server
from headgate.crawling.progress import Progress, TaskState
from headgate.frontier.scope import host_of
from headgate.model.site import Site
from headgate.model.timetable import Calendar, LocalMoment
from headgate.scheduling.alpha import Offered

__all__ = ["AlphaWatch", "Learner", "ServerWatch"]

_SAVE_EVERY_SECONDS = 60.0


class Learner(msgspec.Struct):
    """What a run learns: server speeds, which go into the catalog, and each visit's alpha.

    Server speeds are written every minute and at the end, all changes in one transaction: a crash
    costs at most a minute of learning.

    Of one run: ``now`` is seconds since its start, ``wall`` since 1970.
    """

    catalog: Catalog
    servers: ServerWatch
    alphas: AlphaWatch
    _saved: float = 0.0

    @classmethod
    def start(cls, catalog: Catalog, calendar: Calendar, sites: Sequence[Site]) -> Learner:
        servers = ServerWatch(ServerSpeeds(find=catalog.server), calendar)
        return cls(catalog, servers, AlphaWatch.from_sites(sites, servers))

    def observe(
        self,
        tallies: Mapping[str, ServerTally],
        reports: Sequence[Progress],
        granted: Mapping[str, float],
        now: float,
        wall: float,
    ) -> None:
        self.alphas.observe(reports, granted, now, wall)
        self.servers.observe(tallies, now, wall)
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


_MEASURE_SECONDS = 10.0
_LEAST_BUSY_SECONDS = 0.2
"""A measure needs at least this much: page by page, those of a slow crawl would be noise."""
_USED_UP = 0.9
_HELD_BACK = 0.05
"""If responses waited for our credit for more than this share of the time, we were the
bottleneck."""
_PAGES_GRANTED = 2.0
_TYPICAL_BYTES = 10_000.0
"""A server is measured once this many pages, of this size or of those that came, were granted:
robots.txt alone takes no longer than a round trip."""


class _Counted(msgspec.Struct, frozen=True):
    """Counters of an address at one moment."""

    requests: int = 0
    bytes: int = 0
    busy_seconds: float = 0.0
    first_byte_seconds: float = 0.0
    response_seconds: float = 0.0
    held_seconds: float = 0.0


class ServerWatch(msgspec.Struct):
    """Makes measures of server speeds from the fetchers' counters.

    Every ten seconds the growth of an address's counters becomes one measure for the local hour of
    that moment. Durations are by the run's own clock, the hour by the wall clock: setting the wall
    clock can give a wrong hour, never a wrong speed.

    If we held responses back and the sites there used up their grants, the measure is a lower bound
    (`Measure.at_least`): our limit must not be taken for the server's. Holding back alone proves
    nothing, since a grant that is not used up still arrives in small portions; nor does a grant too
    small for a page.

    ``hosts`` has the last address of each host.
    """

    speeds: ServerSpeeds
    calendar: Calendar
    hosts: dict[str, str] = msgspec.field(default_factory=dict)
    changed: set[str] = msgspec.field(default_factory=set)
    """Addresses measured since the last `take_changed`."""
    _counted: dict[str, _Counted] = msgspec.field(default_factory=dict)
    _use: dict[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    """By host, bytes granted and bytes received since its address was last measured."""
    _looked: float = 0.0

    def record_use(self, host: str, granted: float, came: float) -> None:
        """Bytes granted to a site that starts at a host, and received, since the last look."""
        before = self._use.get(host, (0.0, 0.0))
        self._use[host] = before[0] + granted, before[1] + came

    def observe(self, tallies: Mapping[str, ServerTally], now: float, wall: float) -> None:
        """``now`` is seconds since the start of the run, ``wall`` since 1970."""
        if now - self._looked >= _MEASURE_SECONDS:
            self._measure(tallies, now, wall, least=_LEAST_BUSY_SECONDS)

    def finish(self, tallies: Mapping[str, ServerTally], now: float, wall: float) -> None:
        """At the end of the run: measure whatever was counted."""
        self._measure(tallies, now, wall, least=0.0)

    def take_changed(self) -> dict[str, frozenset[str]]:
        """Addresses measured since the last call, with their hosts."""
        if not self.changed:
            return {}
        found: dict[str, set[str]] = {address: set() for address in self.changed}
        self.changed.clear()
        for host, address in self.hosts.items():
            if address in found:
                found[address].add(host)
        return {address: frozenset(hosts) for address, hosts in found.items()}

    def _measure(
        self, tallies: Mapping[str, ServerTally], now: float, wall: float, least: float
    ) -> None:
        moment = self.calendar.moment(wall - (now - self._looked) / 2)
        self._looked = now
        for address, tally in tallies.items():
            before = self._counted.get(address, _Counted())
            if tally.requests == before.requests:
                continue
            if tally.busy_seconds - before.busy_seconds < least:
                continue
            self._counted[address] = _Counted(
                tally.requests,
                tally.bytes,
                busy_seconds=tally.busy_seconds,
                first_byte_seconds=tally.first_byte_seconds,
                response_seconds=tally.response_seconds,
                held_seconds=tally.held_seconds,
            )
            grown = _grown(before, self._counted[address], self._use_of(tally.hosts))
            self.speeds.learn(address, grown, moment)
            self.changed.add(address)
            self.hosts.update(dict.fromkeys(tally.hosts, address))

    def _use_of(self, hosts: Iterable[str]) -> tuple[float, float] | None:
        """Bytes granted to the sites at these hosts, and received; None: unknown."""
        uses = [self._use.pop(host) for host in hosts if host in self._use]
        if not uses:
            return None
        return sum(granted for granted, _ in uses), sum(came for _, came in uses)


def _grown(before: _Counted, after: _Counted, use: tuple[float, float] | None) -> Measure:
    bytes_, requests = after.bytes - before.bytes, after.requests - before.requests
    held = after.held_seconds - before.held_seconds
    at_least = held > _HELD_BACK * (after.response_seconds - before.response_seconds)
    if use is not None:
        granted, came = use
        page = max(bytes_ / requests, _TYPICAL_BYTES)
        at_least = (at_least and came >= _USED_UP * granted) or granted < _PAGES_GRANTED * page
    return Measure(
        bytes_,
        after.busy_seconds - before.busy_seconds,
        requests,
        after.first_byte_seconds - before.first_byte_seconds,
        at_least=at_least,
    )


class AlphaWatch(msgspec.Struct):
    """How much longer each site takes than its bytes would: alpha of Zhu 2020, Eq. 17, in this run.

    A visit's alpha is what the server could have delivered over the bytes that came, summed up
    while the server or the site's own delay is the bottleneck. While our own rate is, nothing is
    learned. `scheduling.alpha` fits it over visits.

    ``_came`` has the bytes of each site at the last look, ``_granted`` the rates since then.
    """

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
    def from_sites(cls, sites: Sequence[Site], servers: ServerWatch) -> AlphaWatch:
        return cls(servers, {site.name: host_of(site.seeds[0]) for site in sites if site.seeds})

    def observe(
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
            self.servers.record_use(self.hosts[report.site], grant, came)
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
