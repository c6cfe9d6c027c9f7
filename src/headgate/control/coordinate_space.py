"""Network coordinates of nodes and hosts by Vivaldi, where distance is the time to connect, and
CAN zones over them.

Nodes behind NAT cannot reach each other, so nodes and hosts are both points: a node's peers are the
hosts that it connected to, and vice versa. The coordinates are computed again once there are 10 %
more samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.control.board_rows import BoardTask
from headgate.control.placements import Connects, GridView
from headgate.placing.can import Can
from headgate.placing.partition import FloatArray
from headgate.placing.vivaldi import Coordinates, predicted, sample_round

__all__ = ["ByZone", "CoordinateSpace"]

_ROUNDS = 300
_MILLISECONDS = 1e3


@dataclass(slots=True)
class CoordinateSpace:
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
            sample_round(points, points.of(chosen), both[np.arange(len(chosen)), chosen])
        machines, sites = np.arange(len(nodes)), np.arange(len(nodes), len(points.errors))
        away = predicted(points.of(machines), points.of(sites)) / _MILLISECONDS
        self._made = {
            host: dict(zip(nodes, map(float, away[:, column]), strict=True))
            for column, host in enumerate(hosts)
        }
        self.places = {f"node:{name}": points.places[k] for k, name in enumerate(nodes)}
        self.places |= {
            f"host:{name}": points.places[len(nodes) + k] for k, name in enumerate(hosts)
        }


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

    def choose(self, node: str, tasks: Iterable[BoardTask]) -> BoardTask | None:
        tasks = list(tasks)
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
