"""Machines and hosts in a space where distance is round-trip time, and the nearest by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.features.grid.placement.batches import FloatArray, Owners, as_floats

__all__ = [
    "Coordinates",
    "bounded",
    "nearest",
    "placed_hosts",
    "predicted",
    "sample_round",
    "settled",
    "weighed",
]

_STEP = 0.25
_LEAST_HEIGHT = 0.1
_MOST_ERROR = 1.5
_PASSES = 40
_HALVED_AFTER = 15
_START = 1.0
"""Points begin within a millisecond of each other: the first samples need a direction."""


@dataclass(slots=True)
class Coordinates:
    """Vivaldi: machines and hosts in a space where distance is round-trip time (Dabek et al. 2004).

    A point is x in the plane and a height h, the way from the access line up to the net:

        d = |x_i − x_j| + h_i + h_j

    A sample of a round trip to j moves i by δ·(rtt − d) along the line between them, with δ = c·w
    and w = e_i/(e_i + e_j), so that who is surer of its place moves less; e follows the relative
    error. All machines sample at once here, each one peer a round. Web hosts do not take part: they
    are placed from a dozen connect times, with the machines fixed (`placed_hosts`). Times are
    milliseconds.
    """

    places: FloatArray
    """A row each."""
    heights: FloatArray
    errors: FloatArray

    @classmethod
    def start(cls, points: int, rng: np.random.Generator, *, height: bool = True) -> Coordinates:
        """``height``: False leaves the points in the plane."""
        heights = np.full(points, _LEAST_HEIGHT if height else 0.0)
        return cls(rng.normal(0, _START, (points, 2)), heights, np.ones(points))

    def select(self, chosen: npt.NDArray[np.int_]) -> Coordinates:
        return Coordinates(self.places[chosen], self.heights[chosen], self.errors[chosen])


def predicted(one: Coordinates, other: Coordinates) -> FloatArray:
    """Round trips of all pairs."""
    flat = np.linalg.norm(one.places[:, None] - other.places[None], axis=2)
    return as_floats(flat + one.heights[:, None] + other.heights[None])


def sample_round(
    points: Coordinates, peers: Coordinates, round_trips: FloatArray, step: float | None = None
) -> None:
    """Each point moves by the round trip to its peer, row by row; ``step`` replaces δ."""
    apart = points.places - peers.places
    flat = np.linalg.norm(apart, axis=1)
    lifted = points.heights + peers.heights
    distance = np.maximum(flat + lifted, 1e-9)
    weight = points.errors / (points.errors + peers.errors)
    error = np.abs(distance - round_trips) / round_trips
    moved = (_STEP * weight if step is None else step) * (round_trips - distance)
    known = np.where(flat[:, None] > 0, apart, [1.0, 0.0])
    points.places += (moved / distance)[:, None] * known
    # A height of 0 means that there are none: they then stay.
    least = np.where(points.heights > 0, _LEAST_HEIGHT, 0.0)
    risen = points.heights + moved * lifted / distance
    points.heights[:] = np.where(least > 0, np.maximum(risen, least), 0.0)
    eased = _STEP * weight
    points.errors[:] = np.minimum(error * eased + points.errors * (1 - eased), _MOST_ERROR)


def settled(
    round_trips: FloatArray,
    peers: npt.NDArray[np.int_],
    rounds: int,
    rng: np.random.Generator,
    *,
    height: bool = True,
) -> Coordinates:
    """Machines that each sample those of their row in ``peers``, by lot, for so many rounds."""
    machines = np.arange(len(round_trips))
    points = Coordinates.start(len(machines), rng, height=height)
    for _ in range(rounds):
        chosen = peers[machines, rng.integers(peers.shape[1], size=len(machines))]
        sample_round(points, points.select(chosen), round_trips[machines, chosen])
    return points


def placed_hosts(
    machines: Coordinates,
    measured: npt.NDArray[np.int_],
    round_trips: FloatArray,
    rng: np.random.Generator,
) -> Coordinates:
    """Hosts from the ``round_trips`` that the machines of their row in ``measured`` saw."""
    height = bool((machines.heights > 0).any())
    hosts = Coordinates.start(len(measured), rng, height=height)
    nearest = measured[np.arange(len(measured)), np.argmin(round_trips, axis=1)]
    hosts.places += machines.places[nearest]
    for turn in range(_PASSES):
        step = _STEP * 0.5 ** (turn / _HALVED_AFTER)
        for sample in rng.permutation(measured.shape[1]):
            peers = machines.select(measured[:, sample])
            sample_round(hosts, peers, round_trips[:, sample], step)
    return hosts


# Which machine a host's tasks go to, by round trips and load.
#
# ``round_trips`` has a row per host and a column per machine: measured, or predicted by
# coordinates; infinite where nothing is known. Hosts come one after another, in their order.
# Balance counts before distance: a page takes 200 ms of waiting and its transfer beside 30 ms of
# way.
#
# - `nearest`: the least round trip. The middle of the net is overrun.
# - `bounded`: the nearest of eight machines with less than 1.25 times their part, else of all.
# - `weighed`: the least of round trip + κ · load/mean, the default.


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
