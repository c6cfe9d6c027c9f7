"""Waiting tasks by host: finds the best tasks of free hosts without looking at the others.

Each host is in a sorted list with its best task. A host that is found busy is left out until it is
freed (`awake`), so a look costs a few steps, however many tasks wait for busy hosts. There may be a
hundred thousand hosts, so little is stored of each.

A look passes a few hundred tasks at most that do not fit the node that asks: one with a full disk
would look at all of them at each claim, and others would wait meanwhile. So that nobody starves who
fits only few (what is left of its disk, tasks that its owner forbids, audits of other groups), the
first of them are looked at each time, and the rest from where the node's last look ended.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from headgate.control.board_rows import BoardTask, Rank

__all__ = ["ReadyTasks"]

_FIRST_MISFITS, _MOST_MISFITS = 100, 300
"""Tasks that do not fit, among the first ones and in all, after which a look ends."""
_FEW = 32
"""Up to so many entries are put in, or taken out, one by one."""

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
    cut_short: bool = False
    """The last look ended because too many tasks did not fit."""
    _order: list[_Entry] = field(default_factory=list)
    """Sorted; entries that are not their host's ``standing`` are skipped."""
    _new: list[_Entry] = field(default_factory=list)
    """To be sorted in."""
    _looked: dict[str, Rank] = field(default_factory=dict)
    """Where a node's last look ended among tasks that do not fit."""

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
        self, free: Callable[[str], bool], fit: Callable[[BoardTask], bool], node: str = "",
        *, more: bool = False,
    ) -> Generator[BoardTask]:  # fmt: skip
        """The best tasks of free hosts, one per host, the best first. Close it when you have
        enough; nothing may be changed meanwhile. If the best task of a host does not ``fit``, the
        host is skipped. ``more``: others will be added behind these."""
        self._sort_in()
        self.cut_short = False
        order, place, misfits, gone = self._order, 0, 0, list[int]()
        try:
            while place < len(order):
                entry = order[place]
                if (place and order[place - 1] is entry) or not self._stands(entry, free):
                    gone.append(place)
                elif fit(entry[-1]):
                    if misfits >= _FIRST_MISFITS:
                        self._looked[node] = entry[:3]
                    yield entry[-1]
                else:
                    misfits += 1
                    if misfits == _FIRST_MISFITS:
                        place = max(place, bisect_left(order, self._looked.get(node, ())) - 1)
                    elif misfits >= _MOST_MISFITS:
                        self._looked[node], self.cut_short = entry[:3], True
                        return
                place += 1
            self._looked_through(node, more=more)
        finally:
            self._forget(gone)

    def first_at(self, host: str) -> BoardTask | None:
        """The best task of a host; None: none waits."""
        first = self._first(host)
        return None if first is None else first[-1]

    def _stands(self, entry: _Entry, free: Callable[[str], bool]) -> bool:
        """Whether an entry is valid and its host free; else it can be forgotten."""
        name = entry[-1].host
        host = self._hosts.get(name)
        if host is None or host.standing is not entry:
            return False
        if not free(name):
            host.standing, host.asleep = None, True
            return False
        return True

    def _looked_through(self, node: str, *, more: bool) -> None:
        """A node looked at all tasks: the next look is at those that come, or begins anew."""
        if more and node in self._looked and self._order:
            self._looked[node] = self._order[-1][:3]
        else:
            self._looked.pop(node, None)

    def _sort_in(self) -> None:
        if len(self._new) > _FEW:
            self._order += self._new
            self._order.sort()
        else:
            for entry in self._new:
                insort(self._order, entry)
        self._new.clear()

    def _forget(self, places: list[int]) -> None:
        """Take entries out, by their places in ascending order."""
        if len(places) > _FEW:
            gone = set(places)
            self._order = [each for place, each in enumerate(self._order) if place not in gone]
        else:
            for place in reversed(places):
                del self._order[place]

    def _stand(self, name: str) -> None:
        """Put a host into the list with its best task."""
        first = self._first(name)
        if first is None:
            return
        host = self._hosts[name]
        if not host.asleep and host.standing is not first:
            host.standing = first
            self._new.append(first)

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
