"""Accounts for every byte received: in flight, reported with its response, or cut off.

At any time each byte is in exactly one of the three, so their sum is right.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain

from headgate.fetching.connection import Connection
from headgate.model.fetch import NOTHING_ANNOUNCED, Announced

__all__ = ["WireLedger"]


class WireLedger:
    """Indexed by site: thousands may be queried one by one."""

    def __init__(self) -> None:
        self._under_way: defaultdict[str, set[Connection]] = defaultdict(set)
        self._cut_off: Counter[str] = Counter()
        self._carried = 0

    def __iter__(self) -> Iterator[Connection]:
        """Connections with a request in flight."""
        return chain.from_iterable(self._under_way.values())

    def begin(self, site: str, connection: Connection) -> None:
        self._under_way[site].add(connection)

    def end(self, site: str, connection: Connection, wire_bytes: int) -> None:
        """The exchange ended, in whatever way, perhaps before it began."""
        connections = self._under_way.get(site, set())
        connections.discard(connection)
        if not connections:
            self._under_way.pop(site, None)
        self._carried += wire_bytes

    def cut_off(self, site: str, wire_bytes: int) -> None:
        """Bytes of a response that is not reported."""
        self._cut_off[site] += wire_bytes

    def take_cut_off(self, site: str) -> int:
        """Bytes cut off since the last call."""
        return self._cut_off.pop(site, 0)

    def under_way(self, site: str) -> int:
        """Wire bytes received for incomplete responses."""
        connections = self._under_way.get(site)
        return sum(each.under_way(site) for each in connections) if connections else 0

    def announced(self, site: str) -> Announced:
        """Bytes still to come of current responses, as far as known."""
        connections = self._under_way.get(site)
        if not connections:
            return NOTHING_ANNOUNCED
        known = [connection.announced(site) for connection in connections]
        sizes = [size for size in known if size is not None]
        return Announced(sum(sizes), len(sizes))

    def carried(self) -> int:
        """Wire bytes received for all responses since the start."""
        return self._carried + sum(connection.arrived for connection in self)
