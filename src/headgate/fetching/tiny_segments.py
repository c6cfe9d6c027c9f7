"""Limits how many responses in crumbs (tiny segments) are open at a time, over all servers.

The timers of such servers decide when data comes, and twenty of them may send a second's worth of
the line at once. So a response that turns out to come in crumbs is aborted and requested again in
its turn, with the narrowest window; a server whose last response was such waits for its turn at
once. Waiting costs nothing. Each host gets one place before any gets two. A response that brings
next to nothing, though nothing holds it back, loses its place and goes on without, so that it
cannot block the others.
"""

from __future__ import annotations

import asyncio

from headgate.bandwidth.credit import CRUMBS_AHEAD
from headgate.bandwidth.receive_window import NARROWEST, wire_bytes
from headgate.fetching.exchange import Exchange
from headgate.fetching.meter import Meter

__all__ = ["TinySegmentLimiter"]

_LUMP_SECONDS = 0.3
"""What all of them together may send at once, in seconds of the line."""
_LEAST_PLACES = 3
"""So that the line is used while one response waits for its server's timer."""
_TRIAL_SECONDS = 2.0
_LEAST_PART = 0.1
"""Least use of a place, as a fraction of its part of the line."""
_REMEMBERED_HOSTS = 20_000


class TinySegmentLimiter:
    """Invariant: an exchange is in at most one of ``_waiting``, ``_places`` and ``_left``."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._hosts: set[str] = set()
        """Hosts whose last response came in crumbs."""
        self._places: dict[Exchange, str] = {}
        """Exchanges with a place, and their hosts."""
        self._left: set[Exchange] = set()
        """Running without a place."""
        self._waiting: list[tuple[str, Exchange, asyncio.Future[None]]] = []

    def from_host(self, host: str) -> bool:
        """Whether its last response came in crumbs."""
        return host in self._hosts

    def has_turn(self, exchange: Exchange) -> bool:
        return exchange in self._places or exchange in self._left

    async def turn(self, host: str, exchange: Exchange) -> None:
        """Wait for a place, if the host needs one."""
        if host not in self._hosts:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((host, exchange, turn))
        self._call()
        await turn

    def leave(self, host: str, exchange: Exchange) -> None:
        """The exchange, or its wait, has ended."""
        response_meter = exchange.response_meter
        if response_meter is not None and (exchange.first_byte or response_meter.crumbs):
            self._learn(host, crumbs=response_meter.crumbs)
        self._places.pop(exchange, None)
        self._left.discard(exchange)
        self._call()

    def observe(self, now: float) -> None:
        """Called regularly: takes the places of responses that bring next to nothing."""
        if not self._waiting:
            return
        least = _LEAST_PART * self._meter.limiter.total / self._most()
        for exchange in [*self._places]:
            seconds = (exchange.waiting_since or now) - exchange.sent
            response_meter = exchange.response_meter
            tried = exchange.sent and seconds > _TRIAL_SECONDS
            if tried and response_meter is not None and response_meter.arrived < least * seconds:
                del self._places[exchange]
                self._left.add(exchange)
        self._call()

    def _call(self) -> None:
        """Fill free places: first one per host, then in order."""
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
        """Number of places, so that what they may send at once is bounded."""
        lump = wire_bytes(NARROWEST.window) + CRUMBS_AHEAD
        return max(_LEAST_PLACES, _LUMP_SECONDS * self._meter.limiter.total // lump)
