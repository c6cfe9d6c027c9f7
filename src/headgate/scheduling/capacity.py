"""The budget over time as planning sees it: a rate, a timetable or a quota, in constant pieces."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from headgate.model.budget import Budget, QuotaUse
from headgate.model.errors import PlanningError
from headgate.model.timetable import Timetable

if TYPE_CHECKING:
    from headgate.scheduling.arrays import FloatArray

__all__ = [
    "NOTHING_LEFT",
    "WEEK_SECONDS",
    "Capacity",
    "Demand",
    "RunStart",
    "budget_capacity",
    "capacity_for",
    "unrolled",
    "within_quota",
]

NOTHING_LEFT = 1e-9
"""Part of the budget too small to start a site with, and of a site's bytes too small to matter."""


class Capacity:
    """The budget over time as planning sees it: constant pieces, the last one without end.

    A capacity answers two questions, one the inverse of the other: how many bytes can pass by time
    t, and when have so many bytes passed. Every rate is finite, the last one positive, so
    everything ends. Lookups cost O(log pieces). A timetable of two years has thousands of pieces,
    and a running crawl asks for the rest of it many times a second, so whole capacities are made in
    numpy alone.

    Most budgets are constant. Such a one is a single number, and a small crawl is over before numpy
    would be imported: arrays are made on first use.

    ``rates[k]`` holds from ``starts[k]`` to ``starts[k + 1]``; ``starts[0]`` is 0. It does not
    change.
    """

    __slots__ = ("_columns", "_rate")

    def __init__(self, rate: float, columns: tuple[FloatArray, ...] | None = None) -> None:
        """``columns`` are starts, rates and cumulative bytes, with ``rate`` as the first rate;
        None: it is constant. They must be valid: `of` checks."""
        self._rate = rate
        self._columns = columns

    @classmethod
    def from_pieces(cls, pieces: Iterable[tuple[float, float]]) -> Capacity:
        """From (start, rate) pairs in order of time.

        >>> capacity = Capacity.from_pieces([(0, 100), (10, 0), (20, 50)])
        >>> float(capacity.bytes_by(25)), float(capacity.time_of(1100))
        (1250.0, 22.0)
        """
        starts, rates = zip(*pieces, strict=True)
        if starts[0] != 0 or any(b <= a for a, b in itertools.pairwise(starts)):
            raise ValueError("pieces must start at 0 and go forward in time")
        if not all(map(math.isfinite, rates)) or min(rates) < 0 or rates[-1] <= 0:
            raise ValueError("rates must be finite and not negative, the last one positive")
        return cls._of_columns(starts, rates)

    @classmethod
    def _of_columns(
        cls, starts: FloatArray | Sequence[float], rates: FloatArray | Sequence[float]
    ) -> Capacity:
        """From valid columns."""
        if len(rates) == 1:
            return cls(float(rates[0]))
        import numpy as np

        begin, rate = np.asarray(starts, np.float64), np.asarray(rates, np.float64)
        passed = np.zeros(len(begin))
        np.cumsum(np.diff(begin) * rate[:-1], out=passed[1:])
        return cls(float(rate[0]), (begin, rate, passed))

    @classmethod
    def constant(cls, rate: float) -> Capacity:
        return cls.from_pieces([(0.0, rate)])

    @property
    def starts(self) -> FloatArray:
        return self._made_columns()[0]

    @property
    def rates(self) -> FloatArray:
        return self._made_columns()[1]

    @property
    def passed(self) -> FloatArray:
        """Bytes that can have passed at ``starts[k]``."""
        return self._made_columns()[2]

    def _made_columns(self) -> tuple[FloatArray, ...]:
        if self._columns is not None:
            return self._columns
        import numpy as np

        return np.zeros(1), np.array([self._rate]), np.zeros(1)

    @property
    def pieces(self) -> list[tuple[float, float]]:
        """(start, rate), in order of time."""
        if self.is_constant:
            return [(0.0, self._rate)]
        return list(zip(self.starts.tolist(), self.rates.tolist(), strict=True))

    @property
    def is_constant(self) -> bool:
        return self._columns is None

    @property
    def peak(self) -> float:
        return self._rate if self.is_constant else float(self.rates.max())

    @property
    def mean_rate(self) -> float:
        """The mean over all pieces that end; the rate itself when constant."""
        if self.is_constant:
            return self._rate
        return float(self.passed[-1] / self.starts[-1])

    def rate_at(self, time: float) -> float:
        return self._rate if self.is_constant else float(self.rates[self._piece_at(time)])

    def next_turn(self, time: float) -> float:
        """When the rate changes next after ``time``; infinity when never."""
        if self.is_constant:
            return math.inf
        following = self._piece_at(time) + 1
        return float(self.starts[following]) if following < len(self.starts) else math.inf

    def bytes_by(self, time: float | FloatArray) -> FloatArray:
        import numpy as np

        piece = np.maximum(np.searchsorted(self.starts, time, side="right") - 1, 0)
        bytes_: FloatArray = self.passed[piece] + (time - self.starts[piece]) * self.rates[piece]
        return bytes_

    def time_of(self, bytes_: float | FloatArray) -> FloatArray:
        """The earliest time by which so many bytes have passed."""
        import numpy as np

        # The piece in which the amount is reached: the last one that starts with fewer bytes.
        piece = np.maximum(np.searchsorted(self.passed, bytes_, side="left") - 1, 0)
        missing = np.asarray(bytes_ - self.passed[piece], dtype=np.float64)
        rate = self.rates[piece]
        wait = np.divide(missing, rate, out=np.zeros_like(missing), where=rate > 0)
        time: FloatArray = self.starts[piece] + wait
        return time

    def scaled(self, factor: float) -> Capacity:
        if self.is_constant:
            return Capacity(self._rate * factor)
        columns = self.starts, self.rates * factor, self.passed * factor
        return Capacity(self._rate * factor, columns)

    def at_most(self, rate: float) -> Capacity:
        """The same budget on a line that carries at most ``rate``, which is above 0."""
        if not rate > 0:
            raise ValueError("a line carries something")
        if self.is_constant:
            return Capacity(min(self._rate, rate))
        return Capacity._of_columns(self.starts, self.rates.clip(max=rate))

    def from_time(self, time: float) -> Capacity:
        """The same budget, seen from a later time."""
        if self.is_constant:
            return self
        piece = self._piece_at(time)
        starts = self.starts[piece:] - time
        starts[0] = 0.0
        return Capacity._of_columns(starts, self.rates[piece:])

    def delayed(self, seconds: float) -> Capacity:
        """The same budget, so many seconds later; its first rate holds until then."""
        if self.is_constant:
            return self
        starts = self.starts + seconds
        starts[0] = 0.0
        return Capacity._of_columns(starts, self.rates)

    def before(self, time: float) -> list[tuple[float, float]]:
        """The pieces that start before a time."""
        return [(start, rate) for start, rate in self.pieces if start < time]

    def is_near(self, other: Capacity, seconds: float) -> bool:
        """Whether it has the same rates, with changes at most so many seconds earlier or later."""
        ours, theirs = self.pieces, other.pieces
        return [rate for _, rate in ours] == [rate for _, rate in theirs] and all(
            abs(start - another) <= seconds
            for (start, _), (another, _) in zip(ours, theirs, strict=True)
        )

    def until(self, time: float, then: Capacity) -> Capacity:
        """This budget up to a time after 0, and another from there on.

        >>> Capacity.constant(100.0).until(10.0, Capacity.from_pieces([(0, 5), (7, 9)])).pieces
        [(0.0, 100.0), (10.0, 5.0), (17.0, 9.0)]
        """
        pieces = [*self.before(time), *((start + time, rate) for start, rate in then.pieces)]
        starts, rates = zip(*pieces, strict=True)
        return Capacity._of_columns(starts, rates)

    def _piece_at(self, time: float) -> int:
        return max(int(self.starts.searchsorted(time, side="right")) - 1, 0)


