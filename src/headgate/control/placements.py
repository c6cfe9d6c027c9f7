"""Placement: which of the next tasks a node gets, by distance or by lists.

`Placing` is the port: the board passes the tasks of free hosts, in order. By distance
(`ByDistance`) a node always gets a task, for the sake of balance: of the next few, the one for
which it is the best of all nodes, or the least bad. By lists (`control.task_lists`) each task
belongs to one node and no other gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean, median
from typing import Protocol

from headgate.control.board_rows import BoardTask, NodeRow

__all__ = ["ByDistance", "Connects", "GridView", "Placing"]

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
