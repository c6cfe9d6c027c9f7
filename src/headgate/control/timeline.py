"""The timeline of the report, in bounded memory.

There is one point per look, with wire bytes by site. When there are twice as many points as wanted,
neighbours are merged in pairs: a run of any length keeps between `_WANTED` and twice that many, and
no byte is lost. The worst second is kept separately, since merging would blur it.

A resumed run continues the points of its earlier legs. Bytes that are in the journals of an earlier
leg but not in its points (it was killed before they were saved) become one more point between the
legs: they came before this leg began, and none of its seconds may be charged with them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

from headgate.control.allowance import Arrivals
from headgate.crawling.progress import Progress
from headgate.model.run_report import TimelinePoint

__all__ = ["SECOND", "Samples"]

_WANTED = 1000
SECOND = 1.0 - 1e-6
"""What counts as one second: times are sums of floats."""


class Samples:
    """Points in order of time; each holds the bytes since the one before."""

    def __init__(
        self, earlier: Sequence[TimelinePoint] = (), start: float = 0.0, peak_rate: float = 0.0
    ) -> None:
        """``earlier`` are the points of earlier legs, which took until ``start`` and had
        ``peak_rate`` in their worst second."""
        self.peak_rate = peak_rate
        """The highest mean over one second or a little longer, within one leg."""
        self._points = list(earlier)
        self._start = start
        self._booked: Counter[str] = Counter()
        for point in earlier:
            self._booked.update(point.bytes)
        self._unlogged: dict[str, int] = {}
        """Bytes of earlier legs that are stored but in none of their points."""
        self._taken_up: set[str] = set()
        """Sites whose earlier bytes are known."""
        self._counted = Arrivals()
        self._last_time = start
        self._left_before = 0.0
        self.came = 0
        """Bytes of this leg."""
        self._recent = deque(((start, 0),))
        """(time, bytes until then) of this leg, over the last second."""

    def add(
        self, time: float, reports: Sequence[Progress], left_to_others: float = 0.0
    ) -> dict[str, float]:
        """Add a point; returns the rates of sites since the last one. ``left_to_others`` counts
        from the beginning of the leg."""
        seconds = time - self._last_time
        if seconds <= 0:
            return {}
        came = self._fresh(reports)
        self._last_time = time
        self._points.append(TimelinePoint(time, came, left_to_others - self._left_before))
        self._left_before = left_to_others
        self._note_peak(time, sum(came.values()))
        if len(self._points) >= 2 * _WANTED:
            self._halve()
        return {site: count / seconds for site, count in came.items()}

    @property
    def timeline(self) -> tuple[TimelinePoint, ...]:
        if not self._unlogged:
            return tuple(self._points)
        before = [point for point in self._points if point.time <= self._start]
        between = TimelinePoint(self._start, self._unlogged)
        if before and before[-1].time == self._start:
            between = _together(before.pop(), between)
        after = [point for point in self._points if point.time > self._start]
        return (*before, between, *after)

    @property
    def bytes_by_site(self) -> Mapping[str, int]:
        """Wire bytes of this run, including fetches that broke off."""
        return self._booked

    def _fresh(self, reports: Sequence[Progress]) -> dict[str, int]:
        """Bytes by site since the last look."""
        came: dict[str, int] = {}
        for report in reports:
            self._find_unlogged(report)
            if fresh := self._counted.fresh(report):
                came[report.site] = fresh
        self._booked.update(came)
        return came

    def _find_unlogged(self, report: Progress) -> None:
        if not report.earlier_wire_bytes or report.site in self._taken_up:
            return
        self._taken_up.add(report.site)
        more = report.earlier_wire_bytes - self._booked[report.site]
        if more > 0:
            self._unlogged[report.site] = more
            self._booked[report.site] += more

    def _note_peak(self, time: float, came: int) -> None:
        self.came += came
        while len(self._recent) > 1 and time - self._recent[1][0] >= SECOND:
            self._recent.popleft()
        start, before = self._recent[0]
        if time - start >= SECOND:
            self.peak_rate = max(self.peak_rate, (self.came - before) / (time - start))
        self._recent.append((time, self.came))

    def _halve(self) -> None:
        odd = self._points[len(self._points) // 2 * 2 :]
        pairs = zip(self._points[::2], self._points[1::2], strict=False)
        self._points = [*(_together(first, second) for first, second in pairs), *odd]


def _together(first: TimelinePoint, second: TimelinePoint) -> TimelinePoint:
    return TimelinePoint(
        second.time,
        {
            site: first.bytes.get(site, 0) + second.bytes.get(site, 0)
            for site in {**first.bytes, **second.bytes}
        },
        first.left_to_others + second.left_to_others,
    )
