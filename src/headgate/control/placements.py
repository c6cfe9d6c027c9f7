"""Placement: which of the next tasks a node gets, by distance or by lists.

`Placing` is the port: the board passes the tasks of free hosts, in order. By distance
(`ByDistance`) a node always gets a task, for the sake of balance: of the next few, the one for
which it is the best of all nodes, or the least bad. By lists (`ByLists`) each task belongs to one
node and no other gets it; these are the published policies to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import fmean, median
from typing import Protocol

import numpy as np

from headgate.control.board_rows import BoardTask, NodeRow
from headgate.model.grid import Mode
from headgate.placing.best_batch import best_batch
from headgate.placing.circular import circular
from headgate.placing.partition import FloatArray, Owners, as_floats
from headgate.placing.pechnikov import pechnikov

__all__ = ["ByDistance", "ByLists", "Connects", "GridView", "Placing"]

_LOAD_WEIGHT = 0.2
"""What the mean load counts for, as a part of the median distance."""
_FEW = 16
"""Number of tasks to choose from."""
_BELIEVED = 100.0
"""Largest factor between a node's speed and the usual one: speeds are self-reported."""

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


class Placing(Protocol):
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
    """A list of tasks for each connected node, dealt again when a node comes or goes, or tasks
    come."""

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
    """Relative speeds: by the reference site, else by their own tasks, else equal."""
    reference = [node.reference_seconds for node in nodes]
    if all(reference):
        return as_floats([1 / seconds for seconds in reference if seconds])
    speeds = [node.speed for node in nodes]
    usual = median([speed for speed in speeds if speed] or [1.0])
    told = as_floats([speed or usual for speed in speeds])
    return np.clip(told, usual / _BELIEVED, usual * _BELIEVED)
