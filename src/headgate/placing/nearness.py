"""Which machine a host's tasks go to, by round trips and load.

``round_trips`` has a row per host and a column per machine: measured, or predicted by coordinates;
infinite where nothing is known. Hosts come one after another, in their order. Balance counts before
distance: a page takes 200 ms of waiting and its transfer beside 30 ms of way.

- `nearest`: the least round trip. The middle of the net is overrun.
- `bounded`: the nearest of eight machines with less than 1.25 times their part, else of all.
- `weighed`: the least of round trip + κ · load/mean, the default."""

from __future__ import annotations

import numpy as np

from headgate.placing.partition import FloatArray, Owners

__all__ = ["bounded", "nearest", "weighed"]

_NEIGHBOURS = 8
_MOST_LOAD = 1.25


def nearest(round_trips: FloatArray) -> Owners:
    return np.asarray(np.argmin(round_trips, axis=1), dtype=np.int_)


def bounded(round_trips: FloatArray) -> Owners:
    hosts, machines = round_trips.shape
    room = np.full(machines, int(np.ceil(_MOST_LOAD * hosts / machines)))
    owners = np.zeros(hosts, dtype=np.int_)
    for host, row in enumerate(round_trips):
        order = np.argsort(row, kind="stable")
        free = order[room[order] > 0]
        near = order[:_NEIGHBOURS]
        near = near[room[near] > 0]
        owners[host] = near[0] if len(near) else free[0]
        room[owners[host]] -= 1
    return owners


def weighed(round_trips: FloatArray, load_milliseconds: float) -> Owners:
    """``load_milliseconds`` is κ: what being loaded as all in the mean counts for.

    >>> weighed(np.array([[1.0, 20.0], [1.0, 20.0]]), 25.0).tolist()
    [0, 1]
    """
    hosts, machines = round_trips.shape
    load = np.zeros(machines)
    owners = np.zeros(hosts, dtype=np.int_)
    for host, row in enumerate(round_trips):
        mean = max(hosts / machines, 1.0)
        owners[host] = np.argmin(row + load_milliseconds * load / mean)
        load[owners[host]] += 1
    return owners
