"""Open leases, indexed by task, by host and place, and by claim. No decisions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from headgate.control.board_rows import BoardTask, LeaseRow
from headgate.control.host_places import HostPlaces
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
        self.places.take(held)
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
        self.places.take(held)
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
