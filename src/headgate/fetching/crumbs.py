"""Turns for servers that send in crumbs, over all of them: few such responses are open at a time.

What such a response may bring comes when the server's own timer says so, and so does that of
others: twenty of them may bring a second of the line at once. So a response that turns out to come
in crumbs is broken off and asked for again in its turn, through the narrowest window there is, and
a server whose latest response was such is asked in its turn from the first. Who waits has nothing
under way, and costs nothing. Each host has its place before one has two. A response that brings
next to nothing, though nobody holds it back, goes on without its place, so that none can keep the
others waiting.
"""

from __future__ import annotations

import asyncio

from headgate.fetching.exchange import Exchange
from headgate.fetching.metering import Meter
from headgate.traffic.credit import CRUMBS_AHEAD
from headgate.traffic.window import NARROWEST, wire_bytes

__all__ = ["CrumbTurns"]

_LUMP_SECONDS = 0.3
"""What all of them may bring at once, in seconds of the line."""
_LEAST_PLACES = 3
"""So that the line is used while one waits for its server's timer."""
_TRIAL_SECONDS = 2.0
_LEAST_PART = 0.1
"""Of the part of the line that is a place's."""
_REMEMBERED_HOSTS = 20_000


class CrumbTurns:
    """Invariant: who waits is in ``_waiting``, and neither in ``_places`` nor in ``_left``."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._hosts: set[str] = set()
        """Whose latest response did."""
        self._places: dict[Exchange, str] = {}
        """With the host of each."""
        self._left: set[Exchange] = set()
        """Under way without a place."""
        self._waiting: list[tuple[str, Exchange, asyncio.Future[None]]] = []

    def from_host(self, host: str) -> bool:
        """Whether its latest response came in crumbs."""
        return host in self._hosts

    def has_turn(self, exchange: Exchange) -> bool:
        return exchange in self._places or exchange in self._left

    async def turn(self, host: str, exchange: Exchange) -> None:
        """Wait for a place, if the host is one that needs it."""
        if host not in self._hosts:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((host, exchange, turn))
        self._call()
        await turn

    def leave(self, host: str, exchange: Exchange) -> None:
        """The exchange is over, or its wait is."""
        tap = exchange.tap
        if tap is not None and (exchange.first_byte or tap.crumbs):
            self._learn(host, crumbs=tap.crumbs)
        self._places.pop(exchange, None)
        self._left.discard(exchange)
        self._call()

    def look(self, now: float) -> None:
        """Now and then: those that bring next to nothing leave their places to others."""
        if not self._waiting:
            return
        least = _LEAST_PART * self._meter.governor.total / self._most()
        for exchange in [*self._places]:
            seconds = (exchange.waiting_since or now) - exchange.sent
            tap = exchange.tap
            tried = exchange.sent and seconds > _TRIAL_SECONDS
            if tried and tap is not None and tap.arrived < least * seconds:
                del self._places[exchange]
                self._left.add(exchange)
        self._call()

    def _call(self) -> None:
        """One of each host first, then whoever waits."""
        for others in (False, True):
            for waiting in [*self._waiting]:
                host, exchange, turn = waiting
                if turn.done():
                    self._waiting.remove(waiting)
                elif len(self._places) >= self._most():
                    return
                elif others or host not in self._places.values():
                    self._waiting.remove(waiting)
                    self._places[exchange] = host
                    turn.set_result(None)

    def _learn(self, host: str, *, crumbs: bool) -> None:
        if not crumbs:
            self._hosts.discard(host)
        elif len(self._hosts) < _REMEMBERED_HOSTS:
            self._hosts.add(host)

    def _most(self) -> float:
        """Places there are: so many that what all of them may bring at once is bounded."""
        lump = wire_bytes(NARROWEST.window) + CRUMBS_AHEAD
        return max(_LEAST_PLACES, _LUMP_SECONDS * self._meter.governor.total // lump)
