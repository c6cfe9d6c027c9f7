"""Chooses the task that a node would get now, without side effects.

First a waiting task, by `choose`; then the one whose lease expired longest ago, if its node had
time to come back; and if few are left and none waits, a task that another node has, for the second
time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile

from headgate.control.board_rows import BoardTask, BoardTerms, Rank
from headgate.control.board_tasks import BoardTasks
from headgate.control.open_leases import OpenLease, OpenLeases
from headgate.control.ready_tasks import ReadyTasks

__all__ = ["Asker", "Choose", "TaskChoice"]

_LOOKS_A_LEASE = 20

Choose = Callable[[str, Iterable[BoardTask]], BoardTask | None]
"""Given a node and the waiting tasks in order, the task for it; None: all are for others."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A node that wants a task."""

    node: str
    claim: str
    group: str = ""
    free_bytes: float = math.inf
    not_these: Container[int] = ()
    """Tasks that it must not get."""
    most_held: float = math.inf
    """Most tasks that it may have at once."""
    nodes_here: Callable[[], int] = lambda: 1
    """Number of connected nodes, including itself."""

    def fits(self, task: BoardTask) -> bool:
        other_group = task.not_group is None or task.not_group != self.group
        wanted = task.id not in self.not_these and task.expected_bytes <= self.free_bytes
        return other_group and wanted


def _first(_: str, tasks: Iterable[BoardTask]) -> BoardTask | None:
    return next(iter(tasks), None)


def _before(rank: Rank | None, tasks: Iterable[BoardTask]) -> Iterable[BoardTask]:
    return tasks if rank is None else takewhile(lambda task: task.rank < rank, tasks)


@dataclass(slots=True)
class TaskChoice:
    """Chooses among a board's tasks; ``choose`` is the placement policy."""

    terms: BoardTerms
    tasks: BoardTasks
    ready: ReadyTasks
    leases: OpenLeases
    choose: Choose = _first
    _looked: float = -math.inf
    """When `wake_hosts` last looked."""

    def next(self, asker: Asker, now: float) -> BoardTask | None:
        def is_free(host: str) -> bool:
            return self.in_the_way(host, now) is not None

        def fits(task: BoardTask) -> bool:
            return asker.fits(task) and self._leaves_room(asker, task, now)

        first_far = self.tasks.far.first
        looking = self.ready.in_order(is_free, fits, asker.node, more=first_far is not None)
        with closing(looking) as waiting:
            chosen = self.choose(asker.node, _before(first_far, waiting))
        if chosen is None and first_far is not None and not self.ready.cut_short:
            self.tasks.far.wanted = True
            return None
        if chosen is not None:
            return chosen
        vanished = self.leases.lapsed(self._gone(now))
        lapsed = next((held for held in vanished if asker.fits(held.task)), None)
        return self._second(asker, now) if lapsed is None else lapsed.task

    def lapsed_of(self, task: BoardTask, now: float) -> list[OpenLease]:
        """The leases of a task whose node had its time to come back."""
        return [held for held in self.leases.of_task(task) if held.until <= self._gone(now)]

    def in_the_way(self, host: str, now: float, places: float = math.inf) -> list[OpenLease] | None:
        """The leases that must end before one more node comes to a host; None: no place is free.
        ``places``: of a task that is to come; the host's are no more."""
        if not self.leases.places.at(host):
            return []
        most = min(self._places(host), places)
        return self.leases.places.in_the_way(host, int(most), self._gone(now))

    def _gone(self, now: float) -> float:
        """Nodes whose lease ended by then had their time to come back."""
        return now - self.terms.grace_seconds

    def _leaves_room(self, asker: Asker, task: BoardTask, now: float) -> bool:
        """If several nodes may crawl a host, none takes the places of other connected nodes: a node
        with both of two places would be as slow as with one."""
        if task.nodes_at_once == 1:
            return True
        there = self.leases.places.at(task.host)
        mine = sum(held.row.node == asker.node and held.until > now for held in there)
        return mine * asker.nodes_here() < task.nodes_at_once

    def wake_hosts(self, now: float) -> None:
        """Wake hosts that have a place again; those whose leases have expired every now and
        then."""
        awake = self.leases.places.freed(now)
        if now - self._looked >= self.terms.lease_seconds / _LOOKS_A_LEASE:
            self._looked = now
            awake += [held.row.host for held in self.leases.lapsed(self._gone(now))]
        for host in awake:
            self.ready.awake(host)

    def _second(self, asker: Asker, now: float) -> BoardTask | None:
        """A running task to be given twice; no parts of sites, as the place of the node that loses
        the race would be missing in the next round until its lease expires; none whose node may
        just be starting again."""
        few = self.tasks.left <= max(self.terms.twice_share * self.tasks.added, 1.0)
        alone = [
            held.task
            for held in (self.leases if few and not len(self.ready) else ())
            if not held.task.part and held.until > now
            and held.row.node != asker.node and len(self.leases.of_task(held.task)) == 1
            and self.in_the_way(held.row.host, now) is not None and asker.fits(held.task)
        ]  # fmt: skip
        return max(alone, key=lambda task: (task.expected_seconds, -task.id), default=None)

    def _places(self, host: str) -> int:
        """How many nodes a host may have: the least that its leased tasks and the next one
        allow."""
        tasks = [held.task for held in self.leases.places.at(host)]
        waiting = self.ready.first_at(host)
        if waiting is not None:
            tasks.append(waiting)
        return min((task.nodes_at_once for task in tasks), default=1)
