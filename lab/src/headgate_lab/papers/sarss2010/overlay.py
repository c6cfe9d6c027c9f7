"""The overlay on measured round trips: coordinates of machines and hosts, and assignments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.features.grid.placement.batches import FloatArray, Owners
from headgate.features.grid.placement.can import Can
from headgate.features.grid.placement.coordinates import (
    Coordinates,
    bounded,
    nearest,
    placed_hosts,
    predicted,
    settled,
    weighed,
)
from headgate_lab.papers.sarss2010.round_trips import round_trips

__all__ = ["CRAWLERS", "MEASURED", "Assignment", "CanFigures", "Fit", "Overlay", "fit", "overlay"]

MEASURED = "12 measured + load"
CRAWLERS = {"planetlab490": 140, "seattle99": 40}
_PEERS = 32
_ROUNDS = 3000
_SAMPLES = 12
_LOAD_SHARE = 0.2
"""κ as a part of the median round trip."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Median relative error over pairs that no machine had sampled."""

    net: str
    with_height: float
    without: float


@dataclass(frozen=True, slots=True)
class Assignment:
    way: str
    mean_milliseconds: float
    most_over_mean: float
    """Load."""
    idle_share: float


@dataclass(frozen=True, slots=True)
class CanFigures:
    machines: int
    mean_hops: float
    theory_hops: float
    neighbours: float


@dataclass(frozen=True, slots=True)
class Overlay:
    net: str
    seed: int
    host_error: float
    """Median relative error of hosts placed from twelve round trips."""
    assignments: list[Assignment]
    can: CanFigures


def fit(net: str, seed: int) -> Fit:
    errors = [_held_out_error(round_trips(net), seed, height=height) for height in (True, False)]
    return Fit(net, *errors)


def _held_out_error(times: FloatArray, seed: int, *, height: bool) -> float:
    rng = np.random.default_rng(seed)
    peers = _peers(len(times), rng)
    points = settled(times, peers, _ROUNDS, rng, height=height)
    held_out = ~np.eye(len(times), dtype=bool)
    rows = np.arange(len(times))[:, None]
    held_out[rows, peers] = held_out[peers, rows] = False
    found, true = predicted(points, points)[held_out], times[held_out]
    return float(np.median(np.abs(found - true) / true))


def overlay(net: str, seed: int) -> Overlay:
    """Some machines crawl, the others stand for web hosts."""
    times = round_trips(net)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(times))
    crawlers, hosts = order[: CRAWLERS[net]], order[CRAWLERS[net] :]
    between, true = times[np.ix_(crawlers, crawlers)], times[np.ix_(hosts, crawlers)]
    rows = np.arange(len(hosts))
    machines = settled(between, _peers(len(crawlers), rng), _ROUNDS, rng)
    samples = np.array([rng.permutation(len(crawlers))[:_SAMPLES] for _ in hosts])
    seen = true[rows[:, None], samples]
    places = placed_hosts(machines, samples, seen, rng)
    expected = predicted(places, machines)
    measured = np.full(true.shape, np.inf)
    measured[rows[:, None], samples] = seen
    load = _LOAD_SHARE * float(np.median(seen))
    can = _can(machines, places)
    ways: dict[str, Owners] = {
        "random": rng.integers(len(crawlers), size=len(hosts)),
        "CAN zone owner": np.array([can.owner(place) for place in places.places]),
        "nearest by coordinates": nearest(expected),
        "coordinates, bounded load": bounded(expected),
        "coordinates + load": weighed(expected, load),
        MEASURED: weighed(measured, load),
        "clairvoyant + load": weighed(true, load),
    }
    assignments = [_assignment(way, owners, true) for way, owners in ways.items()]
    error = float(np.median(np.abs(expected - true) / true))
    return Overlay(net, seed, error, assignments, _can_figures(can, places, rng))


def _peers(machines: int, rng: np.random.Generator) -> Owners:
    """Each machine's, by lot; never itself."""
    others = np.array([rng.permutation(machines - 1)[:_PEERS] for _ in range(machines)])
    return others + (others >= np.arange(machines)[:, None])


def _assignment(way: str, owners: Owners, true: FloatArray) -> Assignment:
    loads = np.bincount(owners, minlength=true.shape[1])
    mean = float(true[np.arange(len(owners)), owners].mean())
    return Assignment(way, mean, float(loads.max() / loads.mean()), float((loads == 0).mean()))


def _can(machines: Coordinates, hosts: Coordinates) -> Can:
    all_places = np.concatenate((machines.places, hosts.places))
    low, high = all_places.min(axis=0), all_places.max(axis=0) + 1.0
    can = Can((float(low[0]), float(low[1])), (float(high[0]), float(high[1])))
    for machine, place in enumerate(machines.places):
        can.join(machine, place)
    return can


def _can_figures(can: Can, hosts: Coordinates, rng: np.random.Generator) -> CanFigures:
    machines = len(can.places)
    starts = rng.integers(machines, size=len(hosts.places))
    hops = [
        len(can.route(int(start), place)) - 1
        for start, place in zip(starts, hosts.places, strict=True)
    ]
    near = [len(can.neighbours(machine)) for machine in can.places]
    # (d/4)·n^(1/d), d = 2
    return CanFigures(machines, float(np.mean(hops)), machines**0.5 / 2, float(np.mean(near)))
