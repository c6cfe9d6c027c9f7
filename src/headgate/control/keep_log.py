"""The hourly log of a keeper: what it did, the estimated freshness of its pages, and how well
predicted changes were calibrated.

Events are added by `visited`, `looked`, `promised` and `estimated`; `turn` returns each hour once
when it is over, to be stored.

A clock that is set back does not open an hour twice: until it has caught up, events count for the
open hour.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from headgate.model.keep_status import CHECK_BINS, Checked, Fresh, KeepCounts, KeepHour

__all__ = ["HOUR", "KeepLog"]

HOUR = 3_600.0
_DAY_HOURS = 24
_CHECKED_HOURS = 30 * _DAY_HOURS
_MOST_SITES = 20
"""Sites listed by name in an hour."""


@dataclass(slots=True)
class _OpenHour:
    start: float
    counts: KeepCounts = field(default_factory=KeepCounts)
    by_site: Counter[str] = field(default_factory=Counter)
    fresh: Fresh | None = None
    looks: list[int] = field(default_factory=lambda: [0] * CHECK_BINS)
    said: list[float] = field(default_factory=lambda: [0.0] * CHECK_BINS)
    found: list[int] = field(default_factory=lambda: [0] * CHECK_BINS)
    kept: int = 0
    late: int = 0

    @classmethod
    def of(cls, hour: KeepHour) -> _OpenHour:
        return cls(
            hour.start,
            hour.counts,
            Counter(hour.bytes_by_site),
            hour.fresh,
            list(hour.checked.looks),
            list(hour.checked.said),
            list(hour.checked.found),
            hour.kept,
            hour.late,
        )

    def hour(self) -> KeepHour:
        named = {site: self.by_site[site] for site in sorted(self.by_site) if site}
        largest = dict(Counter(named).most_common(_MOST_SITES))
        others = sum(self.by_site.values()) - sum(largest.values())
        return KeepHour(
            self.start,
            self.counts,
            largest | ({"": others} if others else {}),
            self.fresh,
            Checked(tuple(self.looks), tuple(self.said), tuple(self.found)),
            self.kept,
            self.late,
        )


class KeepLog:
    """``before`` are the stored hours, the oldest first; the last may be the open one."""

    def __init__(self, now: float, before: Iterable[KeepHour] = ()) -> None:
        self._past: deque[KeepHour] = deque(before, maxlen=_CHECKED_HOURS)
        self._open = _OpenHour(_hour_of(now))
        if self._past and self._past[-1].start >= self._open.start:
            self._open = _OpenHour.of(self._past.pop())
        self._past_checked: Checked | None = None
        """Sum over past hours; None: to be computed."""

    def visited(self, site: str, counts: KeepCounts) -> None:
        """A visit has ended."""
        self._open.counts = self._open.counts.plus(counts)
        self._open.by_site[site] += counts.wire_bytes

    def looked(self, probability: float, *, changed: bool) -> None:
        """A page that had changed with this probability was fetched."""
        place = min(int(probability * CHECK_BINS), CHECK_BINS - 1)
        self._open.looks[place] += 1
        self._open.said[place] += probability
        self._open.found[place] += changed

    def promised(self, *, kept: bool) -> None:
        """A promise was kept, or is late."""
        if kept:
            self._open.kept += 1
        else:
            self._open.late += 1

    def estimated(self, fresh: Fresh) -> None:
        self._open.fresh = fresh

    def turn(self, now: float) -> list[KeepHour]:
        """The open hour, if it is over; later events count for the next."""
        start = _hour_of(now)
        if start <= self._open.start:
            return []
        over = self._open.hour()
        self._past.append(over)
        self._past_checked = None
        self._open = _OpenHour(start)
        return [over]

    def open_hour(self) -> KeepHour:
        return self._open.hour()

    def last_day(self, now: float) -> KeepCounts:
        """The open hour and the 24 before it."""
        total = self._open.counts
        for hour in self._past:
            if hour.start >= _hour_of(now) - _DAY_HOURS * HOUR:
                total = total.plus(hour.counts)
        return total

    def checked(self) -> Checked:
        """The calibration over the last thirty days."""
        if self._past_checked is None:
            total = Checked()
            for hour in self._past:
                total = total.plus(hour.checked)
            self._past_checked = total
        return self._past_checked.plus(self._open.hour().checked)


def _hour_of(moment: float) -> float:
    return moment // HOUR * HOUR
