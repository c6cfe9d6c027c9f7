"""Signals of change, such as lastmod of sitemaps and feeds.

A share r of the changes is signalled, and false signals come at rate f. After τ with k signals the
copy is fresh with probability

    e^{−(1−r)λτ} · (f / (rλ + f))^k

which is that of a page of rate (1 − r)λ not fetched for

    τ_eff = τ + k · ln((rλ + f)/f) / ((1 − r)λ)

so the index uses that rate and time (idea: Busa-Fekete and others, 2025). Without signals, r = 0
and τ_eff = τ. As r → 1 and f → 0 a page is fetched when it signals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Signalling"]


@dataclass(frozen=True, slots=True)
class Signalling:
    """How a page's signals relate to its changes."""

    share_told: float
    """r, below 1."""
    false_rate: float
    """f, above 0, per day."""

    def silent_rate(self, rate: float) -> float:
        """The rate of changes without a signal."""
        return (1 - self.share_told) * rate

    def effective_time(self, rate: float, since: float, signals: int) -> float:
        """Time since the last look that is equivalent without signals.

        >>> Signalling(0.0, 1.0).effective_time(2.0, 5.0, signals=3)
        5.0
        >>> Signalling(0.5, 0.1).effective_time(2.0, 0.0, signals=1) > 2
        True
        """
        told = self.share_told * rate + self.false_rate
        return since + signals * math.log(told / self.false_rate) / self.silent_rate(rate)

    def probability_fresh(self, rate: float, since: float, signals: int) -> float:
        effective = self.effective_time(rate, since, signals)
        return math.exp(-self.silent_rate(rate) * effective)
