"""ICR, interrelated interval coordinated reassignment (SARSS): one capacity, fixed ratios.

With n_p channels in group p, A_p the group's first interval over that of the fastest, and the
updates seen per time as the capacity C,

    T_0 = Σ_p (n_p / A_p) / C,    T_p = T_0 · A_p

T_0 is lowered by δ where the success rate of all groups together rose, and the groups are put in
order. The equations of the paper are lost in its text and rebuilt; C is counted over all channels,
since a mean of intervals would overstate it."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.recrawl.arrays import FloatArray
from headgate.recrawl.groups import Counts, Groups, in_order

__all__ = ["Icr"]


@dataclass(slots=True)
class Icr:
    first_intervals: FloatArray
    """Of the groups at the start: their ratios are kept."""
    delta: float = 0.5
    success: tuple[float, ...] = ()
    """Of all groups together at the last reassignment; empty: there was none."""

    def reassigned(self, groups: Groups, counts: Counts, now: float) -> Groups:
        """The same groups with new intervals."""
        ratios = self.first_intervals / self.first_intervals[0]
        updates = float(counts.updated.sum())
        capacity = updates / (now - counts.since)
        fastest = float((groups.sizes / ratios).sum()) / capacity
        success = updates / max(float(counts.submitted.sum()), 1.0)
        if (success,) > self.success:
            fastest *= 1 - self.delta
        self.success = (success,)
        return Groups(groups.members, in_order(fastest * ratios))
