"""LPT, longest processing time first, on machines of unequal speed: each site, the longest first,
goes where it would end first.

At most 2m/(m + 1) times the optimum (Gonzalez, Ibarra and Sahni 1977), and 5/3 for any m; on equal
machines 4/3 − 1/(3m) (Graham 1969). O(n · m)."""

from __future__ import annotations

import numpy as np

from headgate.placing.partition import FloatArray, Owners, longest_first

__all__ = ["lpt"]


def lpt(work: FloatArray, speeds: FloatArray) -> Owners:
    """
    >>> lpt(np.array([3.0, 3.0, 2.0]), np.array([1.0, 2.0])).tolist()
    [1, 0, 1]
    """
    owners = np.zeros(len(work), dtype=np.int_)
    ends = np.zeros(len(speeds))
    for site in longest_first(work):
        would_end = ends + work[site] / speeds
        machine = int(np.argmin(would_end))
        owners[site], ends[machine] = machine, would_end[machine]
    return owners
