"""Caches robots.txt of sites that are visited often, for a day, as RFC 9309 allows.

Bounded: the least recently used origin is dropped first. An unreachable robots.txt is not cached.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from headgate.reading.robots import RobotsRules

__all__ = ["CachedRobots", "RobotsCache"]

_GOOD_SECONDS = 86_400.0
_MOST_ORIGINS = 5_000


class CachedRobots(msgspec.Struct, frozen=True):
    rules: RobotsRules
    public: bool
    """The origin is at a public address."""
    fetched: float
    """Seconds since 1970."""


class RobotsCache(msgspec.Struct):
    """The cache of one node."""

    most_origins: int = _MOST_ORIGINS
    _kept: OrderedDict[str, CachedRobots] = msgspec.field(default_factory=OrderedDict)

    def find(self, origin: str, wall: float) -> CachedRobots | None:
        """None: there is no valid entry. One from the future was stored by a wrong clock."""
        kept = self._kept.get(origin)
        if kept is None or not 0 <= wall - kept.fetched < _GOOD_SECONDS:
            return None
        self._kept.move_to_end(origin)
        return kept

    def keep(self, origin: str, rules: RobotsRules, *, public: bool, wall: float) -> None:
        if rules.unreachable:
            self._kept.pop(origin, None)
            return
        self._kept[origin] = CachedRobots(rules, public, wall)
        self._kept.move_to_end(origin)
        while len(self._kept) > self.most_origins:
            self._kept.popitem(last=False)
