"""Makes measures of server speeds from the fetchers' counters.

Every ten seconds the growth of an address's counters becomes one measure for the local hour of that
moment. Durations are by the run's own clock, the hour by the wall clock: setting the wall clock can
give a wrong hour, never a wrong speed.

If we held responses back and the sites there used up their grants, the measure is a lower bound
(`Measure.at_least`): our limit must not be taken for the server's. Holding back alone proves
nothing, since a grant that is not used up still arrives in small portions; nor does a grant too
small for a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from headgate.model.local_time import Calendar
from headgate.traffic.server_speed import Measure, ServerSpeeds
from headgate.traffic.server_tally import ServerTally

__all__ = ["ServerWatch"]

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
    """``hosts`` has the last address of each host."""

    speeds: ServerSpeeds
    calendar: Calendar
    hosts: dict[str, str] = msgspec.field(default_factory=dict)
    changed: set[str] = msgspec.field(default_factory=set)
    """Addresses measured since the last `take_changed`."""
    _counted: dict[str, _Counted] = msgspec.field(default_factory=dict)
    _use: dict[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    """By host, bytes granted and bytes received since its address was last measured."""
    _looked: float = 0.0

    def note_use(self, host: str, granted: float, came: float) -> None:
        """Bytes granted to a site that starts at a host, and received, since the last look."""
        before = self._use.get(host, (0.0, 0.0))
        self._use[host] = before[0] + granted, before[1] + came

    def look(self, tallies: Mapping[str, ServerTally], now: float, wall: float) -> None:
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
                tally.requests, tally.bytes, tally.busy_seconds,
                tally.first_byte_seconds, tally.response_seconds, tally.held_seconds,
            )  # fmt: skip
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
