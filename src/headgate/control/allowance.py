"""What may pass from now on, by timetable, user and quota, and what has passed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec

from headgate.crawling.progress import Progress
from headgate.model.budget import SLOT_SECONDS, Quota, QuotaUse
from headgate.scheduling.capacity import Capacity, within_quota

__all__ = ["Allowance", "Arrivals", "LineUse", "first_slot"]

_JUMP_SECONDS = 1.0
"""Tolerance for the clocks' divergence, and for the times at which the budget changes."""
_NO_LIMIT = Capacity.constant(1e12)
_AMPLE_BYTES = 2e9
"""With more left of a quota, an unlimited line stays unlimited."""
_LOOK_AHEAD_SECONDS = 5 * 7 * 86400.0
"""How far ahead a quota's periods are computed."""
_TAIL_SECONDS = 2.0
"""How long the bound by the last bytes of a quota is expected to hold."""

Unroll = Callable[[datetime], Capacity | None]
"""The budget from a moment on, without its quota; None: unlimited."""


@dataclass(slots=True)
class Allowance:
    """What may pass from now on: the timetable, the rate set by the user, and the quota.

    The planner counts seconds from the start of the run by a monotonic clock; a timetable goes by
    the wall clock. When the two diverge (the machine was suspended, the clock was set), the
    timetable is unrolled again from the present hour. A quota limits the budget to what is left of
    it, computed again at every look, since a line that is not fully used spends it later. What
    later periods will allow is computed once per period. A budget that turns at the same times as
    before has not changed.

    ``capacity`` counts from the start of the run; None: unlimited.
    """

    unroll: Unroll
    wall: float
    """Seconds since 1970 at the start of the run."""
    use: QuotaUse | None = None
    """The quota's use at the last look; None: there is no quota."""
    capacity: Capacity | None = field(init=False)
    _base: Capacity | None = field(init=False)
    _later: _LaterPeriods | None = None
    _reckoned: _Reckoned | None = None
    _fixed: bool = False
    """The user set a rate, which replaces the timetable."""

    def __post_init__(self) -> None:
        self._base = self.unroll(datetime.fromtimestamp(self.wall, UTC))
        self.capacity = self._within_quota(0.0)

    def fix(self, rate: Capacity | None) -> None:
        """The user's rate replaces the timetable, from the next look on."""
        self._base, self._fixed = rate, True

    def observe(self, now: float, wall: float, use: QuotaUse | None) -> bool:
        """Whether ``capacity`` has changed; ``now`` in seconds from the start of the run."""
        before, self.use = self.capacity, use
        if not self._fixed and abs(wall - now - self.wall) > _JUMP_SECONDS:
            self.wall = wall - now
            base = self.unroll(datetime.fromtimestamp(wall, UTC))
            self._base = None if base is None else base.delayed(now)
        if use is not None and self._as_foreseen(now, use):
            return False
        capacity = self._within_quota(now)
        if capacity is before or _alike(capacity, before, now):
            return False
        self.capacity = capacity
        return True

    def _as_foreseen(self, now: float, use: QuotaUse) -> bool:
        """Whether the quota was used as expected since it was last computed, within one second's
        worth: then it will last as long."""
        then, capacity = self._reckoned, self.capacity
        if then is None or capacity is None or then.base is not self._base:
            return False
        if use.quota != then.use.quota:
            return False
        base_rate = _NO_LIMIT.peak if then.base is None else then.base.rate_at(now)
        if use.spent != then.use.spent or (not use.spent and use.rate_bound < base_rate):
            return False
        foreseen = float(capacity.bytes_by(now) - capacity.bytes_by(then.at))
        seconds = (use.moment - then.use.moment) / timedelta(seconds=1)
        off = abs(use.used - then.use.used - foreseen)
        return off <= base_rate * _JUMP_SECONDS and abs(seconds - now + then.at) < _JUMP_SECONDS

    def _within_quota(self, now: float) -> Capacity | None:
        use, base = self.use, self._base
        if use is None or (base is None and use.left > _AMPLE_BYTES):
            return base
        self._reckoned = _Reckoned(now, base, use)
        base = base or _NO_LIMIT
        reset = (use.resets - use.moment) / timedelta(seconds=1)
        if self._later is None or not self._later.holds(base, now + reset, use):
            self._later = _LaterPeriods.compute(base, now + reset, use)
        rest = [(0.0, 0.0)] if use.spent else base.from_time(now).before(reset)
        cut = within_quota(_slow_at_the_end(rest, use), use, 0.0)
        this_period = Capacity.from_pieces(
            [*(piece for piece in cut if piece[0] < reset), (reset, 1.0)]
        )
        return this_period.until(reset, self._later.capacity).delayed(now)


class _Reckoned(msgspec.Struct, frozen=True):
    """When the capacity was last computed, for which budget and use of the quota."""

    at: float
    base: Capacity | None
    use: QuotaUse


