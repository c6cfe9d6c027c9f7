"""What the line is known to carry for us, and how much delay is tolerated on it."""

from __future__ import annotations

import math

import msgspec

__all__ = ["FullLine"]

FAST_RATE = 1_000_000.0
"""On slower lines, longer delays are tolerated, by the square root of how much slower they are: a
burst of ours takes longer in full proportion, but people's patience does not grow as much."""
SLOWEST_PART = 0.3
"""As a part of the highest rate ever: if a full line gives us less, others use it."""


class FullLine(msgspec.Struct):
    """Rates in bytes per second."""

    most: float
    """Highest rate ever seen."""
    rate: float = math.inf
    """Our rate when the line was last full; infinite: it never was."""

    @property
    def known(self) -> bool:
        return math.isfinite(self.rate)

    @property
    def patience(self) -> float:
        """Factor on tolerated delays: on a slow line, a few packets take many milliseconds."""
        if not self.known:
            return 1.0
        line = max(min(self.rate, self.most), SLOWEST_PART * self.most)
        return math.sqrt(max(FAST_RATE / line, 1.0))
