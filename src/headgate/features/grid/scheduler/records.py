"""The board of a grid: its rows, and the port to their store.

The catalog is the source of truth about leases and results. `features.grid.scheduler.board` decides
in memory, over rows read once; every answer that depends on a decision waits until the changed rows
are stored, all in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias

import msgspec

from headgate.features.grid.protocol import Lease
from headgate.model.grid import TaskListing

__all__ = [
    "Audit",
    "BoardState",
    "BoardStore",
    "BoardTask",
    "BoardTerms",
    "Changes",
    "LeaseEnding",
    "LeaseRow",
    "NewTask",
    "NodeFigures",
    "NodeRow",
    "Rank",
    "rank_of",
]

Rank: TypeAlias = tuple[int, float, int]
"""What goes first has the lower one; the last number is the task's own."""


class BoardState(StrEnum):
    READY = "ready"
    LEASED = "leased"
    RECEIVED = "received"
    """A complete result was received and is being stored."""
    DONE = "done"
    DROPPED = "dropped"
    """Given up: it was lost too often. A complete result is still accepted."""


class LeaseEnding(StrEnum):
    """How a lease ended."""

    COMMITTED = "committed"
    SUPERSEDED = "superseded"
    """Another node's result counts."""
    EXPIRED = "expired"
    """The node was silent, and another got the task, or its host."""
    STUCK = "stuck"
    """Heartbeats came, but no progress."""
    OVERDUE = "overdue"
    """It took far longer than was expected, and another node had nothing to do."""
    LEFT = "left"
    """The node gave it back, or the manager went on with another run."""
    REVOKED = "revoked"
    SPOILT = "spoilt"
    """The result could not be stored."""
    REFUSED = "refused"
    """The result was not that of the task, or far too large."""

    @property
    def lost(self) -> bool:
        """Whether the task may be the reason."""
        return self in (LeaseEnding.EXPIRED, LeaseEnding.STUCK, LeaseEnding.REFUSED)


@dataclass(frozen=True, slots=True)
class BoardTerms:
    lease_seconds: float = 60.0
    stuck_leases: float = 3.0
    """Lease times without progress, and no less than ``slow_seconds``."""
    slow_seconds: float = 90.0
    """A slow server may take half of it to connect and send a first byte."""
    most_lost: int = 3
    twice_share: float = 0.05
    """When no larger share of all tasks is left, tasks are given to a second node."""

    silent_leases: float = 5.0
    """Lease times after which a silent node is considered dead."""

    restart_seconds: float = 2.0
    """In which a node that was killed and started again at once is heard of."""

    @property
    def grace_seconds(self) -> float:
        """Seconds after the end of a lease in which its node may still go on with the task: another
        would fetch again what this one has."""
        return min(self.restart_seconds, 0.4 * self.lease_seconds)

    @property
    def stuck_seconds(self) -> float:
        return max(self.stuck_leases * self.lease_seconds, self.slow_seconds)

    @property
    def silent_seconds(self) -> float:
        return self.silent_leases * self.lease_seconds

    @property
    def beat_seconds(self) -> float:
        """Seconds between two heartbeats of a node."""
        return self.lease_seconds / 3


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """One visit to a site, or to a part of it."""

    run: str
    """The stamp of the run that stores the result."""
    site: str
    host: str
    spec: bytes
    """The task itself, as encoded by `features.grid.coordinator.task_data`."""
    part: str = ""
    """Which round, hosts and share of a site that several nodes crawl; empty: all of it."""
    visit: int = 0
    value: float = 0.0
    """Tasks without a promise are given in descending order of this."""
    due: float | None = None
    """Seconds since 1970; None: no promise."""
    expected_bytes: float = 0.0
    expected_seconds: float = 0.0
    nodes_at_once: int = 1
    """How many nodes may crawl its host at the same time."""
    audit_of: int | None = None
    """The task whose result this one is compared with; its own result is not stored."""
    not_group: str | None = None
    """No node of this group gets it."""


def rank_of(due: float | None, expected_seconds: float, value: float, number: int) -> Rank:
    """Of a task: promises go first, by the latest start, then others by value."""
    if due is not None:
        return 0, due - expected_seconds, number
    return 1, -value, number


class BoardTask(msgspec.Struct, gc=False):
    """A task that is not done, in memory; specs stay in the catalog. A Struct, like
    `LeaseRow`, because it is copied whenever it changed."""

    id: int
    site: str
    host: str
    value: float
    due: float | None
    expected_bytes: float
    expected_seconds: float
    nodes_at_once: int
    audit_of: int | None
    not_group: str | None
    part: str = ""
    state: BoardState = BoardState.READY
    epoch: int = 0
    winner: int | None = None
    lost: int = 0
    """Leases that ended in a way for which the task may be to blame."""
    held_seconds: float = 0.0
    """Time under leases that have ended."""

    @property
    def rank(self) -> Rank:
        return rank_of(self.due, self.expected_seconds, self.value, self.id)


class LeaseRow(msgspec.Struct, gc=False):
    """A lease that was given."""

    lease: Lease
    node: str
    claim: str
    host: str
    place: int
    """The host's place that it takes: a host has as many nodes at once as places."""
    given: float
    """Seconds since 1970, like ``ended``."""
    ended: float | None = None
    how: LeaseEnding | None = None
    pages: int = 0
    """As last reported."""
    wire_bytes: int = 0


