"""The manager's desk: answers nodes by the six verbs, over the board and the run's folder.

Nothing is told to a node before it is stored. All who ask while a transaction is under way share
the next one. A result goes this way, and a crash at any point of it costs nothing but time:

    chunks ─► part files ─► sha256 right, journal readable ─► `received`, stored: it counts
      ─► files renamed into the run, durable ─► `done`, stored ─► the node may delete its own
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from headgate.control.board import Asker, Board
from headgate.control.board_rows import BoardState, BoardStore, BoardTask, Ending, LeaseRow, NodeRow
from headgate.control.leased_totals import LeasedTotals
from headgate.control.node_roll import NodeRoll
from headgate.control.open_leases import OpenLease
from headgate.crawling.group_commit import GroupCommit
from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.crawling.task_messages import (
    KNOWN_BYTES,
    VERSION,
    Beat,
    Chunk,
    Claim,
    ClaimAnswer,
    Grant,
    Idle,
    Known,
    Lease,
    Manifest,
    Orders,
    Put,
    Question,
    Verdict,
    Word,
    decoded,
    encoded,
)
from headgate.crawling.task_source import Refused
from headgate.grid.committing import Committing, Received
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.task import Task
from headgate.model.units import Seconds
from headgate.storage.arriving import Deliveries
from headgate.storage.collection import Collection
from headgate.storage.faults import reading
from headgate.storage.journal import Owner

__all__ = ["Desk", "DeskTerms", "TaskSpec"]

_SAVE_NODES_SECONDS = 60.0
_COMMIT_PATIENCE_SECONDS = 2.0
"""That an answer waits for its result to be stored; the node asks again."""
_LEAST_BOUND_BYTES = 100e6
_AT_LEAST_SECONDS = 1e-3
"""A deadline that has passed is one that passes now."""
_BEYOND_EXPECTED = 10.0


class TaskSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a node is told of a task, as the catalog holds it."""

    task: Task
    contact: str = ""


@dataclass(frozen=True, slots=True)
class DeskTerms:
    """What the manager decides beside the board."""

    budget: Callable[[float], float | None] = lambda _: None
    """Bytes per second that hold for so many seconds from now on; None: no limit."""
    free_bytes: Callable[[], int] = lambda: 2**60
    """That results may still take."""
    reference: str = ""
    """A URL by which nodes are compared."""


