"""What hints of a change are worth: sitemaps' lastmod, feeds.

A share r of the changes is signalled, and false signals come at rate f. After τ with k signals the
copy is like the page with probability

    e^{−(1−r)λτ} · (f / (rλ + f))^k

which is that of a page of rate (1 − r)λ not looked at for

    τ_eff = τ + k · ln((rλ + f)/f) / ((1 − r)λ)

so the index goes by that rate and time (idea: Busa-Fekete and others, 2025). Nothing is signalled:
r = 0, τ_eff = τ. As r → 1 and f → 0 a page is looked at when it signals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Signalling"]


@dataclass(frozen=True, slots=True)
class Signalling:
    """How a page's signals go with its changes."""

    share_told: float
    """r, below 1."""
    false_rate: float
    """f, above 0, per day."""

    def silent_rate(self, rate: float) -> float:
        """Of changes that no signal tells."""
        return (1 - self.share_told) * rate

    def effective_time(self, rate: float, since: float, signals: int) -> float:
        """Since the last look, as if no signals were known.

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
