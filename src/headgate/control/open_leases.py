"""Open leases, indexed by task, by host and place, and by claim. No decisions.

A node whose lease was ended by others does not know it yet, and may fetch until the lease would
have expired: until then its place at the host stays taken.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from headgate.control.board_rows import BoardTask, LeaseRow
from headgate.crawling.task_messages import Lease

__all__ = ["OpenLease", "OpenLeases"]


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
    _all: dict[Lease, OpenLease] = field(default_factory=dict)
    _tasks: dict[int, list[OpenLease]] = field(default_factory=dict)
    _hosts: dict[str, dict[int, OpenLease]] = field(default_factory=dict)
    """By host and place, including ``_leaving``."""
    _leaving: list[OpenLease] = field(default_factory=list)
    """Ended leases whose node may not know it."""
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
        self._hosts.setdefault(row.host, {})[row.place] = held
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
            self._free(held)
        else:
            self._leaving.append(held)

    def freed(self, now: float) -> list[str]:
        """Free the places of leases in ``_leaving`` that have expired; return their hosts."""
        left = [held for held in self._leaving if held.until <= now]
        if left:
            self._leaving = [held for held in self._leaving if held.until > now]
        for held in left:
            self._free(held)
        return [held.row.host for held in left]

    def _free(self, held: OpenLease) -> None:
        """Free its place, unless another lease has it already."""
        places = self._hosts.get(held.row.host, {})
        if places.get(held.row.place) is held:
            del places[held.row.place]
            if not places:
                del self._hosts[held.row.host]

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

    def at_host(self, host: str) -> list[OpenLease]:
        return list(self._hosts.get(host, {}).values())

    def place(self, host: str, places: int, now: float) -> int | None:
        """A free place at a host with so many ``places``; None: all are taken."""
        taken = self._hosts.get(host, {})
        free = (number for number in range(places) if number not in taken)
        lapsed = (number for number, held in taken.items() if held.until <= now)
        return next(free, next(lapsed, None))

    def next_end(self, now: float) -> float:
        """Seconds until the next lease expires, without further heartbeats."""
        return min((held.until - now for held in self._all.values() if held.until > now),
                   default=math.inf)  # fmt: skip

    def lapsed(self, now: float) -> list[OpenLease]:
        """Expired leases, the longest expired first."""
        return sorted((held for held in self._all.values() if held.until <= now), key=_until)


def _until(held: OpenLease) -> float:
    return held.until
