"""An in-memory task desk: the twin of the desk on disk.

It has no priorities: a node gets the first task whose host is free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from headgate.features.grid.protocol import (
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
    Refused,
    ResultVerdict,
    StopTask,
    Word,
)
from headgate.model.task import Task

__all__ = ["MemoryDesk"]


@dataclass(slots=True)
class _Row:
    task: Task
    host: str
    memory: bytes = b""
    handed: bytes = b""
    epoch: int = 0
    holder: str = ""
    """The node that has it now; empty: nobody."""
    claim: str = ""
    until: float = 0.0
    winner: int | None = None
    """The epoch of the result that counts."""
    result: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class MemoryDesk:
    """A `headgate.features.grid.protocol.TaskDesk`."""

    now: Callable[[], float]
    lease_seconds: float = 60.0
    total: float | None = None
    room: Callable[[], int] = lambda: 2**60
    """Bytes of results that it has still room for."""
    most_bytes: float = 2.0**60
    """Of one result."""
    revoked: set[str] = field(default_factory=set)
    _rows: dict[int, _Row] = field(default_factory=dict)
    _leases: dict[Lease, str] = field(default_factory=dict)
    """All that were ever given, and to whom."""
    _parts: dict[Lease, tuple[Put, list[bytearray]]] = field(default_factory=dict)

    def add(self, task: Task, host: str, memory: bytes = b"", handed: bytes = b"") -> int:
        number = len(self._rows) + 1
        self._rows[number] = _Row(task, host, memory, handed)
        return number

    def results(self) -> Mapping[int, Mapping[str, bytes]]:
        """Committed results, by task and file."""
        return {number: row.result for number, row in self._rows.items() if row.winner is not None}

    def holder(self, task: int) -> str:
        """The node with a valid lease; empty: none."""
        row = self._rows[task]
        return row.holder if row.until > self.now() else ""

    async def claim(self, node: str, claim: Claim) -> ClaimAnswer:
        self._let_in(node, claim)
        for number, row in self._rows.items():
            if row.holder == node and row.claim == claim.id:
                return self._grant(number, row)
        free = (
            (number, row)
            for number, row in self._rows.items()
            if number not in claim.not_these and self._may_be_given(row)
        )
        found = next(free, None)
        if found is None:
            left = sum(row.winner is None for row in self._rows.values())
            return Idle(wait=self.lease_seconds / 3, left=left)
        number, row = found
        row.epoch += 1
        row.holder, row.claim, row.until = node, claim.id, self.now() + self.lease_seconds
        self._leases[Lease(number, row.epoch)] = node
        return self._grant(number, row)

    async def beat(self, node: str, beat: Beat) -> Orders:
        self._let_in(node, beat)
        good, stop = [], []
        for held in beat.tasks:
            row = self._rows.get(held.lease.task)
            if row is None or not self._holds(node, held.lease, row):
                stop.append(StopTask(lease=held.lease, why="lost"))
            elif beat.leaving or held.lease in beat.back:
                row.holder = ""
            else:
                row.until = self.now() + self.lease_seconds
                good.append(held.lease)
        seconds = self.lease_seconds
        return Orders(
            good=tuple(good), stop=tuple(stop),
            seconds=seconds, total=self.total, total_seconds=seconds,
        )  # fmt: skip

    async def known(self, node: str, known: Known) -> bytes:
        self._let_in(node, known)
        if self._leases.get(known.lease) != node:
            return b""
        row = self._rows[known.lease.task]
        data = row.handed if known.handed else row.memory
        return data[known.offset : known.offset + known.most]

    async def put(self, node: str, put: Put) -> ResultVerdict:
        self._let_in(node, put)
        settled = self._settled(node, put.lease)
        if settled is not None:
            return settled
        size = sum(file.size for file in put.files)
        if size > self.most_bytes or not any(f.name.endswith(".journal") for f in put.files):
            return self._refuse(put.lease)
        if size > self.room():
            return ResultVerdict(word=Word.WAIT, wait=self.lease_seconds)
        before = self._parts.get(put.lease)
        if before is None or before[0] != put:
            self._parts[put.lease] = put, [bytearray(file.size) for file in put.files]
        return ResultVerdict(word=Word.SEND)

    async def chunk(self, node: str, chunk: Chunk, data: bytes) -> bool:
        self._let_in(node)
        if self._leases.get(chunk.lease) != node or chunk.lease not in self._parts:
            return False
        put, parts = self._parts[chunk.lease]
        end = chunk.offset + len(data)
        if chunk.file >= len(parts) or end > put.files[chunk.file].size:
            return False
        parts[chunk.file][chunk.offset : end] = data
        return True

    async def done(self, node: str, manifest: Manifest) -> ResultVerdict:
        self._let_in(node, manifest)
        settled = self._settled(node, manifest.lease)
        if settled is not None:
            return settled
        put, parts = self._parts.get(manifest.lease, (None, []))
        if put is None or [f.name for f in put.files] != [f.name for f in manifest.files]:
            return ResultVerdict(word=Word.RESEND, files=tuple(range(len(manifest.files))))
        wrong = [
            number
            for number, (file, part) in enumerate(zip(manifest.files, parts, strict=True))
            if len(part) != file.size or sha256(part).hexdigest() != file.sha256
        ]
        if wrong:
            return ResultVerdict(word=Word.RESEND, files=tuple(wrong))
        row = self._rows[manifest.lease.task]
        row.winner, row.holder = manifest.lease.epoch, ""
        row.result = {f.name: bytes(part) for f, part in zip(manifest.files, parts, strict=True)}
        return ResultVerdict(word=Word.COMMITTED)

    def _let_in(self, node: str, question: Question | None = None) -> None:
        if node in self.revoked:
            raise Refused(f"{node} is revoked")
        if question is not None and question.version != VERSION:
            raise Refused(f"this speaks version {VERSION}, the node {question.version}")

    def _may_be_given(self, row: _Row) -> bool:
        def runs(other: _Row) -> bool:
            return bool(other.holder) and other.until > self.now()

        if row.winner is not None or runs(row):
            return False
        return not any(runs(other) and other.host == row.host for other in self._rows.values())

    def _grant(self, number: int, row: _Row) -> Grant:
        return Grant(
            lease=Lease(number, row.epoch), seconds=max(row.until - self.now(), 0.0),
            task=row.task, stamp="2026-01-01T00-00-00", known_bytes=len(row.memory),
            handed_bytes=len(row.handed), most_bytes=self.most_bytes,
        )  # fmt: skip

    def _refuse(self, lease: Lease) -> ResultVerdict:
        """The task is given to another."""
        row = self._rows[lease.task]
        if row.epoch == lease.epoch:
            row.holder = ""
        return ResultVerdict(word=Word.REFUSED, why="it is not what was asked for")

    def _holds(self, node: str, lease: Lease, row: _Row) -> bool:
        return row.holder == node and row.epoch == lease.epoch and row.winner is None

    def _settled(self, node: str, lease: Lease) -> ResultVerdict | None:
        """The final verdict on a lease; None: its result would count."""
        if self._leases.get(lease) != node:
            return ResultVerdict(word=Word.NEVER_YOURS)
        winner = self._rows[lease.task].winner
        if winner is None:
            return None
        return ResultVerdict(word=Word.COMMITTED if winner == lease.epoch else Word.SUPERSEDED)
