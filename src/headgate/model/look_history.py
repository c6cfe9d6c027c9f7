"""The last 32 looks at a page, in two bytes each.

`rates` needs two things of a look: the time since the one before, and whether the page had
changed. The highest of sixteen bits is the second, the others the logarithm of the first, to
0.07 %. Rates are computed from it when needed, so another grid or prior needs no other history.

0 means no look, so that histories of many pages can be rows of one table (`page_histories`).

Nothing here needs NumPy, so that storing pages does not import it.
"""

from __future__ import annotations

import math
import struct

__all__ = ["CHANGED", "MOST_LOOKS", "STEPS", "gaps_of", "with_look"]

MOST_LOOKS = 32
CHANGED = 0x8000
"""The bit of a look that found a change."""
STEPS = 1057.0
"""Steps per octave: 31 octaves, from one second to 68 years, fit into fifteen bits."""
_LONGEST_SECONDS = 2.0**30.9


def with_look(history: bytes, gap_seconds: float, changed: bool) -> bytes:
    """Append a look; the newest is the last.

    >>> history = with_look(with_look(b"", 86_400.0, False), 3_600.0, True)
    >>> [(round(gap), changed) for gap, changed in gaps_of(history)]
    [(86373, False), (3600, True)]
    """
    gap = min(max(gap_seconds, 1.0), _LONGEST_SECONDS)
    code = max(round(math.log2(gap) * STEPS), 1) | (CHANGED if changed else 0)
    return (history + struct.pack("<H", code))[-2 * MOST_LOOKS :]


def gaps_of(history: bytes) -> list[tuple[float, bool]]:
    """Seconds since the look before, and whether the page had changed; the oldest first."""
    codes = struct.unpack(f"<{len(history) // 2}H", history[: len(history) // 2 * 2])
    return [(2.0 ** ((code & ~CHANGED) / STEPS), bool(code & CHANGED)) for code in codes]
