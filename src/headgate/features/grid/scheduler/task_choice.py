"""Chooses the task that a node would get now, without side effects.

First a waiting task, by `choose`; then the one whose lease expired longest ago, if its node had
time to come back; and if few are left and none waits, a task that another node has, for the second
time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Generic, Protocol, TypeVar

from headgate.features.grid.protocol import Lease
from headgate.features.grid.scheduler.records import BoardTask, BoardTerms, LeaseRow, Rank
from headgate.features.grid.scheduler.task_index import BoardTasks, ReadyTasks

__all__ = ["Asker", "OpenLease", "OpenLeases", "TaskChoice"]

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


class _Guest(Protocol):
    @property
    def row(self) -> LeaseRow: ...

    @property
    def until(self) -> float: ...


Guest = TypeVar("Guest", bound=_Guest)


@dataclass(slots=True)
class HostPlaces(Generic[Guest]):
    """Places at hosts: which lease has which. No decisions.

    A node whose lease was ended by others does not know it yet, and may fetch until the lease would
    have expired: until then its place at the host stays taken.
    """

    _taken: dict[str, dict[int, Guest]] = field(default_factory=dict)
    """By host and place, including ``_leaving``."""
    _leaving: list[Guest] = field(default_factory=list)
    """Ended leases whose node may not know it."""

    def at(self, host: str) -> Sequence[Guest]:
        return list(self._taken.get(host, {}).values())

    def occupy(self, guest: Guest) -> None:
        self._taken.setdefault(guest.row.host, {})[guest.row.place] = guest

    def free(self, guest: Guest) -> None:
        """Free its place, unless another lease has it already."""
        places = self._taken.get(guest.row.host, {})
        if places.get(guest.row.place) is guest:
            del places[guest.row.place]
            if not places:
                del self._taken[guest.row.host]

    def leave(self, guest: Guest) -> None:
        """Free its place when its lease would have expired."""
        self._leaving.append(guest)

    def freed(self, now: float) -> list[str]:
        """Free the places of leases in ``_leaving`` that have expired; return their hosts."""
        left = [guest for guest in self._leaving if guest.until <= now]
        if left:
            self._leaving = [guest for guest in self._leaving if guest.until > now]
        for guest in left:
            self.free(guest)
        return [guest.row.host for guest in left]

    def in_the_way(self, host: str, places: int, gone: float) -> list[Guest] | None:
        """Who must go before one more comes to a host with so many ``places``, of leases that ended
        by ``gone``, the first that did first; None: the others take all places."""
        there = self._taken.get(host, {})
        beyond = len(there) + 1 - places
        if beyond <= 0:
            return []
        lapsed = sorted(
            (guest for guest in there.values() if guest.until <= gone), key=lambda one: one.until
        )
        return lapsed[:beyond] if len(lapsed) >= beyond else None

    def free_place(self, host: str) -> int:
        """The lowest, so it is below the number of places as long as one is free."""
        taken = self._taken.get(host, {})
        return next(number for number in count() if number not in taken)


@dataclass(slots=True)
class OpenLease:
    row: LeaseRow
    task: BoardTask
    until: float
    moved: float
    """Time of the last progress, or of the last good reason for none."""
    delayed: float
    """Since when the site's own delay may have been that reason."""
    since: float
    """When it was given."""
    heard: float
    """When its node was last heard of."""
    mark: tuple[int, ...] = ()
    """Counters of the last report; progress is a change of them."""


@dataclass(slots=True)
class OpenLeases:
    """Open leases, indexed by task, by host and place, and by claim. No decisions."""

    places: HostPlaces[OpenLease] = field(default_factory=HostPlaces)
    _all: dict[Lease, OpenLease] = field(default_factory=dict)
    _tasks: dict[int, list[OpenLease]] = field(default_factory=dict)
    _claims: dict[tuple[str, str], OpenLease] = field(default_factory=dict)
    """By node and claim."""
    _counts: Counter[str] = field(default_factory=Counter)
    """By node."""

    def __iter__(self) -> Iterator[OpenLease]:
        return iter(list(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    def add(self, held: OpenLease) -> None:
        row = held.row
        self._all[row.lease] = held
        self._tasks.setdefault(held.task.id, []).append(held)
        self.places.occupy(held)
        self._claims[row.node, row.claim] = held
        self._counts[row.node] += 1

    def remove(self, held: OpenLease, *, told: bool = True) -> None:
        """Remove a lease; ``told``: its node knows that it has ended."""
        row = held.row
        del self._all[row.lease]
        self._tasks[held.task.id].remove(held)
        if not self._tasks[held.task.id]:
            del self._tasks[held.task.id]
        del self._claims[row.node, row.claim]
        self._counts[row.node] -= 1
        if not self._counts[row.node]:
            del self._counts[row.node]
        if told:
            self.places.free(held)
        else:
            self.places.leave(held)

    def shun(self, row: LeaseRow, task: BoardTask, until: float) -> None:
        """Keep the place of a node that works for another run, and may do so until then."""
        held = OpenLease(row, task, until, moved=until, delayed=until, since=until, heard=until)
        self.places.occupy(held)
        self.places.leave(held)

    def get(self, lease: Lease, node: str | None = None) -> OpenLease | None:
        """An open lease, of this ``node`` if given."""
        held = self._all.get(lease)
        return held if held is not None and node in (None, held.row.node) else None

    def by_claim(self, node: str, claim: str) -> OpenLease | None:
        return self._claims.get((node, claim))

    def of_task(self, task: BoardTask) -> list[OpenLease]:
        return list(self._tasks.get(task.id, ()))

    def held(self, node: str) -> int:
        """Number of tasks that a node has."""
        return self._counts[node]

    def of_node(self, node: str) -> list[OpenLease]:
        return [held for held in self._all.values() if held.row.node == node]

    def next_end(self, now: float) -> float:
        """Seconds until the next lease expires, without further heartbeats."""
        return min((held.until - now for held in self._all.values() if held.until > now),
                   default=math.inf)  # fmt: skip

    def lapsed(self, now: float) -> list[OpenLease]:
        """Expired leases, the longest expired first."""
        return sorted((held for held in self._all.values() if held.until <= now), key=_until)


def _until(held: OpenLease) -> float:
    return held.until
