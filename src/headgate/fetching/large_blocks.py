"""Memory of large bodies, given back to the system as soon as they are done with.

The C library maps large blocks by themselves, so that freeing one gives it back; but it learns from
the first that was freed to keep those up to 32 MB in its heaps, of which each thread has one.
Bodies of some megabytes that come, wait and go in other orders leave holes there: a quarter of all
that a crawl of large pages held (`tests/integration/strangers`).
"""

from __future__ import annotations

import contextlib
import ctypes

__all__ = ["give_large_blocks_back"]

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 1_000_000


def give_large_blocks_back() -> None:
    """From now on, in this process; nothing happens with a C library that knows no such thing."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
