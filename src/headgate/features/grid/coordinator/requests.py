"""Answers the six requests of nodes, from the scheduler's board and the run's folder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.features.grid.coordinator.board_store import BoardSaver
from headgate.features.grid.coordinator.task_data import GivenTasks, PendingTaskLoader
from headgate.features.grid.coordinator.upload_commit import UploadCommit
from headgate.features.grid.coordinator.upload_files import UploadFiles
from headgate.features.grid.coordinator.uploads import Uploads
from headgate.features.grid.protocol import (
    MOST_TASKS,
    TASK_BYTES,
    VERSION,
    Beat,
    Chunk,
    Claim,
    ClaimAnswer,
    Idle,
    Known,
    Lease,
    Manifest,
    Orders,
    Put,
    Question,
    Refused,
    ResultVerdict,
    StopTask,
)
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.inabilities import Inabilities
from headgate.features.grid.scheduler.leases import LeasedTotals
from headgate.features.grid.scheduler.node_registry import NodeRegistry
from headgate.features.grid.scheduler.placement_policies import Connects, StartBarrier
from headgate.features.grid.scheduler.records import (
    BoardState,
    BoardStore,
    BoardTask,
    LeaseEnding,
    NodeRow,
)
from headgate.features.grid.scheduler.task_choice import Asker, OpenLease
from headgate.features.grid.scheduler.task_index import PendingTaskIndex
from headgate.features.grid.trust.hoarding import is_overdue, is_own, most_held
from headgate.features.grid.trust.journal_check import JournalChecks, Judge
from headgate.model.errors import WorldFault
from headgate.storage.collection import Collection

__all__ = ["DeskTerms", "DeskView", "EndingTasks", "RequestDesk", "lately_seconds"]

_SAVE_NODES_SECONDS = 60.0
_LONGEST_WAIT_SECONDS, _AFTER_LAPSE_SECONDS = 5.0, 0.05
"""Waiting times of a node for which there is no task at the moment."""


@dataclass(frozen=True, slots=True)
class DeskTerms:
    """Settings of the manager beside those of the board."""

    budget: Callable[[float], float | None] = lambda _: None
    """Bytes per second that are available for so many seconds from now; None: no limit."""
    free_bytes: Callable[[], int] = lambda: 2**60
    """Disk space that results may still take."""
    reference: str = ""
    """A URL for comparing the speed of nodes."""
    more_to_come: Callable[[], bool] = lambda: False
    """Whether more tasks will come when all on the board are done."""


def lately_seconds(lease_seconds: float) -> float:
    """A node that was connected when the last manager ended was last saved as seen at most so long
    before."""
    return lease_seconds + _SAVE_NODES_SECONDS


@dataclass(slots=True)
class RequestDesk:
    """The manager's desk: answers the six requests of nodes, from the board and the run's folder.

    Nothing is answered before it is stored. Requests during a transaction share the next one
    (`features.grid.coordinator.board_store`); results are received by
    `features.grid.coordinator.uploads`.

    A `headgate.features.grid.protocol.TaskDesk`.
    """

    board: Board
    store: BoardStore
    arrivals: UploadFiles
    clock: Clock
    terms: DeskTerms = field(default=DeskTerms())
    registry: NodeRegistry = field(default_factory=NodeRegistry)
    totals: LeasedTotals = field(default_factory=LeasedTotals)
    connects: dict[str, dict[str, float]] = field(default_factory=dict)
    """Connect times in seconds, by host and node."""
    collection: Path | None = None
    """Has the memories of the sites; None: the collection of the results."""
    gathering: StartBarrier = field(default_factory=StartBarrier)
    judge: Judge = field(default_factory=JournalChecks)
    inabilities: Inabilities = field(default_factory=Inabilities)
    ending: EndingTasks = field(init=False)
    committing: UploadCommit = field(init=False)
    receiving: Uploads = field(init=False)
    _saving: BoardSaver = field(init=False)
    _near: PendingTaskLoader = field(init=False)
    _given: GivenTasks = field(init=False)
    _nodes_saved: float = -math.inf
    _told_end: set[str] = field(default_factory=set)
    _idle_since: dict[str, float] = field(default_factory=dict)
    """When nodes were last told that there is nothing for them."""
    _taken_away: Counter[int] = field(default_factory=Counter)
    """How often a task took too long."""
    _cut_off: set[str] = field(default_factory=set)
    """Revoked nodes that were already disconnected."""

    def __post_init__(self) -> None:
        board, store, arrivals, clock = self.board, self.store, self.arrivals, self.clock
        self._saving = BoardSaver(board, store)
        self._near = PendingTaskLoader(board, store)
        self.ending = EndingTasks(board)
        memories = Collection(self.collection or arrivals.run.collection)
        self._given = GivenTasks(board, store, arrivals.run, memories, clock)
        self.committing = UploadCommit(board, store, arrivals, self.registry, self._saving)
        self.receiving = Uploads(
            board,
            store,
            arrivals=arrivals,
            clock=clock,
            given=self._given,
            saving=self._saving,
            committing=self.committing,
            free_bytes=self.terms.free_bytes,
            judge=self.judge,
        )

    @property
    def fault(self) -> BaseException | None:
        """Why the desk has stopped answering; then another must be opened."""
        return self._saving.fault

    async def open(self, *, far: bool = False) -> None:
        """Continue from an earlier manager: leases are extended once, received results are stored
        now. ``far``: tasks that were never given out are read when their turn comes."""
        run, now = self.arrivals.run.stamp, self.clock.now()
        lease = self.board.terms.lease_seconds
        self.registry.rows = dict(self.store.nodes())
        for node, did in self.store.figures().items():
            self.registry.stored[node] = did.committed
        since = self.clock.wall() - lately_seconds(lease)
        if any(row.seen > since for row in self.registry.rows.values()):
            self.totals.inherit(now + lease)
        self.connects = {host: dict(found) for host, found in self.store.connects().items()}
        if far:
            self.board.tasks.far = PendingTaskIndex.from_ranks(self.store.waiting(run))
        for task in self.store.begun_tasks(run) if far else self.store.tasks(run):
            self.board.add(task)
        losses = self.board.losses
        losses.lost, losses.held_seconds = self.store.losses(run)
        others = self.store.end_others(run, self.clock.wall())
        tasks = self.store.tasks_of(row.lease.task for row in others)
        for row, task in zip(others, tasks, strict=True):
            self.board.leases.shun(row, task, now + lease)
        for row in self.store.open_leases(run):
            self.gathering.is_over(now)
            self.board.take_up(row, now, self.clock.wall())
            self.registry.gave(row.node, row.host)
        for row in self.store.silent_leases(run):
            self.board.tasks.fell_silent(row)  # its node may still come back
        await self.receiving.take_up()

    def running(self) -> Mapping[Lease, Progress]:
        """Last reported progress of tasks held by connected nodes."""
        told = self.registry.progress(self.clock.now(), self.board.terms.lease_seconds)
        return {lease: word for lease, word in told.items() if self.board.leases.get(lease)}

    def not_told_of_the_end(self) -> set[str]:
        """Connected nodes that do not know yet that nothing is left."""
        here = self.registry.here(self.clock.now(), self.board.terms.lease_seconds)
        return set(here) - self._told_end

    def take_rows(self, rows: Mapping[str, NodeRow]) -> list[str]:
        """Update nodes from the catalog, which other commands change; returns newly revoked
        ones."""
        revoked: list[str] = []
        for name, row in rows.items():
            known = self.registry.rows.setdefault(name, row)
            known.group, known.token_key = row.group, row.token_key
            if row.revoked and name not in self._cut_off:
                revoked.append(name)
                self.board.give_back(name, LeaseEnding.REVOKED, self.clock.wall())
            known.revoked = row.revoked
        self._cut_off = {name for name, row in rows.items() if row.revoked}
        return revoked

    async def close(self) -> None:
        """Save what is known of nodes. Their door is closed: nothing is refused here."""
        self.receiving.close()
        self.board.changes.nodes |= self.registry.rows
        await self._saving.stored()

    async def claim(self, node: str, claim: Claim) -> ClaimAnswer:
        self._let_in(node, claim)
        row = self.registry.rows[node]
        row.slots, row.bandwidth = claim.slots, claim.bandwidth
        now = self.clock.now()
        most = most_held(claim.slots, self.registry.stored[node], row.group)
        wait = self.gathering.wait(now, self.registry.last_came)
        if wait > 0:
            return Idle(wait=wait, left=max(self.board.tasks.left, 1))
        asker = Asker(
            node,
            claim.id,
            group=row.group,
            free_bytes=claim.free_bytes,
            not_these=self.inabilities.of(node) | frozenset(claim.not_these),
            most_held=min(most, MOST_TASKS),
            nodes_here=lambda: len(self.registry.here(now, self.board.terms.lease_seconds)),
        )
        held = None
        if self.terms.free_bytes() > 0:
            held = self.board.claim(asker, now, self.clock.wall())
            while held is None and self.board.tasks.far.wanted:
                await self._near.load_next()
                held = self.board.claim(asker, now, self.clock.wall())
        if held is not None:
            number = held.task.id
            self.registry.gave(node, held.row.host)
            self._idle_since.pop(node, None)
            spec = await self._saving.stored_with_spec(number)
            if len(spec) <= TASK_BYTES:
                self._given.know(number, spec)
                return await self._given.grant(held)
            _reject(self.board, held, self.clock.wall())
        if self.board.changes:
            await self._saving.stored()
        self._idle_since[node] = now
        return self._idle(node, now)

    def _idle(self, node: str, now: float) -> Idle:
        """No task now; it should ask again when the lease of a silent node may have ended."""
        untold = not self.committing.idle  # a result may lead to new tasks
        left = self.board.tasks.left + self.terms.more_to_come() + untold
        lease = self.board.terms.lease_seconds
        if not left:
            self._told_end.add(node)
            return Idle(wait=lease / 2, left=0)
        free = self.board.leases.next_end(now - self.board.terms.grace_seconds)
        return Idle(
            wait=min(lease / 6, _LONGEST_WAIT_SECONDS, free + _AFTER_LAPSE_SECONDS), left=left
        )

    async def beat(self, node: str, beat: Beat) -> Orders:
        self._let_in(node, beat)
        now, wall = self.clock.now(), self.clock.wall()
        new_life = self.registry.beat(node, beat, now)
        if new_life:
            self.totals.begin(node)
            self.board.changes.nodes[node] = self.registry.rows[node]
        for word in beat.cannot:
            refused = self.board.leases.get(word.lease, node)
            if refused is not None:
                self.inabilities.note(refused.task.id, node, word.what, word.why)
        if beat.back:
            self.board.give_back(node, LeaseEnding.LEFT, wall, frozenset(beat.back))
        if beat.leaving:
            self.board.give_back(node, LeaseEnding.LEFT, wall)
        seconds = self.board.terms.lease_seconds
        budget = self.terms.budget(seconds)
        overdue = self._overdue(node, now)
        self.board.give_back(node, LeaseEnding.OVERDUE, wall, overdue)
        good, stop = self.board.beat(
            node, beat.tasks, now, wall, new_life=new_life, paused=budget == 0.0
        )
        held = set(good)
        self.registry.holds(node, {of.lease: of.progress for of in beat.tasks if of.lease in held})
        for host, took in beat.connects.items():
            if self.registry.had(node, host):  # all else may be made up, and would be stored
                self.connects.setdefault(host, {})[node] = took
                self.board.changes.connects[node, host] = took, wall
        if now - self._nodes_saved >= _SAVE_NODES_SECONDS:
            self._nodes_saved = now
            self.board.changes.nodes |= self.registry.rows
        if self.board.changes.tasks or self.board.changes.nodes:
            await self._saving.stored()
        weights = {} if budget is None else self.registry.weights(now, seconds)
        total = self.totals.lease(
            node,
            (beat.number, beat.heard),
            budget=budget,
            weights=weights,
            until=now + seconds,
            now=now,
            holds=beat.holds,
        )
        return Orders(
            good=tuple(good), stop=tuple(stop), end=self.ending.orders(good), seconds=seconds,
            total=total, total_seconds=seconds, reference=self.terms.reference,
        )  # fmt: skip

    def _overdue(self, node: str, now: float) -> set[Lease]:
        """Leases of a volunteer's node whose task goes to another, which has nothing to do."""
        lease_seconds = self.board.terms.lease_seconds
        idle = {who for who, at in self._idle_since.items() if now - at <= lease_seconds}
        if not idle - {node} or is_own(self.registry.rows[node].group):
            return set()
        found: set[Lease] = set()
        for held in self.board.leases.of_node(node):
            task, before = held.task, self._taken_away[held.task.id]
            if is_overdue(now - held.since, task.expected_seconds, before, lease_seconds):
                self._taken_away[task.id] += 1
                self.inabilities.exclude(task.id, node)
                found.add(held.row.lease)
        return found

    async def known(self, node: str, known: Known) -> bytes:
        self._let_in(node, known)
        if await self._given.lease(node, known.lease) is None:
            return b""
        piece = await self._given.memory(known)
        held = self.board.leases.get(known.lease)
        if piece and held is not None:  # over a slow line a memory may take hours
            held.moved = self.clock.now()
        return piece

    async def put(self, node: str, put: Put) -> ResultVerdict:
        self._let_in(node, put)
        return await self.receiving.put(node, put)

    async def chunk(self, node: str, chunk: Chunk, data: bytes) -> bool:
        self._let_in(node)
        return await self.receiving.chunk(node, chunk, data)

    async def done(self, node: str, manifest: Manifest) -> ResultVerdict:
        self._let_in(node, manifest)
        return await self.receiving.done(node, manifest)

    def _let_in(self, node: str, question: Question | None = None) -> None:
        if self.fault is not None:
            raise WorldFault(str(self.fault))
        row = self.registry.heard(node, self.clock.now(), self.clock.wall())
        if row.revoked:
            raise Refused(f"{node} is revoked")
        if question is not None and question.version != VERSION:
            raise Refused(
                f"this manager speaks version {VERSION} and {node} version {question.version};"
                " install the same Headgate on both"
            )


