"""The board of a grid: its values, and the port to where they are kept.

The catalog is the only truth about who has which task and whose result counts. `control.board`
decides in memory, over rows read once; every answer that depends on a decision waits until the
rows that changed are stored, all in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import msgspec

from headgate.crawling.task_messages import Lease
from headgate.model.grid import TaskListing

__all__ = [
    "Audit",
    "BoardState",
    "BoardStore",
    "BoardTask",
    "BoardTerms",
    "Changes",
    "Ending",
    "LeaseRow",
    "NewTask",
    "NodeFigures",
    "NodeRow",
]


class BoardState(StrEnum):
    READY = "ready"
    LEASED = "leased"
    RECEIVED = "received"
    """A whole result is here and on its way into the collection."""
    DONE = "done"
    DROPPED = "dropped"
    """Given up: it was lost too often. A whole result that comes all the same is taken."""


class Ending(StrEnum):
    """How a lease ended."""

    COMMITTED = "committed"
    SUPERSEDED = "superseded"
    """Another's result counts."""
    EXPIRED = "expired"
    """Nothing was heard of the node, and another has the task, or its host, now."""
    STUCK = "stuck"
    """Beats came and nothing moved."""
    LEFT = "left"
    """The node gave it back."""
    REVOKED = "revoked"
    SPOILT = "spoilt"
    """What was received could not be stored."""

    @property
    def lost(self) -> bool:
        """Whether the task may be the reason."""
        return self in (Ending.EXPIRED, Ending.STUCK)


@dataclass(frozen=True, slots=True)
class BoardTerms:
    lease_seconds: float = 60.0
    stuck_leases: float = 3.0
    """Lease times without progress."""
    most_lost: int = 3
    twice_share: float = 0.05
    """Of all tasks: when no more are left, they are given twice."""

    silent_leases: float = 5.0
    """Lease times after which a node that is not heard of is taken for dead."""

    @property
    def silent_seconds(self) -> float:
        return self.silent_leases * self.lease_seconds

    @property
    def beat_seconds(self) -> float:
        """Between two beats of a node."""
        return self.lease_seconds / 3


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """One visit to a site, or to a part of it."""

    run: str
    """The stamp of the run that takes the result."""
    site: str
    host: str
    spec: bytes
    """The task itself, as `grid.given_tasks` has it."""
    part: str = ""
    """Which folders of the site; empty: all of it."""
    visit: int = 0
    value: float = 0.0
    """Tasks without a promise go in falling order of it."""
    due: float | None = None
    """Seconds since 1970; None: nothing was promised."""
    expected_bytes: float = 0.0
    expected_seconds: float = 0.0
    nodes_at_once: int = 1
    """That may be at its host together."""
    audit_of: int | None = None
    """The task whose result this one is compared with; its own is not kept."""
    not_group: str | None = None
    """No node of this group gets it."""


@dataclass(slots=True)
class BoardTask:
    """A task that is not done, as the board holds it; specs stay in the catalog."""

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
    """Leases that ended as if the task were to blame."""
    held_seconds: float = 0.0
    """Under leases that ended."""

    @property
    def rank(self) -> tuple[int, float, int]:
        """What goes first has the lower one: promises by the latest start, then by value."""
        if self.due is not None:
            return 0, self.due - self.expected_seconds, self.id
        return 1, -self.value, self.id


@dataclass(slots=True)
class LeaseRow:
    """A lease that was given."""

    lease: Lease
    node: str
    claim: str
    host: str
    place: int
    """Which of the host's: as many nodes may be there as it has places."""
    given: float
    """Seconds since 1970, like ``ended``."""
    ended: float | None = None
    how: Ending | None = None
    pages: int = 0
    """As last told."""
    wire_bytes: int = 0


class NodeRow(msgspec.Struct, kw_only=True):
    """A node as it was when last heard of. Times are seconds since 1970."""

    name: str
    group: str = ""
    token_key: str = ""
    """By which its token is revoked."""
    slots: int = 1
    joined: float = 0.0
    seen: float = 0.0
    life: int = 0
    up_seconds: float = 0.0
    """How long it was here at a time, in the mean."""
    reference_seconds: float | None = None
    speed: float | None = None
    """Bytes per second that its own tasks brought, while they ran."""
    revoked: bool = False


class NodeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a node did, over all its leases."""

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
    """Two nodes fetched the same; what came of comparing them."""

    task: int
    site: str
    first: str
    second: str
    """Nodes."""
    pages: int
    """Both have."""
    differing: int
    examples: tuple[str, ...] = ()
    """URLs."""


@dataclass(slots=True)
class Changes:
    """Rows as they are now; ``epochs`` are those that tasks had when they were last stored."""

    tasks: dict[int, BoardTask] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    leases: dict[Lease, LeaseRow] = field(default_factory=dict)
    manifests: dict[int, bytes] = field(default_factory=dict)
    nodes: dict[str, NodeRow] = field(default_factory=dict)
    connects: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """By node and host: seconds to connect, and when."""
    audits: list[Audit] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tasks or self.leases or self.nodes or self.connects or self.audits)

    def touch(self, task: BoardTask) -> None:
        """About to change: the epoch that it was last stored with is remembered once."""
        self.tasks[task.id] = task
        self.epochs.setdefault(task.id, task.epoch)

    def take(self) -> Changes:
        """All since the last time, as copies: rows go on changing while these are stored."""
        taken = Changes(
            {number: copy(task) for number, task in self.tasks.items()},
            self.epochs.copy(),
            {lease: copy(row) for lease, row in self.leases.items()},
            self.manifests.copy(),
            self.nodes.copy(),
            self.connects.copy(),
            self.audits.copy(),
        )
        for part in (self.tasks, self.epochs, self.leases, self.manifests, self.nodes,
                     self.connects, self.audits):  # fmt: skip
            part.clear()
        return taken


class BoardStore(Protocol):
    """Every change is durable when the call returns, all of it or nothing."""

    def add_tasks(self, tasks: Iterable[NewTask]) -> Sequence[BoardTask]:
        """One that is there already (same run, site, part, visit and audit) is answered as it
        is."""
        ...

    def tasks(self, run: str) -> Sequence[BoardTask]:
        """Of a run, all that are not done, in the order in which they were added."""
        ...

    def count(self, run: str) -> Mapping[BoardState, int]: ...

    def losses(self, run: str) -> tuple[int, float]:
        """Of all its tasks: how often they were lost, and seconds held under leases that ended."""
        ...

    def open_leases(self, run: str) -> Sequence[LeaseRow]: ...

    def silent_leases(self, run: str) -> Sequence[LeaseRow]:
        """Of tasks that are not done, those whose node was not heard of."""
        ...

    def lease(self, lease: Lease) -> LeaseRow | None:
        """One that was given at any time; None: never."""
        ...

    def winner(self, task: int) -> int | None:
        """The epoch of the result that counts; None: there is none."""
        ...

    def spec(self, task: int) -> bytes: ...

    def manifest(self, task: int) -> bytes | None:
        """Of the result that counts, as it was stored with it."""
        ...

    def done(self, run: str) -> Sequence[tuple[str, Lease]]:
        """Sites whose result is stored, and under which lease; audits left out."""
        ...

    def save(self, changes: Changes) -> None:
        """`WorldFault` where somebody else has changed a task since it was read."""
        ...

    def invite(self, node: str, group: str, token_key: str, wall: float) -> None: ...

    def revoke(self, node: str) -> bool:
        """Whether there is such a node."""
        ...

    def nodes(self) -> Mapping[str, NodeRow]:
        """Invited, or heard of."""
        ...

    def figures(self, run: str | None = None) -> Mapping[str, NodeFigures]:
        """By node, of a run or of all."""
        ...

    def connects(self) -> Mapping[str, Mapping[str, float]]:
        """Seconds to connect, by host and node."""
        ...

    def listing(self, state: BoardState | None, limit: int) -> Sequence[TaskListing]:
        """The newest first."""
        ...

    def audits(self, run: str) -> Sequence[Audit]: ...
