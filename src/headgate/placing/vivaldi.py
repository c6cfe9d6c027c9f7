"""Vivaldi: machines and hosts in a space where distance is round-trip time (Dabek et al. 2004).

A point is x in the plane and a height h, the way from the access line up to the net:

    d = |x_i − x_j| + h_i + h_j

A sample of a round trip to j moves i by δ·(rtt − d) along the line between them, with δ = c·w and
w = e_i/(e_i + e_j), so that who is surer of its place moves less; e follows the relative error.
All machines sample at once here, each one peer a round. Web hosts do not take part: they are placed
from a dozen connect times, with the machines fixed (`placed_hosts`). Times are milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.placing.partition import FloatArray, as_floats

__all__ = ["Coordinates", "placed_hosts", "predicted", "sample_round", "settled"]

_STEP = 0.25
_LEAST_HEIGHT = 0.1
_MOST_ERROR = 1.5
_PASSES = 40
_HALVED_AFTER = 15
_START = 1.0
"""Points begin within a millisecond of each other: the first samples need a direction."""


@dataclass(slots=True)
class Coordinates:
    places: FloatArray
    """A row each."""
    heights: FloatArray
    errors: FloatArray

    @classmethod
    def start(cls, points: int, rng: np.random.Generator, *, height: bool = True) -> Coordinates:
        """``height``: False leaves the points in the plane."""
        heights = np.full(points, _LEAST_HEIGHT if height else 0.0)
        return cls(rng.normal(0, _START, (points, 2)), heights, np.ones(points))

    def of(self, chosen: npt.NDArray[np.int_]) -> Coordinates:
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
        sample_round(points, points.of(chosen), round_trips[machines, chosen])
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
            peers = machines.of(measured[:, sample])
            sample_round(hosts, peers, round_trips[:, sample], step)
    return hosts
