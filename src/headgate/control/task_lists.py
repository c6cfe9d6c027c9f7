"""Placement by lists: each task belongs to one node and no other gets it.

These are the published policies to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from headgate.control.board_rows import BoardTask, NodeRow
from headgate.control.placements import GridView
from headgate.model.grid import Mode
from headgate.placing.best_batch import best_batch
from headgate.placing.circular import circular
from headgate.placing.partition import FloatArray, Owners, as_floats
from headgate.placing.pechnikov import pechnikov

__all__ = ["ByLists"]

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
