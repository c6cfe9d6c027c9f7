"""Tasks of a board that are not done, and their states. No decisions."""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from headgate.features.grid.protocol import Lease
from headgate.features.grid.scheduler.records import BoardState, BoardTask, Changes, LeaseRow, Rank

__all__ = ["BoardTasks", "PendingTaskIndex", "ReadyTasks"]

_AT_ONCE = 500


@dataclass(slots=True)
class PendingTaskIndex:
    """Tasks that wait in the catalog only: of a hundred thousand, the board needs the next few.

    Only their ranks are in memory. If no task on the board suits a node, the next ones have to be
    read from the catalog: `wanted` says so, `next_ones` which, and `read` notes that it was done.

    Tasks in the catalog that were never leased, sorted by rank.
    """

    at_once: int = _AT_ONCE
    """Tasks read at once."""
    wanted: bool = False
    """A node claimed a task, and may get one of these."""
    _unpromised: array[int] = field(default_factory=lambda: array("b"))
    """The three parts of each rank, in the order of ranks: 17 bytes for a task."""
    _keys: array[float] = field(default_factory=lambda: array("d"))
    _numbers: array[int] = field(default_factory=lambda: array("q"))
    _read: int = 0

    @classmethod
    def from_ranks(cls, ranks: Iterable[Rank], at_once: int = _AT_ONCE) -> PendingTaskIndex:
        found = cls(at_once)
        for unpromised, key, number in sorted(ranks):
            found._unpromised.append(unpromised)
            found._keys.append(key)
            found._numbers.append(number)
        return found

    def __len__(self) -> int:
        return len(self._numbers) - self._read

    @property
    def first(self) -> Rank | None:
        """The lowest rank, before which tasks of higher rank must not be given out; None: there are
        no tasks."""
        if not len(self):
            return None
        return self._unpromised[self._read], self._keys[self._read], self._numbers[self._read]

    def next_ones(self) -> list[int]:
        """Numbers of the tasks to read next."""
        return self._numbers[self._read : self._read + self.at_once].tolist()

    def read(self) -> None:
        """The tasks of `next_ones` are on the board now."""
        self._read = min(self._read + self.at_once, len(self._numbers))
        self.wanted = False


# The tasks that are not done.


@dataclass(frozen=True, slots=True)
class LeaseStanding:
    """The state of a lease's task, and whether the result under this lease counts."""

    state: BoardState
    wins: bool


@dataclass(slots=True)
class BoardTasks:
    changes: Changes
    """Collects the changes made here."""
    far: PendingTaskIndex = field(default_factory=PendingTaskIndex)
    """Those that are in the catalog alone."""
    _added: int = 0
    """Tasks added so far, including those that are done."""
    _open: dict[int, BoardTask] = field(default_factory=dict)
    """In the order in which they were added."""
    _few: dict[BoardState, dict[int, BoardTask]] = field(
        default_factory=lambda: {BoardState.RECEIVED: {}, BoardState.DROPPED: {}}
    )
    """Tasks in rare states that the manager looks up often."""
    _silent: dict[int, dict[Lease, str]] = field(default_factory=dict)
    """By task, leases whose node fell silent, with the node."""

    @property
    def added(self) -> int:
        """Tasks added so far, including those that are far or done."""
        return self._added + len(self.far)

    @property
    def left(self) -> int:
        """Tasks that are neither done nor dropped."""
        return len(self._open) + len(self.far) - len(self._few[BoardState.DROPPED])

    def get(self, number: int) -> BoardTask | None:
        """None: it is done, or does not exist."""
        return self._open.get(number)

    def task_of(self, row: LeaseRow) -> BoardTask:
        """The task of a lease; it must not be done."""
        return self._open[row.lease.task]

    def in_state(self, state: BoardState) -> Sequence[BoardTask]:
        if state in self._few:
            return list(self._few[state].values())
        return [task for task in self._open.values() if task.state is state]

    def add(self, task: BoardTask) -> None:
        self._added += 1
        if task.state is not BoardState.DONE:
            self._open[task.id] = task
            if task.state in self._few:
                self._few[task.state][task.id] = task

    def put(self, task: BoardTask, state: BoardState) -> None:
        """Change the state of a task."""
        self.changes.touch(task)
        self._few.get(task.state, {}).pop(task.id, None)
        if state in self._few:
            self._few[state][task.id] = task
        task.state = state
        if state is BoardState.DONE:
            del self._open[task.id]
            self._silent.pop(task.id, None)

    def fell_silent(self, row: LeaseRow) -> None:
        self._silent.setdefault(row.lease.task, {})[row.lease] = row.node

    def may_be_heard_of(self, task: BoardTask) -> bool:
        """Whether a node that lost it may still come back."""
        return bool(self._silent.get(task.id))

    def heard_again(self, lease: Lease, node: str, *, new_life: bool) -> BoardTask | None:
        """A silent node came back. If it was not restarted (``new_life``), its task was not to
        blame, and is returned."""
        task, silent = self._open.get(lease.task), self._silent.get(lease.task, {})
        if task is None or silent.get(lease) != node:
            return None
        del silent[lease]
        if new_life:
            return None
        self.changes.touch(task)
        task.lost = max(task.lost - 1, 0)
        return task

    def standing(self, lease: Lease) -> LeaseStanding | None:
        """The standing of a lease that was given; None: its task is done."""
        task = self._open.get(lease.task)
        return None if task is None else LeaseStanding(task.state, task.winner == lease.epoch)

    def why_over(self, lease: Lease) -> str:
        """Why a lease has ended, for its node."""
        task = self._open.get(lease.task)
        if task is None or task.state is BoardState.RECEIVED:
            return "superseded: its result is here"
        if task.state is BoardState.DROPPED:
            return "dropped: it was lost too often"
        return "lost: another has it"


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
    """Waiting tasks by host: finds the best tasks of free hosts without looking at the others.

    Each host is in a sorted list with its best task. A host that is found busy is left out until it
    is freed (`awake`), so a look costs a few steps, however many tasks wait for busy hosts. There
    may be a hundred thousand hosts, so little is stored of each.

    A look passes a few hundred tasks at most that do not fit the node that asks: one with a full
    disk would look at all of them at each claim, and others would wait meanwhile. So that nobody
    starves who fits only few (what is left of its disk, tasks that its owner forbids, audits of
    other groups), the first of them are looked at each time, and the rest from where the node's
    last look ended.
    """

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
