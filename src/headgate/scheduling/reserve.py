"""How much reserve is kept for uncertainty."""

from __future__ import annotations

import msgspec

__all__ = ["NO_RESERVE", "WHOLE_RESERVE", "Reserve"]


class Reserve(msgspec.Struct, frozen=True):
    """Fractions from 0, the likely case, to 1, the worst case."""

    size: float
    """Sites larger than likely; below 0 smaller, down to -1: the best case."""
    time: float
    """A little time before each deadline."""
    speed: float
    """Servers slower than likely."""


NO_RESERVE = Reserve(0.0, 0.0, 0.0)
WHOLE_RESERVE = Reserve(1.0, 1.0, 1.0)
