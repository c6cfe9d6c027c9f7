"""A budget cut to what a byte quota lets pass.

It assumes that the budget is fully used until the quota of a period is exhausted; then nothing
passes until the next period. O(pieces + periods).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, timedelta
from itertools import pairwise

from headgate.model.quota import QuotaUse

__all__ = ["within_quota"]

Pieces = Sequence[tuple[float, float]]


def within_quota(pieces: Pieces, use: QuotaUse, horizon: float) -> list[tuple[float, float]]:
    """(seconds from now, rate) pieces, cut; from the first period that begins after ``horizon``
    seconds on, as they were.

    >>> from datetime import datetime
    >>> from zoneinfo import ZoneInfo
    >>> from headgate.model.quota import Quota
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