class _LaterPeriods(msgspec.Struct, frozen=True):
    """What a quota allows after this period."""

    base: Capacity
    begin: float
    """In seconds from the start of the run."""
    quota: Quota
    resets: datetime
    """When they begin: periods are of different lengths."""
    capacity: Capacity

    @classmethod
    def compute(cls, base: Capacity, begin: float, use: QuotaUse) -> _LaterPeriods:
        then = QuotaUse(use.quota, 0.0, use.resets)
        pieces = base.from_time(begin).pieces
        later = Capacity.from_pieces(within_quota(pieces, then, _LOOK_AHEAD_SECONDS))
        return cls(base, begin, quota=use.quota, resets=use.resets, capacity=later)

    def holds(self, base: Capacity, begin: float, use: QuotaUse) -> bool:
        same_clock = base is self.base and abs(begin - self.begin) < _JUMP_SECONDS
        return same_clock and (use.quota, use.resets) == (self.quota, self.resets)


def _alike(capacity: Capacity | None, before: Capacity | None, now: float) -> bool:
    """Whether two budgets change at the same times to the same rates, from ``now`` on."""
    if capacity is None or before is None:
        return False
    return capacity.from_time(now).is_near(before.from_time(now), _JUMP_SECONDS)


def _slow_at_the_end(pieces: list[tuple[float, float]], use: QuotaUse) -> list[tuple[float, float]]:
    """With the present rate limited by the last bytes of the quota."""
    (_, rate), *later = pieces
    bound = use.rate_bound
    if bound >= rate:
        return pieces
    soon = [piece for piece in later if piece[0] <= _TAIL_SECONDS]
    after = soon[-1][1] if soon else rate
    return [(0.0, bound), (_TAIL_SECONDS, after), *later[len(soon) :]]


class Arrivals:
    """Bytes of each site since its last report, so that every byte is counted once.

    For running sites; a site that has ended is forgotten with its last report.
    """

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, int, int]] = {}
        """The visit, its restarts, and the bytes counted in it so far."""

    def fresh(self, report: Progress) -> int:
        """Wire bytes since the last report of the site. After a restart they count from its
        beginning: what it found stored was counted before, or in another leg."""
        # Called for thousands of sites, several times a second: so no further calls.
        came = report.wire_bytes + report.under_way_bytes - report.earlier_wire_bytes
        now = report.visit, report.restarts, came
        before = self._counted.get(report.site)
        if report.ended is not None:  # reported once; the site may come again
            self._counted.pop(report.site, None)
        elif now == before:
            return 0
        else:
            self._counted[report.site] = now
        if before is None or before[:2] != now[:2]:
            return came
        return max(came - before[2], 0)


def first_slot(quota: Quota, wall: float) -> int:
    """The slot in which the quota's period of an instant began."""
    return _Period.at(quota, wall).first_slot


def _slot(wall: float) -> int:
    return math.floor(wall / SLOT_SECONDS)


class _Period(msgspec.Struct, frozen=True):
    """A period of a quota, in seconds since 1970; cached, as it takes long to compute."""

    quota: Quota
    began: float
    resets: float

    @classmethod
    def at(cls, quota: Quota, wall: float) -> _Period:
        moment = datetime.fromtimestamp(wall, UTC)
        return cls(quota, quota.began(moment).timestamp(), quota.resets(moment).timestamp())

    def holds(self, quota: Quota, wall: float) -> bool:
        return quota is self.quota and self.began <= wall < self.resets

    @property
    def first_slot(self) -> int:
        return _slot(self.began)


class LineUse(msgspec.Struct):
    """Line use: wire bytes over time, for quotas.

    Counted by quarters of an hour of wall-clock time and stored in the catalog, so that the use of
    a quota with any period in any zone can be computed over all runs of a collection. Pure: the
    caller reports bytes, and saves what `unsaved` returns.

    ``slots`` has the bytes of earlier runs and this one; ``_fresh`` those not saved yet.
    """

    slots: Counter[int]
    _fresh: Counter[int] = msgspec.field(default_factory=Counter)
    _counted: Arrivals = msgspec.field(default_factory=Arrivals)
    _period: _Period | None = None
    """The period of the last call of `of_quota`."""

    @classmethod
    def from_saved(cls, saved: Mapping[int, int]) -> LineUse:
        return cls(Counter(saved))

    def observe(self, reports: Sequence[Progress], wall: float) -> None:
        """Count what came since the last look."""
        fresh = sum(map(self._counted.fresh, reports))
        if fresh:
            self.add(fresh, wall)

    def add(self, bytes_: int, wall: float) -> None:
        self.slots[_slot(wall)] += bytes_
        self._fresh[_slot(wall)] += bytes_

    def quota_use(self, quota: Quota, wall: float) -> QuotaUse:
        """The use of a quota. Slots in the future count, too, if the clock was set back."""
        if self._period is None or not self._period.holds(quota, wall):
            self._period = _Period.at(quota, wall)
        first = self._period.first_slot
        used = sum(bytes_ for slot, bytes_ in self.slots.items() if slot >= first)
        return QuotaUse(quota, used, datetime.fromtimestamp(wall, UTC))

    def unsaved(self) -> dict[int, int]:
        """Bytes by slot since the last call."""
        fresh, self._fresh = dict(self._fresh), Counter()
        return fresh
