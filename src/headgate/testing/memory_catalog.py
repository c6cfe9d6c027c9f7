"""An in-memory catalog: the fake for the one on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from msgspec.structs import replace

from headgate.bandwidth.server_speed import ServerSpeed
from headgate.control.catalog import KeptPromise, Outcome, Run, Server, SiteState, Visit
from headgate.model.budget import SLOT_SECONDS
from headgate.model.errors import WorldFault

__all__ = ["MemoryCatalog"]


@dataclass(slots=True)
class MemoryCatalog:
    """A `headgate.control.catalog.Catalog`."""

    _runs: dict[str, Run] = field(default_factory=dict)
    _visits: dict[tuple[str, str, int], Visit] = field(default_factory=dict)
    """By site, run and number."""
    _states: dict[str, SiteState] = field(default_factory=dict)
    _promises: dict[tuple[str, float], KeptPromise] = field(default_factory=dict)
    """By site and due."""
    _line: Counter[int] = field(default_factory=Counter)
    _speeds: dict[str, ServerSpeed] = field(default_factory=dict)
    _seen: dict[tuple[str, str], float] = field(default_factory=dict)
    """When a host was last seen at an address."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin_run(self, stamp: str, started: float, settings: str) -> None:
        before = self._runs.get(stamp)
        fresh = Run(stamp, started, None, Outcome.RUNNING, settings)
        self._runs[stamp] = (
            fresh if before is None else replace(before, finished=None, outcome=Outcome.RUNNING)
        )

    def end_run(self, stamp: str, finished: float, outcome: Outcome) -> None:
        if stamp in self._runs:
            self._runs[stamp] = replace(self._runs[stamp], finished=finished, outcome=outcome)

    def runs(self) -> list[Run]:
        return sorted(self._runs.values(), key=lambda run: (run.started, run.stamp), reverse=True)

    def record_visits(self, visits: Iterable[Visit]) -> None:
        taken = {(visit.site, visit.run, visit.visit): visit for visit in visits}
        for _, run, _ in taken:
            if run not in self._runs:
                raise WorldFault(f"{run}: no such run was begun here")
        self._visits |= taken

    def record_kept(self, visit: Visit, state: SiteState, promise: KeptPromise | None) -> None:
        self.record_visits([visit])
        self.put_site_state(state)
        if promise is not None:
            self._promises[promise.site, promise.due] = promise

    def put_site_state(self, state: SiteState) -> None:
        self._states[state.site] = state

    def site_states(self) -> dict[str, SiteState]:
        return dict(sorted(self._states.items()))

    def promises(self, since: float) -> list[KeptPromise]:
        settled = [promise for promise in self._promises.values() if promise.settled >= since]
        return sorted(settled, key=lambda promise: (promise.settled, promise.site))

    def forget_before(self, moment: float) -> None:
        self._promises = {
            key: promise for key, promise in self._promises.items() if promise.settled >= moment
        }
        old = [slot for slot in self._line if (slot + 1) * SLOT_SECONDS <= moment]
        for slot in old:
            del self._line[slot]
        for key in [key for key in self._visits if self._is_old(*key, moment)]:
            del self._visits[key]

    def _is_old(self, site: str, run: str, visit: int, moment: float) -> bool:
        ended = self._runs[run].finished
        last = self._states[site].visit if site in self._states else 0
        return ended is not None and ended < moment and 0 < visit < last

    def history(self, site: str, limit: int = 10) -> list[Visit]:
        visits = [visit for visit in self._visits.values() if visit.site == site]
        visits.sort(key=lambda visit: (visit.started, visit.run, visit.visit), reverse=True)
        return visits[:limit]

    def visits_of(self, run: str) -> list[Visit]:
        found = [visit for visit in self._visits.values() if visit.run == run]
        found.sort(key=lambda visit: (visit.site, visit.visit))
        return [replace(visit, errors={}) for visit in found]

    def add_line_use(self, bytes_by_slot: Mapping[int, int]) -> None:
        self._line.update(bytes_by_slot)

    def line_use(self, first: int) -> dict[int, int]:
        return {slot: self._line[slot] for slot in sorted(self._line) if slot >= first}

    def record_servers(self, servers: Iterable[Server]) -> None:
        for server in servers:
            self._speeds[server.address] = _copied(server.speed)
            for host in server.hosts:
                self._seen[host, server.address] = server.speed.latest

    def server(self, address: str) -> ServerSpeed | None:
        speed = self._speeds.get(address)
        return None if speed is None else _copied(speed)

    def address(self, host: str) -> str | None:
        found = [(-seen, address) for (name, address), seen in self._seen.items() if name == host]
        return min(found)[1] if found else None

    def servers(self) -> list[Server]:
        return [
            Server(address, self._hosts(address), _copied(speed))
            for address, speed in sorted(
                self._speeds.items(), key=lambda item: (-item[1].latest, item[0])
            )
        ]

    def _hosts(self, address: str) -> tuple[str, ...]:
        return tuple(sorted(host for host, found in self._seen if found == address))


def _copied(speed: ServerSpeed) -> ServerSpeed:
    """A copy, so that a record does not change with the original."""
    return ServerSpeed.decode(speed.encode(), speed.measures, speed.latest)
