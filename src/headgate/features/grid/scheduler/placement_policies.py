"""Which of the next tasks a node gets: by pull, by distance, or by lists dealt beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import fmean, median
from typing import Protocol

import numpy as np

from headgate.features.grid.placement.batches import (
    FloatArray,
    Owners,
    as_floats,
    best_batch,
    circular,
    pechnikov,
)
from headgate.features.grid.placement.can import Can
from headgate.features.grid.placement.coordinates import Coordinates, predicted, sample_round
from headgate.features.grid.scheduler.records import BoardTask, NodeRow
from headgate.model.grid import Mode

__all__ = [
    "ByDistance",
    "ByLists",
    "ByZone",
    "Connects",
    "CoordinateSpace",
    "GridView",
    "PlacementPolicy",
    "StartBarrier",
]


# Placement: which of the next tasks a node gets, by distance or by lists.
#
# `PlacementPolicy` is the port: the board passes the tasks of free hosts, in order. By distance
# (`ByDistance`) a node always gets a task, for the sake of balance: of the next few, the one for
# which it is the best of all nodes, or the least bad. By lists
# (`features.grid.scheduler.placement_policies`) each task belongs to one node and no other gets it.


_LOAD_WEIGHT = 0.2
"""What the mean load counts for, as a part of the median distance."""
_FEW = 16
"""Number of tasks to choose from."""

Connects = Mapping[str, Mapping[str, float]]
"""Seconds to connect, by host and node."""


class GridView(Protocol):
    """The grid as seen by placement policies."""

    def here(self) -> Mapping[str, NodeRow]:
        """Connected nodes, by name."""
        ...

    def held(self, node: str) -> int:
        """Number of tasks that a node has."""
        ...

    def waiting(self) -> Sequence[BoardTask]: ...

    def waits(self, task: int) -> bool: ...

    def came(self) -> int:
        """How often a task began to wait; it changes when there is one more."""
        ...

    def connects(self) -> Connects: ...


class PlacementPolicy(Protocol):
    def choose(self, node: str, tasks: Iterable[BoardTask]) -> BoardTask | None:
        """The task for this node; None: all are for others."""
        ...


@dataclass(slots=True)
class ByDistance:
    """``distances`` are in seconds, by host and node; an unknown one is the mean of the node's
    group, or of all nodes."""

    grid: GridView
    distances: Callable[[], Connects]

    def choose(self, node: str, tasks: Iterable[BoardTask]) -> BoardTask | None:
        known = self.distances()
        tasks = list(islice(tasks, _FEW if known else 1))
        if not tasks:
            return None
        ways = [known.get(task.host, {}) for task in tasks]
        if tasks[0].due is not None or not any(ways):
            return tasks[0]
        nodes = self.grid.here()
        if len(nodes) < 2 or node not in nodes:
            return tasks[0]
        loads = self._loads(nodes)
        regrets = [self._regret(node, way, nodes, loads) for way in ways]
        return tasks[regrets.index(min(regrets))]

    def _regret(
        self,
        node: str,
        known: Mapping[str, float],
        nodes: Mapping[str, NodeRow],
        loads: Mapping[str, float],
    ) -> float:
        """How much worse the node is than the best one, load included; 0: it is the best, or
        nothing is known."""
        if not known:
            return 0.0
        weight = _LOAD_WEIGHT * median(known.values())
        scores = {name: _distance(name, known, nodes) + weight * loads[name] for name in nodes}
        return scores[node] - min(scores.values())

    def _loads(self, nodes: Mapping[str, NodeRow]) -> dict[str, float]:
        held = {name: self.grid.held(name) / max(row.slots, 1) for name, row in nodes.items()}
        mean = fmean(held.values()) or 1.0
        return {name: count / mean for name, count in held.items()}


def _distance(node: str, known: Mapping[str, float], nodes: Mapping[str, NodeRow]) -> float:
    if node in known:
        return known[node]
    group = nodes[node].group
    near = [
        seconds for name, seconds in known.items() if name in nodes and nodes[name].group == group
    ]
    return fmean(near or known.values())


_BELIEVED = 100.0
"""Largest factor between a node's speed and the usual one: speeds are self-reported."""


def _of_sizes(tasks: Sequence[BoardTask]) -> FloatArray:
    return as_floats([max(task.expected_bytes, 1.0) for task in tasks])


def _of_seconds(tasks: Sequence[BoardTask]) -> FloatArray:
    return as_floats([max(task.expected_seconds, 1e-3) for task in tasks])


_DEALS: dict[Mode, tuple[Callable[[FloatArray, FloatArray], Owners], Callable[..., FloatArray]]] = {
    Mode.BATCH: (best_batch, _of_seconds),
    Mode.PAPER_1: (pechnikov, _of_sizes),
    Mode.PAPER_2: (pechnikov, _of_seconds),
    Mode.ROUND_ROBIN: (circular, _of_seconds),
}


