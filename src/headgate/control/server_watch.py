"""From what servers did to how fast they are: measures out of the fetchers' counters.

Every ten seconds the growth of an address's counters is one measure, learned for the local hour of
that moment. How long something took goes by the run's own clock, which hour it was by the wall: a
wall clock that is put right can name a wrong hour, never a wrong speed.

Where we held responses back and the sites there used up what they were granted, the measure says
"at least" (`Measure.at_least`): our limit must not be learned as the server's. Holding back alone
proves nothing, since a grant that is not used up still comes in small portions. Nor does a grant
that is too small for a page to come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headgate.model.local_time import Calendar
from headgate.traffic.server_speed import Measure, ServerSpeeds
from headgate.traffic.server_tally import ServerTally

__all__ = ["ServerWatch"]

_MEASURE_SECONDS = 10.0
_LEAST_BUSY_SECONDS = 0.2
"""Of less, more is awaited: page by page, a slow crawl would be noise."""
_USED_UP = 0.9
_HELD_BACK = 0.05
"""The share of waiting for our own credit from which on we set the pace."""
_PAGES_GRANTED = 2.0
_TYPICAL_BYTES = 10_000.0
"""So many pages, of this size or of those that came, must have been granted for what came to say
anything: robots.txt alone takes as long as the way to the server and back."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A tally as it stood."""

    requests: int = 0
    bytes: int = 0
    busy_seconds: float = 0.0
    first_byte_seconds: float = 0.0
    response_seconds: float = 0.0
    held_seconds: float = 0.0


@dataclass(slots=True)
class ServerWatch:
    """``hosts`` has the address that each host was last seen at."""

    speeds: ServerSpeeds
    calendar: Calendar
    hosts: dict[str, str] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    """Addresses with measures that were not taken away by `take_changed`."""
    _counted: dict[str, _Counted] = field(default_factory=dict)
    _use: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By host, bytes granted and bytes that came since its address was last measured."""
    _looked: float = 0.0

    def note_use(self, host: str, granted: float, came: float) -> None:
        """A site that begins at a host was granted so many bytes since the last look."""
        before = self._use.get(host, (0.0, 0.0))
        self._use[host] = before[0] + granted, before[1] + came

    def look(self, tallies: Mapping[str, ServerTally], now: float, wall: float) -> None:
        """``now`` is seconds since the start of the run, ``wall`` since 1970."""
        if now - self._looked >= _MEASURE_SECONDS:
            self._measure(tallies, now, wall, least=_LEAST_BUSY_SECONDS)

    def finish(self, tallies: Mapping[str, ServerTally], now: float, wall: float) -> None:
        """The run is over: whatever was counted is a measure now."""
        self._measure(tallies, now, wall, least=0.0)

    def take_changed(self) -> dict[str, frozenset[str]]:
        """Addresses that learned something since the last call, with the hosts seen at them."""
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
        """Bytes granted to the sites there, and bytes that came; None: nobody knows."""
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