@dataclass(slots=True)
class Desk:
    """A `headgate.crawling.task_source.TaskDesk`."""

    board: Board
    store: BoardStore
    arrivals: Deliveries
    clock: Clock
    terms: DeskTerms = field(default=DeskTerms())
    roll: NodeRoll = field(default_factory=NodeRoll)
    totals: LeasedTotals = field(default_factory=LeasedTotals)
    connects: dict[str, dict[str, float]] = field(default_factory=dict)
    """Seconds that nodes took to connect, by host and node."""
    committing: Committing = field(init=False)
    _saving: GroupCommit[None] = field(init=False)
    _specs: dict[int, TaskSpec] = field(default_factory=dict)
    """Of tasks given out."""
    _checked: set[Lease] = field(default_factory=set)
    """Whose result is being looked at."""
    _nodes_saved: float = -math.inf
    _told_end: set[str] = field(default_factory=set)
    _cut_off: set[str] = field(default_factory=set)
    """Nodes whose tokens were revoked, as far as was acted upon."""

    def __post_init__(self) -> None:
        self._saving = GroupCommit(self._begin_saving)
        self.committing = Committing(self.board, self.store, self.arrivals, self.roll, self._stored)

    @property
    def fault(self) -> BaseException | None:
        """Why nothing is answered any more: whoever opened the desk opens another."""
        return self.committing.fault

    async def open(self) -> None:
        """Take up what an earlier manager left: leases get one more time, results received are
        stored now."""
        run, now = self.arrivals.run.stamp, self.clock.now()
        self.roll.rows = dict(self.store.nodes())
        self.connects = {host: dict(found) for host, found in self.store.connects().items()}
        for task in self.store.tasks(run):
            self.board.add(task)
        for row in self.store.open_leases(run):
            self.board.take_up(row, now)
        self.arrivals.tidy(lambda lease: self.board.task(lease.task) is not None)
        for task in self.board.in_state(BoardState.RECEIVED):
            await self._take_up_received(task.id)

    def running(self) -> Mapping[Lease, Progress]:
        """What nodes that are here told last of the tasks they hold."""
        told = self.roll.progress(self.clock.now(), self.board.terms.lease_seconds)
        return {lease: word for lease, word in told.items() if self.board.open_lease(lease)}

    def not_told_of_the_end(self) -> set[str]:
        """Nodes that are here and did not hear yet that nothing is left."""
        here = self.roll.here(self.clock.now(), self.board.terms.lease_seconds)
        return set(here) - self._told_end

    def take_rows(self, rows: Mapping[str, NodeRow]) -> dict[str, str]:
        """Nodes as another command left them in the catalog; those revoked since, with the key of
        their token."""
        revoked: dict[str, str] = {}
        for name, row in rows.items():
            known = self.roll.rows.setdefault(name, row)
            known.group, known.token_key = row.group, row.token_key
            if row.revoked and name not in self._cut_off:
                revoked[name] = row.token_key
                self.board.give_back(name, Ending.REVOKED, self.clock.wall())
            known.revoked = row.revoked
        self._cut_off = {name for name, row in rows.items() if row.revoked}
        return revoked

    async def close(self) -> None:
        """What is known of nodes is stored; nobody is answered after it."""
        self.board.changes.nodes |= self.roll.rows
        await self._stored()

    async def claim(self, node: str, claim: Claim) -> ClaimAnswer:
        self._let_in(node, claim)
        row = self.roll.rows[node]
        row.slots = claim.slots
        now = self.clock.now()
        asker = Asker(node, claim.id, row.group, claim.free_bytes, frozenset(claim.not_these))
        held = None
        if self.terms.free_bytes() > 0:
            held = self.board.claim(asker, now, self.clock.wall())
        if self.board.changes:
            await self._stored()
        if held is None:
            left = self.board.left
            lease = self.board.terms.lease_seconds
            if not left:
                self._told_end.add(node)
            return Idle(wait=min(lease / 6, 5.0) if left else lease / 2, left=left)
        return await self._grant(held)

    async def beat(self, node: str, beat: Beat) -> Orders:
        self._let_in(node, beat)
        now, wall = self.clock.now(), self.clock.wall()
        if self.roll.beat(node, beat, now):
            self.totals.begin(node)
            self.board.changes.nodes[node] = self.roll.rows[node]
        if beat.back:
            self.board.give_back(node, Ending.LEFT, wall, frozenset(beat.back))
        if beat.leaving:
            self.board.give_back(node, Ending.LEFT, wall)
        good, stop = self.board.beat(node, beat.tasks, now, wall)
        for host, seconds in beat.connects.items():
            self.connects.setdefault(host, {})[node] = seconds
            self.board.changes.connects[node, host] = seconds, wall
        if now - self._nodes_saved >= _SAVE_NODES_SECONDS:
            self._nodes_saved = now
            self.board.changes.nodes |= self.roll.rows
        if self.board.changes.tasks or self.board.changes.nodes:
            await self._stored()
        seconds = self.board.terms.lease_seconds
        total = self.totals.lease(
            node, (beat.number, beat.heard), self.terms.budget(seconds),
            self.roll.weights(now, seconds), now + seconds, now,
        )  # fmt: skip
        return Orders(
            good=tuple(good), stop=tuple(stop), seconds=seconds,
            total=total, total_seconds=seconds, reference=self.terms.reference,
        )  # fmt: skip

    async def known(self, node: str, known: Known) -> bytes:
        self._let_in(node, known)
        row = await self._lease(node, known.lease)
        if row is None:
            return b""
        spec = await self._spec(known.lease.task)
        return await asyncio.to_thread(self._memory, spec.task.name, known.offset)

    async def put(self, node: str, put: Put) -> Verdict:
        self._let_in(node, put)
        row = await self._lease(node, put.lease)
        if row is None:
            return Verdict(word=Word.NEVER_YOURS)
        settled = await self._settled(put.lease)
        if settled is not None:
            return settled
        spec = await self._spec(put.lease.task)
        owner, size = _owner(spec.task), sum(file.size for file in put.files)
        if not self.arrivals.fits(owner, (file.name for file in put.files)):
            raise Refused(f"these are not the files of a visit to {owner.site}")
        if size > self._most_bytes(put.lease.task):
            raise Refused(f"{size:,} bytes of {owner.site} are far more than was expected")
        if size > self.terms.free_bytes():
            return Verdict(word=Word.WAIT, wait=self.board.terms.lease_seconds)
        await asyncio.to_thread(self.arrivals.expect, put.lease, put.files)
        return Verdict(word=Word.SEND)

    async def chunk(self, node: str, chunk: Chunk, data: bytes) -> bool:
        held = self.board.open_lease(chunk.lease)
        if held is not None and held.row.node != node:
            return False
        if held is None and await self._lease(node, chunk.lease) is None:
            return False
        return self.arrivals.write(chunk, data)

    async def done(self, node: str, manifest: Manifest) -> Verdict:
        self._let_in(node, manifest)
        lease = manifest.lease
        row = await self._lease(node, lease)
        if row is None:
            return Verdict(word=Word.NEVER_YOURS)
        settled = await self._settled(lease)
        if settled is not None:
            return settled
        if lease in self._checked:
            return Verdict(word=Word.RECEIVED)
        self._checked.add(lease)
        try:
            return await self._check(row, manifest)
        finally:
            self._checked.discard(lease)

    async def _check(self, row: LeaseRow, manifest: Manifest) -> Verdict:
        """Whether the result is whole, which may take a while; nothing is written meanwhile."""
        lease = manifest.lease
        announced = self.arrivals.expected(lease)
        if [file.name for file in announced] != [file.name for file in manifest.files]:
            return Verdict(word=Word.RESEND, files=tuple(range(len(manifest.files))))
        self.arrivals.close(lease)
        owner = _owner((await self._spec(lease.task)).task)
        wrong = await asyncio.to_thread(self.arrivals.wrong, lease, manifest.files)
        if wrong:
            self.arrivals.reopen(lease, announced)
            return Verdict(word=Word.RESEND, files=wrong)
        if not await asyncio.to_thread(self.arrivals.is_journal_of, lease, manifest.files, owner):
            await asyncio.to_thread(self.arrivals.drop, lease)
            raise Refused(f"the journal of {owner.site} is none that Headgate wrote")
        return await self._receive(row, manifest, owner)

    async def _receive(self, row: LeaseRow, manifest: Manifest, owner: Owner) -> Verdict:
        if self.board.receive(row, encoded(manifest), self.clock.wall()):
            await self._stored()
            stored = self._begin_storing(row, manifest, owner)
            await asyncio.wait([stored], timeout=_COMMIT_PATIENCE_SECONDS)
        settled = await self._settled(manifest.lease)
        return settled or Verdict(word=Word.RECEIVED)

    def _begin_storing(self, row: LeaseRow, manifest: Manifest, owner: Owner) -> asyncio.Task[None]:
        task = self.board.task(row.lease.task)
        assert task is not None
        return self.committing.begin(Received(row, manifest, owner, task.audit_of))

    async def _take_up_received(self, task: int) -> None:
        """What came may have its own name already, or may have been lost by a power cut."""
        data = self.store.manifest(task)
        assert data is not None
        manifest = decoded(data, Manifest)
        row = self.store.lease(manifest.lease)
        assert row is not None
        owner = _owner((await self._spec(task)).task)
        if await asyncio.to_thread(self.arrivals.wrong, manifest.lease, manifest.files):
            self.board.spoil(row)
            await self._stored()
        else:
            await self._begin_storing(row, manifest, owner)

    def _let_in(self, node: str, question: Question) -> None:
        if self.fault is not None:
            raise WorldFault(str(self.fault))
        row = self.roll.heard(node, self.clock.now(), self.clock.wall())
        if row.revoked:
            raise Refused(f"{node} is revoked")
        if question.version != VERSION:
            raise Refused(
                f"this manager speaks version {VERSION} and {node} version {question.version};"
                " install the same Headgate on both"
            )

    async def _lease(self, node: str, lease: Lease) -> LeaseRow | None:
        """That was really given to this node."""
        held = self.board.open_lease(lease)
        row = held.row if held is not None else await asyncio.to_thread(self.store.lease, lease)
        return row if row is not None and row.node == node else None

    async def _settled(self, lease: Lease) -> Verdict | None:
        """None: its result would count."""
        standing = self.board.standing(lease)
        if standing is None:
            winner = await asyncio.to_thread(self.store.winner, lease.task)
            if winner != lease.epoch:
                return Verdict(word=Word.SUPERSEDED)
            stored = lease.task not in self.committing.unfinished
            return Verdict(word=Word.COMMITTED if stored else Word.RECEIVED)
        if standing.state is BoardState.RECEIVED:
            return Verdict(word=Word.RECEIVED if standing.wins else Word.SUPERSEDED)
        return None

    async def _grant(self, held: OpenLease) -> Grant:
        task = held.task
        spec = self._with_time_left(await self._spec(task.id), task)
        memory = Collection(self.arrivals.run.collection).memory(spec.task.name)
        size = memory.stat().st_size if memory.exists() else 0
        return Grant(
            lease=held.row.lease,
            seconds=max(held.until - self.clock.now(), 0.0),
            task=spec.task,
            stamp=self.arrivals.run.stamp,
            contact=spec.contact,
            expected_bytes=task.expected_bytes,
            most_bytes=self._most_bytes(task.id),
            known_bytes=size,
        )

    def _with_time_left(self, spec: TaskSpec, task: BoardTask) -> TaskSpec:
        """The site's deadline counts from now."""
        if task.due is None:
            return spec
        left = Seconds(max(task.due - self.clock.wall(), _AT_LEAST_SECONDS))
        site = dataclasses.replace(spec.task.site, deadline=left)
        return msgspec.structs.replace(spec, task=dataclasses.replace(spec.task, site=site))

    def _most_bytes(self, number: int) -> float:
        task = self.board.task(number)
        if task is None or not task.expected_bytes:
            return 2.0**60
        return max(_BEYOND_EXPECTED * task.expected_bytes, _LEAST_BOUND_BYTES)

    async def _spec(self, task: int) -> TaskSpec:
        if task not in self._specs:
            data = await asyncio.to_thread(self.store.spec, task)
            self._specs[task] = decoded(data, TaskSpec)
        return self._specs[task]

    def _memory(self, site: str, offset: int) -> bytes:
        path = Collection(self.arrivals.run.collection).memory(site)
        with reading(path):
            try:
                with path.open("rb") as file:
                    file.seek(offset)
                    return file.read(KNOWN_BYTES)
            except FileNotFoundError:
                return b""

    async def _stored(self) -> None:
        """All that was decided so far. Where that fails, the board is ahead of the catalog: nobody
        is told anything any more."""
        try:
            await self._saving.commit(None)
        except HeadgateError as fault:
            self.committing.fault = fault
            raise

    def _begin_saving(self, _: Sequence[None]) -> Callable[[], object]:
        return partial(self.store.save, self.board.take_changes())


def _owner(task: Task) -> Owner:
    return Owner(task.name, task.visit if task.kept is not None else 0)
