"""Which nodes cannot do which tasks, as they said, and what kind of node a site waits for. Pure.

A node that may not reach a site, by its owner's rules or by its place in the network, knows nothing
about it: that it found no page is no result. It gives the task back and says why, others get it,
and a site that no node can do stays open until the operator has had time to start one that can.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from headgate.features.grid.protocol import Inability
from headgate.features.grid.scheduler.records import BoardTask

__all__ = ["Inabilities", "WaitForNodes"]

_NEEDS = {
    Inability.PRIVATE_ADDRESS: "that may reach its private address (headgate node --allow-private)",
    Inability.HOST: "whose --only-hosts has its hosts",
    Inability.DISK: "with more --disk",
    Inability.RULES: "whose owner's rules allow it",
}


@dataclass(slots=True)
class Inabilities:
    """What nodes said of tasks; kept for one manager, as owners change their minds."""

    _by_task: dict[int, dict[str, tuple[Inability, str]]] = field(default_factory=dict)
    _by_node: dict[str, set[int]] = field(default_factory=dict)

    def note(self, task: int, node: str, what: Inability, why: str) -> None:
        self._by_task.setdefault(task, {})[node] = what, why
        self.exclude(task, node)

    def exclude(self, task: int, node: str) -> None:
        """The node does not get the task again, whatever the reason."""
        self._by_node.setdefault(node, set()).add(task)

    def of(self, node: str) -> Set[int]:
        """Tasks that a node does not get."""
        return self._by_node.get(node, frozenset())

    def needs(self, task: int, here: Iterable[str]) -> str:
        """What kind of node a task waits for; empty: nobody said that it cannot, or one of those
        who are ``here`` may."""
        told = self._by_task.get(task)
        if not told or any(task not in self.of(node) for node in here):
            return ""
        kinds = dict.fromkeys(_NEEDS[what] for what, _ in told.values())
        node, (_, why) = next(iter(told.items()))
        return f"{' or '.join(kinds)}; {node} says: {why}"


@dataclass(slots=True)
class WaitForNodes:
    """How long a run stays open for sites that none of its nodes can do."""

    seconds: float
    _since: float | None = None
    _told: set[str] = field(default_factory=set)

    def look(
        self, now: float, waiting: Iterable[BoardTask], inabilities: Inabilities, here: Set[str]
    ) -> list[str]:
        """Called while nothing else is to do; returns remarks for the user. ``waiting``: tasks that
        no node has."""
        needs = {task.site: inabilities.needs(task.id, here) for task in waiting}
        if not needs or not all(needs.values()):
            self._since = None
            return []
        self._since = now if self._since is None else self._since
        new = {site: need for site, need in needs.items() if site not in self._told}
        self._told.update(new)
        return [f"{site} waits for a node {need}" for site, need in new.items()]

    def busy(self) -> None:
        """Something is being done; the time begins anew."""
        self._since = None

    def is_over(self, now: float) -> bool:
        return self._since is not None and now - self._since >= self.seconds
