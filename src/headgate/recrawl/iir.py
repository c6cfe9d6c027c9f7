"""IIR, independent interval reassignment (SARSS): each priority group follows its own updates.

    T_p ← mean time between updates of the group's channels,
          times (1 − δ) if the group's success rate rose since the last time

then the groups are put in order (`groups.in_order`). The success rate is of each group by itself;
the paper's code goes on counting from group to group, which is taken for a slip. With success p the
new interval is T/p, lowered about every other time, so the strategy rests at p* = √(1 − δ) whatever
the capacity: below, intervals grow without end. Above it by as much as the mean of the channels'
intervals is above T/p, for a mean of quotients exceeds the quotient of the sums (`by_sums`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headgate.recrawl.arrays import FloatArray, as_floats
from headgate.recrawl.groups import Counts, Groups, in_order, observed_intervals

__all__ = ["Iir", "by_sums"]


def by_sums(groups: Groups, counts: Counts, now: float) -> FloatArray:
    """The mean time between updates of each group's channels, by sums over the group."""
    updated = np.bincount(groups.members, counts.updated, minlength=len(groups.intervals))
    seen = groups.sizes * (now - counts.since) / np.maximum(updated, 1)
    return as_floats(np.where(updated > 0, seen, 2 * groups.intervals))


@dataclass(slots=True)
class Iir:
    delta: float = 0.5
    success: tuple[float, ...] = ()
    """Of the groups at the last reassignment; empty: there was none."""
    observed: Callable[[Groups, Counts, float], FloatArray] = observed_intervals

    def reassigned(self, groups: Groups, counts: Counts, now: float) -> Groups:
        """The same groups with new intervals."""
        size = len(groups.intervals)
        submitted = np.bincount(groups.members, counts.submitted, minlength=size)
        updated = np.bincount(groups.members, counts.updated, minlength=size)
        success = updated / np.maximum(submitted, 1)
        last = np.array(self.success) if len(self.success) == size else np.zeros(size)
        self.success = tuple(success.tolist())
        intervals = self.observed(groups, counts, now)
        encouraged = np.where(success > last, intervals * (1 - self.delta), intervals)
        return Groups(groups.members, in_order(encouraged))