Pieces = Sequence[tuple[float, float]]


def within_quota(pieces: Pieces, use: QuotaUse, horizon: float) -> list[tuple[float, float]]:
    """A budget cut to what a byte quota lets pass.

    It assumes that the budget is fully used until the quota of a period is exhausted; then nothing
    passes until the next period. O(pieces + periods).

    (seconds from now, rate) pieces, cut; from the first period that begins after ``horizon``
    seconds on, as they were.

    >>> from datetime import datetime
    >>> from zoneinfo import ZoneInfo
    >>> from headgate.model.budget import Quota
    >>> quota = Quota.parse("86 MB/day", ZoneInfo("UTC"))
    >>> use = QuotaUse(quota, 85e6, datetime(2026, 11, 16, 23, tzinfo=UTC))
    >>> within_quota([(0.0, 1000.0)], use, horizon=3601.0)
    [(0.0, 1000.0), (1000.0, 0.0), (3600.0, 1000.0), (89600.0, 0.0), (90000.0, 1000.0)]
    """
    cut: list[tuple[float, float]] = []
    resets = _resets(use, horizon)
    reset, left = next(resets), use.left
    for (start, rate), (end, _) in pairwise([*pieces, (math.inf, 0.0)]):
        at = start
        while at < end:
            if at >= reset:
                reset, left = next(resets, math.inf), use.quota.bytes
            if reset == math.inf:
                cut.append((at, rate))
                break
            until = min(end, reset)
            spent = at + left / rate if rate > 0 else math.inf
            cut.append((at, rate if spent > at else 0.0))
            if at < spent < until:
                cut.append((spent, 0.0))
            left = max(left - rate * (until - at), 0.0)
            at = until
    return _merged(cut)


