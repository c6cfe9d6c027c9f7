"""What came when: the timeline that the report draws, in bounded memory.

One point per look, wire bytes by site. When there are twice as many points as wanted, neighbours
are put together two by two: a run of any length keeps between `_WANTED` and twice that many, and no
byte is lost. The worst second is kept beside them, since putting points together would blur it.
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.crawling.progress import Progress
from headgate.model.run_report import TimelinePoint

__all__ = ["Samples"]

_WANTED = 1000


class Samples:
    """Points in order of time; each holds what came since the one before."""

    def __init__(self) -> None:
        self._points: list[TimelinePoint] = []
        self._before: dict[str, int] = {}
        self._last_time = 0.0
        self._left_before = 0.0
        self.peak_rate = 0.0
        """Of any look that lasted about a second or longer. The bytes of a shorter one count as
        those of a second, so that a run of less than a second has a rate, too."""

    def take(
        self, time: float, reports: Sequence[Progress], left_to_others: float = 0.0
    ) -> dict[str, float]:
        """Add a look; the rates of the sites since the last one. What was left to others is
        counted from the beginning of the run, as arrived bytes are."""
        came: dict[str, int] = {}
        for report in reports:
            before = self._before.get(report.site, report.earlier_wire_bytes)
            if report.arrived_bytes > before:
                came[report.site] = report.arrived_bytes - before
        self._before.update({report.site: report.arrived_bytes for report in reports})
        seconds = time - self._last_time
        if seconds <= 0:
            return {}
        self._last_time = time
        self._points.append(TimelinePoint(time, came, left_to_others - self._left_before))
        self._left_before = left_to_others
        lasted = seconds if seconds > 0.8 else 1.0
        self.peak_rate = max(self.peak_rate, sum(came.values()) / lasted)
        if len(self._points) >= 2 * _WANTED:
            self._halve()
        return {site: count / seconds for site, count in came.items()}

    @property
    def timeline(self) -> tuple[TimelinePoint, ...]:
        return tuple(self._points)

    def _halve(self) -> None:
        pairs = zip(self._points[::2], self._points[1::2], strict=False)
        self._points = [
            TimelinePoint(
                second.time,
                {
                    site: first.bytes.get(site, 0) + second.bytes.get(site, 0)
                    for site in first.bytes.keys() | second.bytes.keys()
                },
                first.left_to_others + second.left_to_others,
            )
            for first, second in pairs
        ]
