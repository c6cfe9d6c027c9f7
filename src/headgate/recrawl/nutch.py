"""Nutch's adaptive schedule: sooner if a page changed, later if not.

    interval ← interval · (1 − 0.2) if changed, · (1 + 0.2) if not, within [60 s, 365 days]

and if the time of the change is known (``sync_delta``), δ = look − change:

    interval ← max(interval, δ),   next look = this look − 0.2·δ + interval

(Apache Nutch, AdaptiveFetchSchedule, with its defaults). In equilibrium 45 % of the looks see a
change, since q ln 0.8 + (1 − q) ln 1.2 = 0: looks in proportion to changes, whatever the capacity.
"""

from __future__ import annotations

import numpy as np

from headgate.recrawl.arrays import BoolArray, FloatArray, as_floats

__all__ = ["FIRST_INTERVAL", "next_interval", "next_intervals", "next_look"]

FIRST_INTERVAL = 30.0
"""Days."""
_SHORTEST, _LONGEST = 60 / 86_400, 365.0
_LESS, _MORE, _SYNC = 0.2, 0.2, 0.2


def next_interval(interval: float, changed: bool) -> float:
    """Days until the next look.

    >>> next_interval(10.0, changed=True), next_interval(10.0, changed=False)
    (8.0, 12.0)
    """
    interval *= 1 - _LESS if changed else 1 + _MORE
    return min(max(interval, _SHORTEST), _LONGEST)


def next_intervals(intervals: FloatArray, changed: BoolArray) -> FloatArray:
    """The same of many pages."""
    after = intervals * np.where(changed, 1 - _LESS, 1 + _MORE)
    return as_floats(np.clip(after, _SHORTEST, _LONGEST))


def next_look(look: float, changed_at: float, interval: float) -> float:
    """When to look again, if the server said when the page changed.

    >>> next_look(look=100.0, changed_at=80.0, interval=8.0)
    116.0
    """
    delta = look - changed_at
    return look - _SYNC * delta + max(interval, delta)
