"""How much of what is not known is kept a reserve for."""

from __future__ import annotations

import msgspec

__all__ = ["NO_RESERVE", "WHOLE_RESERVE", "Reserve"]


class Reserve(msgspec.Struct, frozen=True):
    """Parts from 0, what is likely, to 1, the worst that is thought of."""

    size: float
    """Sites larger than thought; below 0 smaller, down to -1: the best that is thought of."""
    time: float
    """A little time before each deadline."""
    speed: float
    """Servers slower than thought."""


NO_RESERVE = Reserve(0.0, 0.0, 0.0)
WHOLE_RESERVE = Reserve(1.0, 1.0, 1.0)
