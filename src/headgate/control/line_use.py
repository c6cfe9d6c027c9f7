"""Line use: wire bytes over time, for quotas.

Counted by quarters of an hour of wall-clock time and stored in the catalog, so that the use of a
quota with any period in any zone can be computed over all runs of a collection. Pure: the caller
reports bytes, and saves what `unsaved` returns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from headgate.control.arrivals import Arrivals
from headgate.crawling.progress import Progress
from headgate.model.quota import SLOT_SECONDS, Quota, QuotaUse

__all__ = ["LineUse", "first_slot"]


def first_slot(quota: Quota, wall: float) -> int:
    """The slot in which the quota's period of an instant began."""
    return _Period.of(quota, wall).first_slot


def _slot(wall: float) -> int:
    return math.floor(wall / SLOT_SECONDS)


class _Period(msgspec.Struct, frozen=True):
    """A period of a quota, in seconds since 1970; cached, as it takes long to compute."""

    quota: Quota
    began: float
    resets: float

    @classmethod
    def of(cls, quota: Quota, wall: float) -> _Period:
        moment = datetime.fromtimestamp(wall, UTC)
        return cls(quota, quota.began(moment).timestamp(), quota.resets(moment).timestamp())

    def holds(self, quota: Quota, wall: float) -> bool:
        return quota is self.quota and self.began <= wall < self.resets

    @property
    def first_slot(self) -> int:
        return _slot(self.began)


class LineUse(msgspec.Struct):
    """``slots`` has the bytes of earlier runs and this one; ``_fresh`` those not saved yet."""

    slots: Counter[int]
    _fresh: Counter[int] = msgspec.field(default_factory=Counter)
    _counted: Arrivals = msgspec.field(default_factory=Arrivals)
    _period: _Period | None = None
    """The period of the last call of `of_quota`."""

    @classmethod
    def of(cls, saved: Mapping[int, int]) -> LineUse:
        return cls(Counter(saved))

    def look(self, reports: Sequence[Progress], wall: float) -> None:
        """Count what came since the last look."""
        fresh = sum(map(self._counted.fresh, reports))
        if fresh:
            self.add(fresh, wall)

    def add(self, bytes_: int, wall: float) -> None:
        self.slots[_slot(wall)] += bytes_
        self._fresh[_slot(wall)] += bytes_

    def of_quota(self, quota: Quota, wall: float) -> QuotaUse:
        """The use of a quota. Slots in the future count, too, if the clock was set back."""
        if self._period is None or not self._period.holds(quota, wall):
            self._period = _Period.of(quota, wall)
        first = self._period.first_slot
        used = sum(bytes_ for slot, bytes_ in self.slots.items() if slot >= first)
        return QuotaUse(quota, used, datetime.fromtimestamp(wall, UTC))

    def unsaved(self) -> dict[int, int]:
        """Bytes by slot since the last call."""
        fresh, self._fresh = dict(self._fresh), Counter()
        return fresh