class NodeRow(msgspec.Struct, kw_only=True):
    """The last known state of a node. Times are seconds since 1970."""

    name: str
    group: str = ""
    token_key: str = ""
    """The public key of its token, for revoking it."""
    slots: int = 1
    joined: float = 0.0
    seen: float = 0.0
    life: int = 0
    up_seconds: float = 0.0
    """Mean time for which it was connected at a stretch."""
    reference_seconds: float | None = None
    speed: float | None = None
    """Bytes per second of each of its tasks while they ran."""
    bandwidth: float | None = None
    """Bytes per second that its owner allowed when it last asked for a task; None: no limit."""
    revoked: bool = False


class NodeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of a node over all its leases."""

    leases: int = 0
    open: int = 0
    committed: int = 0
    superseded: int = 0
    lost: int = 0
    pages: int = 0
    """Of committed results, like ``wire_bytes``."""
    wire_bytes: int = 0
    wasted_bytes: int = 0
    """Fetched under leases whose result does not count."""


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of two nodes that did the same task."""

    task: int
    site: str
    first: str
    second: str
    """Nodes."""
    pages: int
    """Pages that both have."""
    differing: int
    examples: tuple[str, ...] = ()
    """URLs."""


@dataclass(slots=True)
class Changes:
    """Changed rows; ``epochs`` are those of tasks when they were last stored."""

    tasks: dict[int, BoardTask] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    leases: dict[Lease, LeaseRow] = field(default_factory=dict)
    manifests: dict[int, bytes] = field(default_factory=dict)
    """Of some of the tasks."""
    nodes: dict[str, NodeRow] = field(default_factory=dict)
    connects: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """By node and host: seconds to connect, and when."""
    audits: list[Audit] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tasks or self.leases or self.nodes or self.connects or self.audits)

    def touch(self, task: BoardTask) -> None:
        """Note that a task is about to change; its stored epoch is kept from the first time."""
        self.tasks[task.id] = task
        self.epochs.setdefault(task.id, task.epoch)

    def drain(self) -> Changes:
        """Take all changes since the last call, as copies: rows change while these are stored."""
        taken = Changes(
            {number: copy(task) for number, task in self.tasks.items()},
            self.epochs.copy(),
            leases={lease: copy(row) for lease, row in self.leases.items()},
            manifests=self.manifests.copy(),
            nodes=self.nodes.copy(),
            connects=self.connects.copy(),
            audits=self.audits.copy(),
        )
        for part in (self.tasks, self.epochs, self.leases, self.manifests, self.nodes,
                     self.connects, self.audits):  # fmt: skip
            part.clear()
        return taken


class BoardStore(Protocol):
    """Every change is atomic, and durable when the call returns."""

    def add_tasks(self, tasks: Iterable[NewTask]) -> Sequence[BoardTask]:
        """Add tasks; those that exist (same run, site, part, visit and audit) are returned
        unchanged."""
        ...

    def tasks(self, run: str) -> Sequence[BoardTask]:
        """All tasks of a run that are not done, in the order in which they were added."""
        ...

    def begun_tasks(self, run: str) -> Sequence[BoardTask]:
        """The same without those of `waiting`."""
        ...

    def waiting(self, run: str) -> Iterable[Rank]:
        """The ranks of tasks that were never given out, audits left out, in any order."""
        ...

    def tasks_of(self, numbers: Iterable[int]) -> Sequence[BoardTask]:
        """All of these must be there."""
        ...

    def count(self, run: str) -> Mapping[BoardState, int]: ...

    def losses(self, run: str) -> tuple[int, float]:
        """How often tasks of a run were lost, and the seconds under leases that have ended."""
        ...

    def open_leases(self, run: str) -> Sequence[LeaseRow]: ...

    def end_others(self, run: str, wall: float) -> Sequence[LeaseRow]:
        """End the open leases of all other runs, which would keep their places at hosts for ever;
        return them. Their results still count if their run is opened again."""
        ...

    def silent_leases(self, run: str) -> Sequence[LeaseRow]:
        """Leases of tasks that are not done whose node fell silent."""
        ...

    def lease(self, lease: Lease) -> LeaseRow | None:
        """A lease that was given at any time; None: it never was."""
        ...

    def winner(self, task: int) -> int | None:
        """The epoch of the result that counts; None: there is none."""
        ...

    def is_awaited(self, lease: Lease) -> bool:
        """Whether a result under this lease would count, or counts and is not stored yet, for a run
        that goes on: its manager may come back."""
        ...

    def spec(self, task: int) -> bytes: ...

    def manifest(self, task: int) -> bytes | None:
        """The manifest of the result that counts."""
        ...

    def done(self, run: str) -> Sequence[tuple[str, Lease]]:
        """Sites whose result is stored, with its lease; without audits."""
        ...

    def save(self, changes: Changes) -> None:
        """Raises WorldFault if someone else has changed a task since it was read."""
        ...

    def invite(self, node: str, group: str, token_key: str, wall: float) -> bool:
        """Note the token of a node; False: it was revoked, and stays so."""
        ...

    def revoke(self, node: str) -> bool:
        """False: there is no such node."""
        ...

    def nodes(self) -> Mapping[str, NodeRow]:
        """Nodes that were invited or heard of, by name."""
        ...

    def figures(self, run: str | None = None) -> Mapping[str, NodeFigures]:
        """By node, of one run or of all."""
        ...

    def connects(self) -> Mapping[str, Mapping[str, float]]:
        """Seconds to connect, by host and node."""
        ...

    def listing(self, state: BoardState | None, limit: int) -> Sequence[TaskListing]:
        """The newest first."""
        ...

    def audits(self, run: str) -> Sequence[Audit]: ...
