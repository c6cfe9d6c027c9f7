"""A run's timeline in columns of equal length, so that a chart of any run has a bounded size.

Points come when they come. The bytes of each are taken to have come evenly since the point before,
and are dealt out to the columns in between; none is lost. A column is a second or more: that is
what the budget is held to, and shorter ones would only show in which order packets came. Only a
run that is shorter is one column of its own length.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from headgate.model.run_report import TimelinePoint

__all__ = ["TimelineBins"]

_MOST_BINS = 250
_LENGTHS = (
    *(1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 21600, 43200, 86400),
)


class TimelineBins(msgspec.Struct, frozen=True):
    """Mean rates by site and column; a site without any bytes has none."""

    seconds: float
    """Length of a column."""
    count: int
    rates: dict[str, list[float]]
    left_to_others: list[float]
    """What was not taken, making way: mean rates by column."""

    @classmethod
    def of(cls, timeline: Sequence[TimelinePoint]) -> TimelineBins:
        end = max((point.time for point in timeline), default=0.0)
        steps = _LENGTHS if end >= 1 or not end else (end,)
        seconds = next((step for step in steps if end / step <= _MOST_BINS), end / _MOST_BINS)
        count = max(math.ceil(end / seconds - 1e-6), 1)
        rates: dict[str, list[float]] = {}
        left = [0.0] * count
        begin = 0.0
        for point in timeline:
            parts = list(_overlaps(begin / seconds, point.time / seconds, count))
            for site, amount in point.bytes.items():
                row = rates.setdefault(site, [0.0] * count)
                for column, part in parts:
                    row[column] += amount * part / seconds
            for column, part in parts:
                left[column] += point.left_to_others * part / seconds
            begin = max(begin, point.time)
        return cls(float(seconds), count, rates, left)

    @property
    def total(self) -> list[float]:
        return [
            sum(column) for column in zip([0.0] * self.count, *self.rates.values(), strict=True)
        ]


def _overlaps(start: float, end: float, count: int) -> Iterator[tuple[int, float]]:
    """The columns between two moments, and the part of the time between that lies in each."""
    first = min(max(int(start), 0), count - 1)
    last = min(max(int(end), first), count - 1)
    if first == last or end <= start:
        yield first, 1.0
        return
    for column in range(first, last + 1):
        until = end if column == last else column + 1
        yield column, (until - max(start, column)) / (end - start)