@dataclass(slots=True)
class ByLists:
    """Placement by lists: each task belongs to one node and no other gets it.

    These are the published policies to compare with.

    A list of tasks for each connected node, dealt again when a node comes or goes, or tasks
    come.
    """

    grid: GridView
    mode: Mode
    _dealt_at: tuple[tuple[str, ...], int] = ((), 0)
    """The nodes for which the lists were dealt, and `came` at that time."""
    _owners: dict[int, str] = field(default_factory=dict)
    _lists: dict[str, list[int]] = field(default_factory=dict)

    def choose(self, node: str, tasks: Iterable[BoardTask]) -> BoardTask | None:
        nodes = self.grid.here()
        names = tuple(sorted(nodes))
        if (names, self.grid.came()) != self._dealt_at:
            self._dealt_at = names, self.grid.came()
            self._deal(names, nodes)
        if not self._has_one(node):
            return None
        return next((task for task in tasks if self._owners.get(task.id) == node), None)

    def _has_one(self, node: str) -> bool:
        """Whether any task of its list waits; cheaper than a look at all tasks for each claim."""
        own = self._lists.get(node, [])
        while own and not self.grid.waits(own[-1]):
            own.pop()
        return bool(own)

    def _deal(self, names: tuple[str, ...], nodes: Mapping[str, NodeRow]) -> None:
        self._owners, self._lists = {}, {name: [] for name in names}
        tasks = self.grid.waiting()
        if not names or not tasks:
            return
        deal, work = _DEALS[self.mode]
        owners = deal(work(tasks), _speeds([nodes[name] for name in names]))
        for task, owner in zip(tasks, owners.tolist(), strict=True):
            self._owners[task.id] = names[owner]
            self._lists[names[owner]].append(task.id)


def _speeds(nodes: Sequence[NodeRow]) -> FloatArray:
    """Relative speeds, as far as they are believed: by the reference site if all were there, else
    by bandwidths and by their own tasks, else equal."""
    speeds = [_speed(node) for node in nodes]
    if all(node.reference_seconds for node in nodes):
        speeds = [1 / node.reference_seconds for node in nodes if node.reference_seconds]
    usual = median([speed for speed in speeds if speed] or [1.0])
    told = as_floats([usual if speed is None else speed for speed in speeds])
    return np.clip(told, usual / _BELIEVED, usual * _BELIEVED)


def _speed(node: NodeRow) -> float | None:
    """Bytes per second of all its slots together, and no more than its owner allows."""
    measured = [] if node.speed is None else [node.speed * node.slots]
    allowed = [] if node.bandwidth is None else [node.bandwidth]
    return min(measured + allowed, default=None)


_ROUNDS = 300
_MILLISECONDS = 1e3


@dataclass(slots=True)
class CoordinateSpace:
    """Network coordinates of nodes and hosts by Vivaldi, where distance is the time to connect, and
    CAN zones over them.

    Nodes behind NAT cannot reach each other, so nodes and hosts are both points: a node's peers are
    the hosts that it connected to, and vice versa. The coordinates are computed again once there
    are 10 % more samples.
    """

    grid: GridView
    rng: np.random.Generator
    _samples: int = 0
    _made: dict[str, dict[str, float]] = field(default_factory=dict)
    places: dict[str, FloatArray] = field(default_factory=dict)
    """Coordinates in the plane of nodes (``node:…``) and hosts (``host:…``)."""

    def distances(self) -> Connects:
        """Predicted seconds for all pairs of nodes and hosts with coordinates."""
        connects = self.grid.connects()
        samples = sum(map(len, connects.values()))
        if samples and (not self._made or samples >= 1.1 * self._samples):
            self._make(connects)
            self._samples = samples
        return self._made

    def _make(self, connects: Connects) -> None:
        hosts = sorted(host for host, found in connects.items() if found)
        nodes = sorted({node for found in connects.values() for node in found})
        known = np.full((len(nodes), len(hosts)), np.nan)
        for column, host in enumerate(hosts):
            for node, seconds in connects[host].items():
                known[nodes.index(node), column] = max(seconds * _MILLISECONDS, 0.01)
        points = Coordinates.start(len(nodes) + len(hosts), self.rng)
        both = np.full((len(points.errors),) * 2, np.nan)
        both[: len(nodes), len(nodes) :] = known
        both[len(nodes) :, : len(nodes)] = known.T
        peers = [np.flatnonzero(~np.isnan(row)) for row in both]
        for _ in range(_ROUNDS):
            chosen = np.array([self.rng.choice(found) for found in peers])
            sample_round(points, points.select(chosen), both[np.arange(len(chosen)), chosen])
        machines, sites = np.arange(len(nodes)), np.arange(len(nodes), len(points.errors))
        away = predicted(points.select(machines), points.select(sites)) / _MILLISECONDS
        self._made = {
            host: dict(zip(nodes, map(float, away[:, column]), strict=True))
            for column, host in enumerate(hosts)
        }
        self.places = {f"node:{name}": points.places[k] for k, name in enumerate(nodes)}
        self.places |= {
            f"host:{name}": points.places[len(nodes) + k] for k, name in enumerate(hosts)
        }


