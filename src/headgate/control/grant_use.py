"""Measures a site's server by how much of the granted bytes arrived.

Looks come twice a second, and rates change in between: granted bytes are summed up from look to
look, so that a server is judged by the rates it had and not by the last one.
"""

from __future__ import annotations

import msgspec

from headgate.control.speed_watch import SpeedWatch
from headgate.crawling.progress import Progress

__all__ = ["PAGES_JUDGED", "GrantUse"]

_OPENING_SECONDS = 1.0
"""A site is not judged while its connections open, or just after it was parked; at a first look,
for half as long."""
PAGES_JUDGED = 2.0
"""This many mean page sizes must have been granted before a server is judged."""
_UNSEEN_PAGE_BYTES = 15_000.0
"""Assumed page size before the first page; the size of robots.txt says nothing of it."""
_AT_ITS_PACE = 0.5
"""If this part of the requests that politeness allows was made, politeness was the limit, not the
server."""


class GrantUse(msgspec.Struct):
    """The grants of one site; ``speed`` takes the measurements."""

    speed: SpeedWatch
    _started: float | None = None
    """When it started, or went on after it was parked."""
    _arrived_bytes: int = 0
    _fetches: int = 0
    _looked: float = 0.0
    _granted_bytes: float = 0.0
    """Since the last look, up to ``_granted_at``."""
    _granted_at: float = 0.0

    def look(
        self,
        report: Progress,
        rate: float,
        now: float,
        *,
        first_look: bool,
        held_back: bool,
        lent: bool,
    ) -> None:
        """``rate`` is the present one; ``lent``: others may have used a part of it."""
        seconds = now - self._looked
        opening = _OPENING_SECONDS / 2 if first_look else _OPENING_SECONDS
        begun_anew = report.arrived_bytes < self._arrived_bytes  # its process died
        if self._started is None or begun_anew:
            self._started = now
        elif seconds > 0 and not held_back and now - self._started >= opening:
            self.note(rate, now)
            if 0 < self._granted_bytes < PAGES_JUDGED * _page_bytes(report):
                return  # too little for a page: keep counting until it is enough
            came = (report.arrived_bytes - self._arrived_bytes) / seconds
            fetches = report.fetches - self._fetches
            paced = 0 < _AT_ITS_PACE * seconds <= fetches * report.seconds_per_request
            busy = report.to_do > 0 and not lent and not paced
            self.speed.look(came, self._granted_bytes / seconds, busy=busy)
        self._arrived_bytes, self._fetches, self._looked = report.arrived_bytes, report.fetches, now
        self._granted_bytes, self._granted_at = 0.0, now

    def note(self, rate: float, now: float) -> None:
        """The rate that held until now is about to change; count what it granted."""
        if rate == 0 and self._started is not None:
            self._started = now
        self._granted_bytes += rate * max(now - self._granted_at, 0.0)
        self._granted_at = now


def _page_bytes(report: Progress) -> float:
    mean = report.mean_wire_bytes or 0.0
    return mean if report.growth.responses else max(mean, _UNSEEN_PAGE_BYTES)
