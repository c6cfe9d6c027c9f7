"""Tasks that wait, by host: the best ones of hosts that are free, without a look at the others.

A host stands in the order with its best task. One that is found busy is put aside until it is freed
(`awake`), so however many tasks wait at busy hosts, asking costs a few steps of a heap.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from headgate.control.board_rows import BoardTask

__all__ = ["ReadyTasks"]

Rank: TypeAlias = tuple[int, float, int]
"""Of a task, whose number it ends with."""


@dataclass(slots=True)
class ReadyTasks:
    _tasks: dict[int, BoardTask] = field(default_factory=dict)
    _hosts: dict[str, list[Rank]] = field(default_factory=dict)
    """Heaps; what is no longer in ``_tasks`` is passed over."""
    _order: list[tuple[Rank, str]] = field(default_factory=list)
    """A heap; an entry that its host no longer stands with is passed over."""
    _standing: dict[str, Rank] = field(default_factory=dict)
    _asleep: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, task: int) -> bool:
        return task in self._tasks

    def add(self, task: BoardTask) -> None:
        self._tasks[task.id] = task
        heapq.heappush(self._hosts.setdefault(task.host, []), task.rank)
        self._stand(task.host)

    def remove(self, task: BoardTask) -> None:
        self._tasks.pop(task.id, None)
        self._stand(task.host)

    def awake(self, host: str) -> None:
        """It may be free again."""
        if host in self._asleep:
            self._asleep.discard(host)
            self._stand(host)

    def in_order(
        self, free: Callable[[str], bool], fit: Callable[[BoardTask], bool]
    ) -> Generator[BoardTask]:
        """Tasks of different hosts, the first first; each costs a step of the heap, so whoever
        looks at few closes it soon. Nothing may be changed meanwhile. Where a host's best does not
        ``fit`` whoever asks, its others are not looked at."""
        seen: list[str] = []
        try:
            while self._order:
                rank, host = heapq.heappop(self._order)
                if self._standing.get(host) != rank:
                    continue
                del self._standing[host]
                if not free(host):
                    self._asleep.add(host)
                    continue
                seen.append(host)
                task = self.first_at(host)
                if task is not None and fit(task):
                    yield task
        finally:
            for host in seen:
                self._stand(host)

    def _stand(self, host: str) -> None:
        """In the order, with its best task."""
        rank = None if host in self._asleep else self._first_rank(host)
        if rank is None:
            self._standing.pop(host, None)
        elif self._standing.get(host) != rank:
            self._standing[host] = rank
            heapq.heappush(self._order, (rank, host))

    def first_at(self, host: str) -> BoardTask | None:
        """Its best; None: none waits there."""
        rank = self._first_rank(host)
        return None if rank is None else self._tasks[rank[-1]]

    def _first_rank(self, host: str) -> Rank | None:
        heap = self._hosts.get(host, ())
        while heap and heap[0][-1] not in self._tasks:
            heapq.heappop(heap)
        if not heap:
            self._hosts.pop(host, None)
            return None
        return heap[0]
