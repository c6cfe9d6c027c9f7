"""A fleet that makes way: its total follows what others leave of the line.

    servers ──echoes──► LineProbe ──► Yielding ──rate, 20 times a second──► the fleet's total
                                         └───────rate, smoothed──────────► the manager's plan

It stands between control and the fleet and passes on everything but the total: what control sets
becomes the ceiling. The plan follows at once where the line has more again, and over some seconds
where it has less; in the meantime the total holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol
from urllib.parse import urlsplit

from headgate.crawling.ports import Fleet
from headgate.crawling.progress import Progress
from headgate.fetching.dns import CachedResolver, NetworkResolver
from headgate.fetching.faults import FetchFault
from headgate.fetching.line_probe import LineProbe, Target
from headgate.traffic.server_tally import ServerTally
from headgate.traffic.yielding import Yielding

__all__ = ["MakingWay", "MeasuredFleet"]

STEP_SECONDS = 0.05
_OWN_RATE_SECONDS = 0.5
_PLAN_FOLLOWS_SECONDS = 4.0
_WORTH_PLANNING = 1.1
_HELD_BACK = 0.9
_PORTS = {"http": 80, "https": 443}

Tell = Callable[[float, bool], None]
"""(what the line has for us, whether it has less still at this moment)."""


class MeasuredFleet(Fleet, Protocol):
    """One that knows at any moment what the line brought it."""

    def carried(self) -> int:
        """Bytes since the beginning."""
        ...


class MakingWay:
    """A `headgate.crawling.ports.Fleet`; `at_work` runs its loop."""

    def __init__(
        self, fleet: MeasuredFleet, seeds: Mapping[str, str], *, floor: float | None = None
    ) -> None:
        """``seeds`` has a URL of every site."""
        self.given_bytes = self.given_seconds = 0.0
        """What was left to others so far."""
        self._fleet = fleet
        self._yielding = Yielding(math.inf, floor)
        self._seeds = seeds
        self._resolver = CachedResolver(NetworkResolver())
        self._probe = LineProbe(self._yielding.delay.add)
        self._targets: dict[str, Target] = {}
        """Of the sites that run, as far as their addresses are known."""
        self._carried: deque[tuple[float, float]] = deque(((time.monotonic(), 0.0),))
        self._planned = 0.0
        self._told: tuple[float, bool] | None = None
        self._finding: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def at_work(self, tell: Tell) -> AsyncIterator[None]:
        """Inside, the total follows the line."""
        tasks = [asyncio.ensure_future(self._probe.run()), asyncio.ensure_future(self._run(tell))]
        try:
            yield
        finally:
            for task in (*tasks, *self._finding):
                task.cancel()
            await asyncio.gather(*tasks, *self._finding, return_exceptions=True)
            await self._resolver.close()

    @property
    def making_way(self) -> bool:
        return self._yielding.making_way

    def set_rates(self, rates: Mapping[str, float]) -> None:
        for site in rates.keys() - self._targets.keys():
            task = asyncio.ensure_future(self._find(site))
            self._finding.add(task)
            task.add_done_callback(self._finding.discard)
        self._fleet.set_rates(rates)

    def set_total(self, rate: float) -> None:
        self._yielding.ceiling = rate
        self._fleet.set_total(self._yielding.rate)

    def stop(self, site: str, reason: str) -> None:
        self._fleet.stop(site, reason)

    def servers(self) -> Mapping[str, ServerTally]:
        return self._fleet.servers()

    def progress(self) -> Sequence[Progress]:
        return self._fleet.progress()

    async def wait(self, seconds: float) -> Sequence[Progress]:
        ended = await self._fleet.wait(seconds)
        for progress in ended:
            self._targets.pop(progress.site, None)
            self._probe.aim(list(self._targets.values()))
        return ended

    async def close(self, reason: str) -> None:
        await self._fleet.close(reason)

    async def _find(self, site: str) -> None:
        """A site whose name does not resolve has other troubles; nobody asks its server."""
        parts = urlsplit(self._seeds[site])
        host = parts.hostname or ""
        with contextlib.suppress(FetchFault):
            address = (await self._resolver.resolve(host)).addresses[0]
            self._targets[site] = Target(address, parts.port or _PORTS[parts.scheme])
            self._probe.aim(list(self._targets.values()))

    async def _run(self, tell: Tell) -> None:
        before = time.monotonic()
        while True:
            await asyncio.sleep(STEP_SECONDS)
            now = time.monotonic()
            rate = self._yielding.step(now, self._own_rate(now))
            self._fleet.set_total(rate)
            if self._yielding.making_way:
                self.given_seconds += now - before
                self.given_bytes += self._yielding.given_up * (now - before)
            self._follow(rate, now - before, tell)
            before = now

    def _own_rate(self, now: float) -> float:
        carried = self._fleet.carried()
        self._carried.append((now, carried))
        while len(self._carried) > 2 and self._carried[1][0] <= now - _OWN_RATE_SECONDS:
            self._carried.popleft()
        at, then = self._carried[0]
        return max((carried - then) / (now - at), 0.0) if now > at else 0.0

    def _follow(self, rate: float, seconds: float, tell: Tell) -> None:
        """Let the plan know when it is worth it."""
        fading = self._planned * math.exp(-seconds / _PLAN_FOLLOWS_SECONDS)
        self._planned = max(rate, fading)
        held_back = rate < _HELD_BACK * self._planned
        told_rate, told_held_back = self._told or (0.0, not held_back)
        near = told_rate / _WORTH_PLANNING < self._planned < told_rate * _WORTH_PLANNING
        if not near or held_back != told_held_back:
            self._told = (self._planned, held_back)
            tell(*self._told)
