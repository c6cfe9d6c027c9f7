"""The estimates of a server, one for each hour of a working day and of a holiday.

A cell holds bytes Z and seconds W; its rate is Z / W. Hour h stands for the moment h:00, and what
was measured at minute t speaks for it with the weight

    phi(y) = k exp(-y^2 / sigma^2),   y = t - 60 h, round the clock,   k = 0.3, sigma = 120 min.

The three rules by which cells learn are described in `server_speed`, which also says whether a
measure is taken in at all.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import lru_cache

from headgate.model.local_time import DayKind, LocalMoment

__all__ = ["CELLS", "MOST_SECONDS", "HourlyCells", "weight"]

K = 0.3
SIGMA_MINUTES = 120.0

_HOURS = 24
CELLS = 2 * _HOURS
_DAY_MINUTES = 1440.0
_SLOWER = 3.0
"""phi' = phi / 3: the ratio of two means needs more memory than the mean of ratios."""
_FAR = 1 / 600
"""Weight of a measure in hours far from its own, as a part of the greatest."""
_OTHER_KIND = 1 / 100
"""Weight of a measure on days of the other kind, as a part of its own."""
_MOST_TIMES = 10.0
"""A measure counts as at most so many times the estimate: a server that sends a buffered megabyte
within a millisecond has not become a thousand times faster."""
MOST_SECONDS = 60.0
"""A longer measure weighs no more than one of a minute."""
_SEEN = 0.1
"""Of the weight of the best known hour."""


def weight(minutes: float) -> float:
    """phi(y): weight of a measure so many minutes away, around the clock.

    >>> [round(weight(y), 4) for y in (0, 60, 120, 180, 240, 1440 - 60)]
    [0.3, 0.2336, 0.1104, 0.0316, 0.0055, 0.2336]
    """
    away = (minutes + _DAY_MINUTES / 2) % _DAY_MINUTES - _DAY_MINUTES / 2
    return K * math.exp(-((away / SIGMA_MINUTES) ** 2))


@lru_cache(maxsize=16)  # many measures fall in one minute
def _weights(minute: int) -> tuple[float, ...]:
    """phi for each of the 24 hours."""
    return tuple(weight(minute - 60.0 * hour) for hour in range(_HOURS))


@lru_cache(maxsize=16)
def _steady_weights(minute: int, kind: DayKind) -> tuple[float, ...]:
    """What a measure counts in each of the 48 cells."""
    own = [max(phi, K * _FAR) for phi in _weights(minute)]
    other = [counts * _OTHER_KIND for counts in own]
    return (*own, *other) if kind is DayKind.HOLIDAY else (*other, *own)


class HourlyCells:
    """All cells are known, or none is. 0.8 KB in memory."""

    __slots__ = ("_bytes", "_seconds")

    def __init__(self, values: Sequence[float] = (0.0,) * (2 * CELLS)) -> None:
        """``values`` as `values` gives them."""
        self._bytes = array("d", values[:CELLS])
        """Z of cell ``24 * kind + hour``; always beside W, `_seconds`."""
        self._seconds = array("d", values[CELLS:])

    @property
    def values(self) -> tuple[float, ...]:
        return (*self._bytes, *self._seconds)

    @property
    def of_a_second(self) -> HourlyCells:
        """The same rates, each as if a measure of one second had made it."""
        return HourlyCells((*map(self._cell, range(CELLS)), *[1.0] * CELLS))

    @property
    def known(self) -> bool:
        return self._seconds[0] > 0

    @property
    def sound(self) -> bool:
        filled = all(seconds > 0 for seconds in self._seconds)
        return filled == self.known and all(0 <= value < math.inf for value in self.values)

    def rate(self, moment: LocalMoment) -> float:
        """Bytes per second at a moment, between the hours around it."""
        hour, after = divmod(moment.minute / 60.0, 1.0)
        first = int(hour) % _HOURS
        row = _HOURS * moment.kind
        near, next_ = self._cell(row + first), self._cell(row + (first + 1) % _HOURS)
        return near + after * (next_ - near)

    def hourly(self, kind: DayKind) -> tuple[float, ...]:
        row = _HOURS * kind
        return tuple(map(self._cell, range(row, row + _HOURS)))

    def seen(self, moment: LocalMoment) -> bool:
        """Whether there was a measure near that hour on such a day."""
        nearest = _HOURS * moment.kind + round(moment.minute / 60.0) % _HOURS
        return self._seconds[nearest] >= _SEEN * max(self._seconds)

    def fill(self, rate: float, seconds: float) -> None:
        """The first measure speaks for every hour of every day ..."""
        for cell in range(CELLS):
            self._bytes[cell], self._seconds[cell] = seconds * rate, seconds

    def fill_steadily(self, rate: float, seconds: float, moment: LocalMoment) -> None:
        """... with the weights that it has there."""
        for cell, counts in enumerate(_steady_weights(int(moment.minute), moment.kind)):
            self._bytes[cell], self._seconds[cell] = counts * seconds * rate, counts * seconds

    def learn_by_paper(self, rate: float, moment: LocalMoment) -> None:
        for cell, phi in enumerate(_weights(int(moment.minute)), _HOURS * moment.kind):
            self._bytes[cell] += phi * (rate - self._bytes[cell])

    def learn_by_ratio(self, bytes_: float, seconds: float, moment: LocalMoment) -> None:
        for cell, paper_phi in enumerate(_weights(int(moment.minute)), _HOURS * moment.kind):
            phi = paper_phi / _SLOWER
            had_bytes, had_seconds = self._bytes[cell], self._seconds[cell]
            # Neither sum may jump, so no single measure doubles or halves the estimate by much.
            most = _MOST_TIMES * had_bytes * min(seconds / had_seconds, 1.0)
            self._bytes[cell] += phi * (min(bytes_, most) - had_bytes)
            self._seconds[cell] += phi * (min(seconds, _MOST_TIMES * had_seconds) - had_seconds)

    def learn_steadily(
        self, bytes_: float, seconds: float, moment: LocalMoment, hours: float
    ) -> None:
        """``hours`` that were watched since the measure before."""
        rate = min(bytes_ / seconds, _MOST_TIMES * self.rate(moment))
        seconds = min(seconds, MOST_SECONDS)
        for cell, counts in enumerate(_steady_weights(int(moment.minute), moment.kind)):
            keep = 1.0 - hours * counts / _SLOWER
            self._bytes[cell] = keep * self._bytes[cell] + counts * seconds * rate
            self._seconds[cell] = keep * self._seconds[cell] + counts * seconds

    def _cell(self, cell: int) -> float:
        return self._bytes[cell] / self._seconds[cell]
