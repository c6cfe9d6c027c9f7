"""Waiting tasks by host: finds the best tasks of free hosts without looking at the others.

Each host is in a heap with its best task. A host that is found busy is left out until it is freed
(`awake`), so a lookup costs a few heap operations, however many tasks wait for busy hosts. There
may be a hundred thousand hosts, so little is stored of each.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from headgate.control.board_rows import BoardTask

__all__ = ["ReadyTasks"]

_Entry: TypeAlias = tuple[int, float, int, BoardTask]
"""The rank of a task, and the task; ranks end with the task's number, so no two are equal."""


@dataclass(slots=True)
class _Host:
    tasks: list[_Entry] = field(default_factory=list)
    """A heap; tasks that no longer wait are skipped."""
    standing: _Entry | None = None
    """Its valid entry in ``ReadyTasks._order``."""
    asleep: bool = False


@dataclass(slots=True)
class ReadyTasks:
    came: int = 0
    """How often a task was added."""
    _waiting: set[int] = field(default_factory=set)
    _hosts: dict[str, _Host] = field(default_factory=dict)
    _order: list[_Entry] = field(default_factory=list)
    """A heap over hosts; entries that are not their host's ``standing`` are skipped."""

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, task: int) -> bool:
        return task in self._waiting

    def add(self, task: BoardTask) -> None:
        self.came += 1
        self._waiting.add(task.id)
        host = self._hosts.setdefault(task.host, _Host())
        heapq.heappush(host.tasks, (*task.rank, task))
        self._stand(task.host)

    def remove(self, task: BoardTask) -> None:
        self._waiting.discard(task.id)
        self._stand(task.host)

    def awake(self, host: str) -> None:
        """A host may be free again."""
        if host in self._hosts:
            self._hosts[host].asleep = False
            self._stand(host)

    def in_order(
        self, free: Callable[[str], bool], fit: Callable[[BoardTask], bool]
    ) -> Generator[BoardTask]:
        """The best tasks of free hosts, one per host, the best first. Each costs a heap operation,
        so close it early. Nothing may be changed meanwhile. If the best task of a host does not
        ``fit``, the host is skipped."""
        seen: list[str] = []
        try:
            while self._order:
                entry = heapq.heappop(self._order)
                name = entry[-1].host
                host = self._hosts.get(name)
                if host is None or host.standing is not entry:
                    continue
                host.standing = None
                if not free(name):
                    host.asleep = True
                    continue
                seen.append(name)
                task = self.first_at(name)
                if task is not None and fit(task):
                    yield task
        finally:
            for name in seen:
                self._stand(name)

    def first_at(self, host: str) -> BoardTask | None:
        """The best task of a host; None: none waits."""
        first = self._first(host)
        return None if first is None else first[-1]

    def _stand(self, name: str) -> None:
        """Put a host into the heap with its best task."""
        first = self._first(name)
        if first is None:
            return
        host = self._hosts[name]
        if not host.asleep and host.standing is not first:
            host.standing = first
            heapq.heappush(self._order, first)

    def _first(self, name: str) -> _Entry | None:
        host = self._hosts.get(name)
        if host is None:
            return None
        while host.tasks and host.tasks[0][-1].id not in self._waiting:
            heapq.heappop(host.tasks)
        if not host.tasks:
            del self._hosts[name]
            return None
        return host.tasks[0]
