"""The sites to be stopped at their deadlines, in order of time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping

from headgate.control.site_watch import SiteWatch

__all__ = ["SiteStops"]


class SiteStops:
    """``watched`` has the open sites; sites that ended may still be in the queue."""

    def __init__(self, watched: Mapping[str, SiteWatch]) -> None:
        self._watched = watched
        self._line: deque[SiteWatch] = deque()
        """By deadline."""

    def note(self, arrived: Iterable[SiteWatch]) -> None:
        """Add those that stop at their deadlines."""
        stops = [watched for watched in arrived if watched.stops]
        if stops:
            stops += filter(self._is_open, self._line)
            self._line = deque(sorted(stops, key=lambda watched: watched.deadline))

    def next(self) -> float:
        """When the next stop is due; infinity: never."""
        while self._line and not self._is_open(self._line[0]):
            self._line.popleft()
        return self._line[0].deadline if self._line else math.inf

    def due(self, now: float) -> str | None:
        """A site whose deadline has come, each once; None: there is none."""
        return self._line.popleft().site.name if self.next() <= now else None

    def _is_open(self, watched: SiteWatch) -> bool:
        """Not so if another visit of the site has begun since."""
        return self._watched.get(watched.site.name) is watched
