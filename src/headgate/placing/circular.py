"""Round robin dealt beforehand: the sites in their order, one to each machine, and again.

What the words say; BeeBot-EDG's "round robin" is a pull (`pull`): a circular deal of 99 sites to
three machines is the same forwards and backwards, and its two orders took 3:30 and 6:25 hours."""

from __future__ import annotations

import numpy as np

from headgate.placing.partition import FloatArray, Owners

__all__ = ["circular"]


def circular(work: FloatArray, speeds: FloatArray) -> Owners:
    """
    >>> circular(np.ones(5), np.ones(2)).tolist()
    [0, 1, 0, 1, 0]
    """
    return np.arange(len(work)) % len(speeds)
