"""Pages that are another one at every look: counters, tokens, adverts.

A page that changed in at least 29 of its last 30 looks, most of them made shortly after the one
before, is *flapping*. It would be looked at as often as allowed and never be fresh, so it counts as
one that changes once a day. *Shortly* is within an hour, or within four times the site's
``min_interval`` where that is shorter; once a day is scaled alike.

The last 30 looks are one number: bits 0 to 29 whether the page had changed, the newest lowest; bits
30 to 59 whether the look came shortly after the one before; the upper four bits are not used.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headgate.recrawl.arrays import BoolArray

__all__ = ["is_flapping", "with_look"]

_LOOKS = 30
_CHANGED = 29
_MASK = (1 << _LOOKS) - 1

Recent = npt.NDArray[np.uint64]


def with_look(recent: Recent, changed: BoolArray, shortly: BoolArray) -> Recent:
    """After one more look at each page."""
    mask, width = np.uint64(_MASK), np.uint64(_LOOKS)
    changes = ((recent & mask) << np.uint64(1) | changed.astype(np.uint64)) & mask
    gaps = ((recent >> width & mask) << np.uint64(1) | shortly.astype(np.uint64)) & mask
    return np.asarray(changes | gaps << width, dtype=np.uint64)


def is_flapping(recent: Recent) -> BoolArray:
    """Of each page.

    >>> seen = np.zeros(2, np.uint64)
    >>> for look in range(30):
    ...     seen = with_look(seen, np.array([True, look % 2 == 0]), np.array([True, True]))
    >>> is_flapping(seen).tolist()
    [True, False]
    """
    mask, width = np.uint64(_MASK), np.uint64(_LOOKS)
    changed = np.bitwise_count(recent & mask)
    shortly = np.bitwise_count(recent >> width & mask)
    return np.asarray((changed >= _CHANGED) & (2 * shortly > _LOOKS), dtype=np.bool_)
