"""What the line is known to carry for us, and how patient that makes us about its delays."""

from __future__ import annotations

import math

import msgspec

__all__ = ["FullLine"]

FAST_RATE = 1_000_000.0
"""On lines that gave less when full, delays are allowed to be longer by the root of how much slower
they are: a lump of ours takes longer there in full proportion, but nobody's patience does."""
SLOWEST_PART = 0.3
"""Of the most that ever came: less than that, when the line is full, is others' doing."""


class FullLine(msgspec.Struct):
    """Rates in bytes per second."""

    most: float
    """That ever came."""
    rate: float = math.inf
    """What it gave us when it was last full; infinite: it never was."""

    @property
    def known(self) -> bool:
        return math.isfinite(self.rate)

    @property
    def patience(self) -> float:
        """On a slow line a few packets are many milliseconds: delays count for less there."""
        if not self.known:
            return 1.0
        line = max(min(self.rate, self.most), SLOWEST_PART * self.most)
        return math.sqrt(max(FAST_RATE / line, 1.0))