def _reject(board: Board, held: OpenLease, wall: float) -> None:
    """No node can get this task: it is dropped, or every claim would get it again."""
    board.give_back(held.row.node, LeaseEnding.LEFT, wall, (held.row.lease,))
    if held.task.state is BoardState.READY:
        board.drop(held.task)


@dataclass(frozen=True, slots=True)
class DeskView:
    """What a desk knows, for the choice of nodes for tasks.

    A `headgate.features.grid.scheduler.placement_policies.GridView`.
    """

    desk: RequestDesk

    def here(self) -> Mapping[str, NodeRow]:
        lease = self.desk.board.terms.lease_seconds
        registry = self.desk.registry
        return {name: registry.rows[name] for name in registry.here(self.desk.clock.now(), lease)}

    def held(self, node: str) -> int:
        return self.desk.board.leases.held(node)

    def waiting(self) -> Sequence[BoardTask]:
        return self.desk.board.tasks.in_state(BoardState.READY)

    def waits(self, task: int) -> bool:
        return task in self.desk.board.choice.ready

    def came(self) -> int:
        return self.desk.board.choice.ready.came

    def connects(self) -> Connects:
        return self.desk.connects


@dataclass(slots=True)
class EndingTasks:
    """Ends tasks early: the node that holds one delivers what it has."""

    board: Board
    _why: dict[int, str] = field(default_factory=dict)
    _leases: dict[Lease, str] = field(default_factory=dict)
    """Leases that end without their task."""

    def end(self, task: int, why: str) -> None:
        """Its node learns of it with the next heartbeat; a task that no node holds is dropped at
        once."""
        self._why.setdefault(task, why)
        self.drop_waiting()

    def end_lease(self, lease: Lease, why: str) -> None:
        """The same for a lease; its task is repeated if the node does not deliver."""
        self._leases = {held: w for held, w in self._leases.items() if self.board.leases.get(held)}
        self._leases[lease] = why

    def end_all(self, why: str) -> None:
        """End all tasks on the board."""
        open_tasks = [
            *self.board.tasks.in_state(BoardState.READY),
            *self.board.tasks.in_state(BoardState.LEASED),
        ]
        for task in open_tasks:
            self.end(task.id, why)

    def drop_waiting(self) -> None:
        """Drop ended tasks that were given back, or lost with their node."""
        for number in list(self._why):
            task = self.board.tasks.get(number)
            if task is None:
                del self._why[number]
            elif task.state is BoardState.READY:
                self.board.drop(task)

    def orders(self, leases: Sequence[Lease]) -> tuple[StopTask, ...]:
        """Those of the given leases that should end, with the reason."""
        reasons = ((lease, self._why.get(lease.task, self._leases.get(lease))) for lease in leases)
        return tuple(StopTask(lease=lease, why=why) for lease, why in reasons if why is not None)
