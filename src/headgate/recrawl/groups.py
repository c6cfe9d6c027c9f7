"""Priority groups: channels that change about equally often share one interval.

As in SARSS (scale-adaptable recrawl strategies for a DHT-based distributed crawler): the manager
submits a task for each channel every interval of its group, and volunteers' machines carry out as
many as they can. FIXED leaves the intervals; IIR and ICR move them to the capacity seen. Group 0 is
the fastest; the paper's tables print rank K − 1 − p.

Counts are since the last reassignment of intervals; both strategies reassign when at least half of
the fastest group's channels have been updated more than five times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.recrawl.arrays import FloatArray, as_floats

__all__ = ["Counts", "Groups", "in_order", "observed_intervals", "reassignment_due"]

_UPDATES = 5
_SHARE = 0.5
_APART, _MOST_APART = 1.05, 3.0
"""σ and μ: least and largest ratio of a group's interval to that of the one before. The paper gives
no values; its own ratios are 2."""


@dataclass(frozen=True, slots=True)
class Groups:
    """``members[i]`` is the group of channel i; ``intervals[p]`` that of group p."""

    members: npt.NDArray[np.int_]
    intervals: FloatArray

    @property
    def sizes(self) -> FloatArray:
        return as_floats(np.bincount(self.members, minlength=len(self.intervals)))


@dataclass(slots=True)
class Counts:
    """Of each channel since the last reassignment."""

    submitted: FloatArray
    updated: FloatArray
    since: float

    @classmethod
    def none(cls, channels: int, now: float) -> Counts:
        return cls(np.zeros(channels), np.zeros(channels), now)


def reassignment_due(groups: Groups, counts: Counts) -> bool:
    fastest = counts.updated[groups.members == 0]
    return bool(len(fastest) and np.mean(fastest > _UPDATES) >= _SHARE)


def observed_intervals(groups: Groups, counts: Counts, now: float) -> FloatArray:
    """Mean time between updates of each group's channels, without those that have none; twice the
    group's interval if no channel has any."""
    seen = counts.updated > 0
    per_channel = (now - counts.since) / np.maximum(counts.updated, 1)
    size = len(groups.intervals)
    channels = np.bincount(groups.members[seen], minlength=size)
    sums = np.bincount(groups.members[seen], per_channel[seen], minlength=size)
    means = sums / np.maximum(channels, 1)
    return as_floats(np.where(channels > 0, means, 2 * groups.intervals))


def in_order(intervals: FloatArray) -> FloatArray:
    """Make intervals of slower groups longer, but not too much: the paper's checkPriorities.

    >>> in_order(np.array([60.0, 50.0, 900.0])).tolist()
    [60.0, 63.0, 189.0]
    """
    ordered = intervals.copy()
    for group in range(1, len(ordered)):
        before = ordered[group - 1]
        if ordered[group] < before:
            ordered[group] = _APART * before
        ordered[group] = min(ordered[group], _MOST_APART * before)
    return ordered
