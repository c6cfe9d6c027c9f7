"""Local search: as long as it helps, the best move or swap away from the machine that ends last.

A site of the last machine goes to another, or changes places with one of another's; of all such
steps the one is taken after which the later of the two machines ends first. Ends at a partition
that no single step betters. O(n²) a step."""

from __future__ import annotations

import numpy as np

from headgate.placing.partition import FloatArray, Owners, loads

__all__ = ["local_search"]

_MOST_STEPS = 10_000
_GAIN = 1e-12
"""Relative: less is rounding."""


def local_search(owners: Owners, work: FloatArray, speeds: FloatArray) -> Owners:
    """A partition that ends no later.

    >>> local_search(np.array([0, 0, 1, 1]), np.array([4.0, 3, 2, 1]), np.ones(2)).tolist()
    [1, 0, 0, 1]
    """
    owners = owners.copy()
    for _ in range(_MOST_STEPS):
        if not _step(owners, work, speeds):
            break
    return owners


def _step(owners: Owners, work: FloatArray, speeds: FloatArray) -> bool:
    """Whether the last machine of those that end now ends sooner."""
    ends = loads(owners, work, speeds)
    last = int(np.argmax(ends))
    own, others = np.flatnonzero(owners == last), np.flatnonzero(owners != last)
    machines = np.delete(np.arange(len(speeds)), last)
    if not len(own) or not len(machines):
        return False
    # What may come back for a site: nothing (a move to any machine), or a site of another machine.
    back = np.concatenate((np.zeros(len(machines)), work[others]))
    partner = np.concatenate((machines, owners[others]))
    given = work[own][:, None] - back[None, :]
    later = np.maximum(ends[last] - given / speeds[last], ends[partner] + given / speeds[partner])
    best = int(np.argmin(later))
    if later.flat[best] >= ends[last] * (1 - _GAIN):
        return False
    site, column = divmod(best, len(back))
    owners[own[site]] = partner[column]
    if column >= len(machines):
        owners[others[column - len(machines)]] = last
    return True