_FEW_OWNERS = 1_000


@dataclass(slots=True)
class ByZone:
    """SARSS 2010: a host's tasks go to the node whose zone it is in, or to a neighbour if five wait
    there. Nodes and hosts without measurements have random places."""

    grid: GridView
    space: CoordinateSpace
    _can: Can | None = None
    _measured: dict[str, FloatArray] = field(default_factory=dict)
    """The coordinates for which the zones were made."""
    _numbers: dict[str, int] = field(default_factory=dict)
    _lots: dict[str, FloatArray] = field(default_factory=dict)
    _owners: dict[int, str] = field(default_factory=dict)
    _most_owners: int = _FEW_OWNERS

    def choose(self, node: str, tasks: Iterable[BoardTask]) -> BoardTask | None:
        tasks = list(tasks)
        self._forget_done()
        self.space.distances()
        names, can = sorted(self.grid.here()), self._can
        if can is None or self._measured is not self.space.places:
            can = self._can = self._begin(names)
        if names != sorted(self._numbers):
            self._join_and_leave(can, names)
        waiting = self._waiting(tasks)
        for task in tasks:
            if task.id not in self._owners:
                owner = self._receiver(task.host, waiting)
                self._owners[task.id] = owner
                waiting[owner] = waiting.get(owner, 0) + 1
        return next((task for task in tasks if self._owners[task.id] == node), None)

    def _forget_done(self) -> None:
        """A keeper's tasks come without an end."""
        if len(self._owners) > self._most_owners:
            waits = self.grid.waits
            self._owners = {task: owner for task, owner in self._owners.items() if waits(task)}
            self._most_owners = max(2 * len(self._owners), _FEW_OWNERS)

    def _begin(self, names: Sequence[str]) -> Can:
        """Zones of a space that contains all coordinates and the present nodes."""
        self._measured, self._numbers = self.space.places, {}
        places = [*self._measured.values(), *(self._place(f"node:{name}") for name in names)]
        low, high = np.min(places, axis=0) - 1.0, np.max(places, axis=0) + 1.0
        return Can((float(low[0]), float(low[1])), (float(high[0]), float(high[1])))

    def _join_and_leave(self, can: Can, names: Sequence[str]) -> None:
        """Split zones for new nodes, and give those of nodes that left to a neighbour. Waiting
        tasks go to the node that has their zone now."""
        for name in [name for name in self._numbers if name not in names]:
            can.fail(self._numbers.pop(name))
        taken = set(self._numbers.values())
        for name in names:
            if name not in self._numbers:
                number = next(k for k in range(len(names) + len(taken) + 1) if k not in taken)
                taken.add(number)
                self._numbers[name] = number
                can.join(number, self._place(f"node:{name}"))
        self._owners = {}

    def _receiver(self, host: str, waiting: Mapping[str, int]) -> str:
        assert self._can is not None
        by_number = {number: name for name, number in self._numbers.items()}
        counts = {self._numbers[name]: count for name, count in waiting.items()}
        bare = f"host:{host.rpartition(':')[0]}"
        name = bare if bare in self.space.places else f"host:{host}"
        return by_number[self._can.receiver(self._place(name), counts)]

    def _waiting(self, tasks: Sequence[BoardTask]) -> dict[str, int]:
        found: dict[str, int] = {}
        for task in tasks:
            owner = self._owners.get(task.id)
            if owner is not None:
                found[owner] = found.get(owner, 0) + 1
        return found

    def _place(self, name: str) -> FloatArray:
        if name in self.space.places:
            return self.space.places[name]
        if name not in self._lots:
            self._lots[name] = self.space.rng.normal(0.0, 1.0, 2)
        return self._lots[name]


_LONGEST = 6.0


@dataclass(slots=True)
class StartBarrier:
    """Before the first lists are dealt, nodes that start together come together: who is first would
    take what is right for others.

    It ends when no node has come for ``seconds``, and at the latest after six times as long.
    """

    seconds: float = 0.0
    _end: float = math.inf

    def wait(self, now: float, last_came: float) -> float:
        """Seconds until tasks are given out, for a node that asks; 0: they are."""
        self._end = min(self._end, now + _LONGEST * self.seconds)
        if last_came + self.seconds <= now:
            self.is_over(now)
        return max(min(self._end, last_came + self.seconds) - now, 0.0)

    def is_over(self, now: float) -> None:
        """Whoever comes from now on is late."""
        self._end = min(self._end, now)
