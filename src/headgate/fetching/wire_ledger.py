"""Where every byte is that came over the line: under way, told with its response, or cut off.

A byte is in one of the three at any moment: whoever adds them up counts none twice and misses none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain

from headgate.fetching.connection import Connection
from headgate.model.fetch import NOTHING_ANNOUNCED, Announced

__all__ = ["WireLedger"]


class WireLedger:
    """By site: thousands of them may be asked about one by one."""

    def __init__(self) -> None:
        self._under_way: defaultdict[str, set[Connection]] = defaultdict(set)
        self._cut_off: Counter[str] = Counter()
        self._carried = 0

    def __iter__(self) -> Iterator[Connection]:
        """Connections that have a request under way."""
        return chain.from_iterable(self._under_way.values())

    def begin(self, site: str, connection: Connection) -> None:
        self._under_way[site].add(connection)

    def end(self, site: str, connection: Connection, wire_bytes: int) -> None:
        """However it ended, and whether or not it was begun."""
        connections = self._under_way.get(site, set())
        connections.discard(connection)
        if not connections:
            self._under_way.pop(site, None)
        self._carried += wire_bytes

    def cut_off(self, site: str, wire_bytes: int) -> None:
        """Nobody is told of the response that they came for."""
        self._cut_off[site] += wire_bytes

    def take_cut_off(self, site: str) -> int:
        """Each byte is told once."""
        return self._cut_off.pop(site, 0)

    def under_way(self, site: str) -> int:
        """Wire bytes that came for responses not yet whole."""
        connections = self._under_way.get(site)
        return sum(each.under_way(site) for each in connections) if connections else 0

    def announced(self, site: str) -> Announced:
        """What responses under way have still to bring, where they say it."""
        connections = self._under_way.get(site)
        if not connections:
            return NOTHING_ANNOUNCED
        known = [connection.announced(site) for connection in connections]
        sizes = [size for size in known if size is not None]
        return Announced(sum(sizes), len(sizes))

    def carried(self) -> int:
        """Wire bytes that came for all responses since the beginning."""
        return self._carried + sum(connection.arrived for connection in self)