def _resets(use: QuotaUse, horizon: float) -> Iterator[float]:
    """In seconds from now; the last one is after the horizon."""
    moment, seconds = use.moment.astimezone(UTC), 0.0
    while seconds <= horizon:
        moment = use.quota.resets(moment)
        seconds = (moment - use.moment) / timedelta(seconds=1)
        yield seconds


def _merged(pieces: Pieces) -> list[tuple[float, float]]:
    """Adjacent pieces of equal rate are merged."""
    first = list(pieces[:1])
    return first + [later for before, later in pairwise(pieces) if later[1] != before[1]]


# The budget over time: a rate, a timetable or a quota, unrolled into pieces of constant rate.


WEEK_SECONDS = 7 * 86400.0
_NO_LIMIT = 1e12
"""Bytes per second."""


class RunStart(msgspec.Struct, frozen=True):
    """The start of a run, if known, and the quota used by then."""

    moment: datetime | None
    quota_used: float = 0.0

    def moment_for(self, what: str) -> datetime:
        if self.moment is None:
            raise PlanningError(f"a {what} needs to know when the crawl starts; give start")
        return self.moment


def budget_capacity(budget: Budget, start: datetime, weeks: int) -> Capacity:
    """The budget over so many weeks without its quota, for a crawl that follows it; unlimited is 1
    TB/s."""
    return unrolled(replace(budget, quota=None), RunStart(start), weeks, Demand(0.0, _NO_LIMIT))


def capacity_for(
    budget: Budget,
    start: datetime,
    weeks: int,
    *,
    work: float,
    usable: float,
    quota_used: float = 0.0,
) -> Capacity:
    """The budget over so many weeks, cut to its quota, for a crawl of so many bytes that takes no
    more than ``usable`` bytes per second."""
    demand = Demand(work, min(usable, _NO_LIMIT))
    return unrolled(budget, RunStart(start, quota_used), weeks, demand)


class Demand(msgspec.Struct, frozen=True):
    """The demand of all sites together."""

    work: float
    usable: float
    """Bytes per second that they can use at most."""


def unrolled(budget: Budget, start: RunStart, weeks: int, demand: Demand) -> Capacity:
    """The budget in pieces; an unlimited one is the most that the sites can use."""
    usable = demand.usable
    if isinstance(budget.bandwidth, Timetable):
        pieces = _by_timetable(budget.bandwidth, start.moment_for("timetable"), weeks)
    else:
        pieces = [(0.0, float(budget.bandwidth))]
    if any(math.isinf(rate) for _, rate in pieces) and math.isinf(usable):
        raise PlanningError(
            "with unlimited bandwidth the sites' own speeds decide; give each site a max_rate"
        )
    if not any(rate > 0 for _, rate in pieces):
        raise PlanningError("bandwidth must be above 0")
    pieces = [(at, usable if math.isinf(rate) else rate) for at, rate in pieces]
    if budget.quota is not None:
        use = QuotaUse(budget.quota, start.quota_used, start.moment_for("quota"))
        if demand.work > use.left:  # else it never runs out
            spent = [(at, min(rate, usable)) for at, rate in pieces]
            pieces = within_quota(spent, use, horizon=weeks * WEEK_SECONDS)
    return Capacity.from_pieces(pieces)


def _by_timetable(timetable: Timetable, start: datetime, weeks: int) -> list[tuple[float, float]]:
    """So many weeks of the timetable, ending with a piece that allows something."""
    pieces: list[tuple[float, float]] = []
    for piece in timetable.pieces(start):
        if pieces and piece.start >= weeks * WEEK_SECONDS and pieces[-1][1] > 0:
            return pieces
        if not pieces or piece.rate != pieces[-1][1]:
            pieces.append((piece.start, float(piece.rate)))
    raise AssertionError("a timetable has no end")
