"""Measures a node by the reference site: every node fetches the same page once a day.

The fastest of three fetches counts, since other programs can only make one slower. Only ratios
between nodes are used.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from dataclasses import dataclass

import msgspec

from headgate.engine.parts import Parts
from headgate.features.grid.node.heartbeats import Heartbeats
from headgate.features.grid.node.owner_limits import OwnerBounds
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.fetch import Fetched, FetchRequest
from headgate.model.site import Site
from headgate.storage.atomic_write import write_soon

__all__ = ["ReferenceVisit"]

_DAY = 86_400.0
_AGAIN_SECONDS = 3600.0
"""Wait after a failure."""
_FETCHES = 3
_EXPECTED_BYTES, _MOST_BYTES, _MOST_SECONDS = 20_000, 5_000_000, 60.0
_NAME = "reference"
_GOOD = 200


class _Measured(msgspec.Struct, frozen=True):
    url: str
    wall: float
    seconds: float | None
    """None: it could not be fetched."""


@dataclass(slots=True)
class ReferenceVisit:
    heartbeats: Heartbeats
    bounds: OwnerBounds
    parts: Parts
    look_seconds: float
    _last: _Measured | None = None

    async def run(self) -> None:
        """Runs for ever. The measurement is sent with every heartbeat."""
        path = self.heartbeats.leased_tasks.home / _NAME
        try:
            self._last = msgspec.json.decode(path.read_bytes(), type=_Measured)
        except (OSError, msgspec.MsgspecError):
            self._last = None
        while True:
            url = self.heartbeats.reference
            if url and self._is_due(url) and self._may_fetch(url):
                seconds = await self._seconds(url)
                self._last = _Measured(url, self.parts.clock.wall(), seconds)
                with contextlib.suppress(HeadgateError, OSError):  # then another start measures
                    write_soon(path, msgspec.json.encode(self._last))
            known = self._last is not None and self._last.url == url
            self.heartbeats.reference_seconds = self._last.seconds if self._last and known else None
            await asyncio.sleep(self.look_seconds)

    def _is_due(self, url: str) -> bool:
        last = self._last
        if last is None or last.url != url:
            return True
        wait = _AGAIN_SECONDS if last.seconds is None else _DAY
        return not -wait < self.parts.clock.wall() - last.wall < wait

    def _may_fetch(self, url: str) -> bool:
        """Whether the owner's rules allow it, as for any task."""
        site = Site(_NAME, (url,))
        return not self.bounds.why_not_now() and not self.bounds.rules.why_not(site)

    async def _seconds(self, url: str) -> float | None:
        found = []
        rate = self.bounds.leg.own_rate()
        async with self.parts.open_fetcher(self.bounds.settings("")) as fetcher:
            fetcher.meter.set_total(math.inf if rate is None else rate)
            fetcher.meter.set_site(_NAME, math.inf if rate is None else rate)
            for _ in range(_FETCHES):
                began = self.parts.clock.now()
                request = FetchRequest(
                    url, _NAME, _EXPECTED_BYTES, _MOST_BYTES, most_seconds=_MOST_SECONDS
                )
                try:
                    outcome = await fetcher.fetch(request)
                except WorldFault:  # too few open files, at the moment
                    return None
                if not isinstance(outcome, Fetched) or outcome.status != _GOOD:
                    return None
                found.append(self.parts.clock.now() - began)
        return max(min(found), 1e-6)
