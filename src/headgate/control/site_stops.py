"""Which sites are to be stopped at their deadlines, and when the next one is."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping

from headgate.control.site_watch import SiteWatch

__all__ = ["SiteStops"]


class SiteStops:
    """``watched`` has the sites that are open; who ended may still stand in line here."""

    def __init__(self, watched: Mapping[str, SiteWatch]) -> None:
        self._watched = watched
        self._line: deque[SiteWatch] = deque()
        """By deadline."""

    def note(self, arrived: Iterable[SiteWatch]) -> None:
        """Those of them that stop take their places."""
        stops = [watched for watched in arrived if watched.stops]
        if stops:
            stops += filter(self._is_open, self._line)
            self._line = deque(sorted(stops, key=lambda watched: watched.deadline))

    def next(self) -> float:
        """When the next one is due; infinity: none is."""
        while self._line and not self._is_open(self._line[0]):
            self._line.popleft()
        return self._line[0].deadline if self._line else math.inf

    def due(self, now: float) -> str | None:
        """The next site whose deadline has come, told once; None: there is none."""
        return self._line.popleft().site.name if self.next() <= now else None

    def _is_open(self, watched: SiteWatch) -> bool:
        """Its site may have come again since."""
        return self._watched.get(watched.site.name) is watched
