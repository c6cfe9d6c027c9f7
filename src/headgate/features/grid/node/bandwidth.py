"""What a node and its manager send each other, within the owner's bandwidth.

Results go out at the owner's rate, also when the quota is used up: that is for what is fetched.
Coming in, the rate is shared with pages: a small part is always left to the manager's answers and
to acknowledgements of what is delivered, and half of it while the memory of a site arrives, which
may be many megabytes.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from headgate.crawling.ports import Clock
from headgate.features.grid.node.crawl import WorkerLeg, line_rate
from headgate.features.grid.protocol import KNOWN_BYTES

__all__ = ["CoordinatorBandwidth"]

_TALK_SHARE, _MEMORY_SHARE = 0.03, 0.5
_LEAST_PIECE_BYTES, _PIECE_SECONDS = 4096, 0.35
"""One piece is asked for after another: round trips up to so long cost nothing."""
_SETTLING_SECONDS = 1.0
"""In which pages that were paid for before have arrived."""
_LOOK_SECONDS = 1.0


@dataclass(slots=True)
class _Queue:
    """One direction of the line: whoever comes waits for those before."""

    rate: Callable[[], float | None]
    """Bytes per second; None: unlimited."""
    clock: Clock
    _owed: float = 0.0
    """Bytes of those before that the line has not carried yet."""
    _seen: float = 0.0
    """When ``_owed`` was reckoned."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def wait(self, bytes_: int) -> None:
        async with self._turn:
            while (seconds := self._left()) > 0:
                await asyncio.sleep(min(seconds, _LOOK_SECONDS))  # the rate may change
            self._owed += bytes_

    def _left(self) -> float:
        """Seconds until those before are through, at the present rate."""
        now, rate = self.clock.now(), self.rate()
        rate = math.inf if rate is None else rate
        passed, self._seen = now - self._seen, now
        if rate == 0:
            return math.inf
        carried = math.inf if math.isinf(rate) else rate * passed
        self._owed = max(self._owed - carried, 0.0)
        return self._owed / rate if self._owed >= 1.0 else 0.0


@dataclass(slots=True)
class CoordinatorBandwidth:
    leg: WorkerLeg
    clock: Clock
    send: Callable[[int], Awaitable[None]] = field(init=False)
    """Wait until this many bytes may be sent."""
    take: Callable[[int], Awaitable[None]] = field(init=False)
    """Wait until this many bytes may come."""
    _memory_comes: bool = False

    def __post_init__(self) -> None:
        self.send = _Queue(self._rate_out, self.clock).wait
        self.take = _Queue(self._rate_in, self.clock).wait
        self._share()

    @asynccontextmanager
    async def memory(self) -> AsyncIterator[None]:
        """While this is open, pages leave room for the memory of a site."""
        self._memory_comes = True
        self._share()
        try:
            if self.leg.own_rate() is not None:
                await asyncio.sleep(_SETTLING_SECONDS)
            yield
        finally:
            self._memory_comes = False
            self._share()

    def piece_bytes(self) -> int:
        """How much of a memory to ask for at once."""
        rate = self._rate_in()
        if rate is None:
            return KNOWN_BYTES
        return min(max(int(rate * _PIECE_SECONDS), _LEAST_PIECE_BYTES), KNOWN_BYTES)

    def _rate_out(self) -> float | None:
        return line_rate(self.leg.budget, self.clock.wall())

    def _rate_in(self) -> float | None:
        rate = self.leg.own_rate()
        return None if rate is None else rate * (1.0 - self.leg.pages_share)

    def _share(self) -> None:
        self.leg.set_pages_share(1.0 - (_MEMORY_SHARE if self._memory_comes else _TALK_SHARE))
