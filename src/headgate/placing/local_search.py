"""Local search: as long as it helps, the best move or swap away from the machine that ends last.

A site of the last machine goes to another, or changes places with one of another's; of all such
steps the one is taken after which the later of the two machines ends first. Ends at a partition
that no single step betters, or that is as good as any.

With another machine there is an amount of work that, given away, would make both end at the same
time. The best step gives nearly that; so for each site only the two that may come back are looked
at whose difference to it is next to that amount. O(n log n) a step."""

from __future__ import annotations

import numpy as np

from headgate.placing.partition import ENOUGH, FloatArray, Owners, loads, lower_bound

__all__ = ["local_search"]

_MOST_STEPS = 10_000
_GAIN = 1e-12
"""Relative: less is rounding."""


def local_search(owners: Owners, work: FloatArray, speeds: FloatArray) -> Owners:
    """A partition that ends no later.

    >>> local_search(np.array([0, 0, 1, 1]), np.array([4.0, 3, 2, 1]), np.ones(2)).tolist()
    [0, 1, 1, 0]
    """
    order = np.argsort(work, kind="stable")
    found, work_there = owners[order], work[order]
    good = lower_bound(work, speeds) * ENOUGH
    for _ in range(_MOST_STEPS):
        if not _step(found, work_there, speeds, good):
            break
    owners = owners.copy()
    owners[order] = found
    return owners


def _step(owners: Owners, work: FloatArray, speeds: FloatArray, good: float) -> bool:
    """Whether the last machine of those that end now ends sooner. ``work`` is in rising order."""
    ends = loads(owners, work, speeds)
    last = int(np.argmax(ends))
    if ends[last] <= good or len(speeds) == 1:
        return False
    pairs = (_best_with(machine, last, owners, work, speeds, ends) for machine in range(len(ends)))
    end, site, back, machine = min(pair for pair in pairs if pair is not None)
    if end >= ends[last] * (1 - _GAIN):
        return False
    owners[site] = machine
    if back >= 0:
        owners[back] = last
    return True


def _best_with(
    machine: int, last: int, owners: Owners, work: FloatArray, speeds: FloatArray, ends: FloatArray
) -> tuple[float, int, int, int] | None:
    """When the later of the two would end, the site that goes, the one that comes back (-1: none),
    and the machine."""
    if machine == last:
        return None
    own, theirs = np.flatnonzero(owners == last), np.flatnonzero(owners == machine)
    back = np.concatenate(([0.0], work[theirs]))
    even = (ends[last] - ends[machine]) / (1 / speeds[last] + 1 / speeds[machine])
    above = np.searchsorted(back, work[own] - even)
    partner = np.concatenate((above - 1, above)).clip(0, len(theirs))
    given = np.tile(work[own], 2) - back[partner]
    later = np.maximum(ends[last] - given / speeds[last], ends[machine] + given / speeds[machine])
    best = int(np.argmin(later))
    comes = int(theirs[partner[best] - 1]) if partner[best] else -1
    return float(later[best]), int(own[best % len(own)]), comes, machine
