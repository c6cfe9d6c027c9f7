"""Round numbers for an axis: one, two or five of some power of ten apart."""

from __future__ import annotations

import math

__all__ = ["round_ticks"]


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Numbers from ``low`` to ``high``, a step more than ``most`` at the most.

    >>> round_ticks(0, 340_000, 5)
    [0.0, 100000.0, 200000.0, 300000.0]
    >>> round_ticks(520, 540, 5)
    [520.0, 525.0, 530.0, 535.0, 540.0]
    >>> round_ticks(0, 1632, 6)
    [0.0, 500.0, 1000.0, 1500.0]
    """
    if high <= low:
        return [low]
    magnitude = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(magnitude * k for k in (1, 2, 5, 10, 20) if (high - low) / (magnitude * k) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * k for k in range(first, last + 1)]
