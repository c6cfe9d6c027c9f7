"""Returns the memory of large bodies to the system as soon as they are freed.

The C library maps large blocks separately, so that freeing one returns it; but after the first was
freed, it raises its threshold and keeps blocks up to 32 MB in the heaps of its threads. Bodies of
some megabytes that are freed in another order leave holes there: a quarter of all memory in a crawl
of large pages (`tests/integration/strangers`).
"""

from __future__ import annotations

import contextlib
import ctypes

__all__ = ["give_large_blocks_back"]

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 1_000_000


def give_large_blocks_back() -> None:
    """From now on, in this process; does nothing if the C library has no such setting."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
