"""Whoever gives tasks to nodes, made ready for the suite of `TaskSource`: one class per adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest
from bench.cut_line import CutLine

from headgate.features.grid.protocol import (
    Beat,
    Chunk,
    Claim,
    ClaimAnswer,
    Known,
    Manifest,
    Orders,
    Put,
    ResultVerdict,
    TaskSource,
)
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.testing.memory_desk import MemoryDesk

LEASE_SECONDS = 60.0
MEMORY = bytes(range(256)) * 4096
"""What is known of the site ``a``: two pieces."""
HANDED = bytes(range(255, -1, -1)) * 4096
"""What was left to its task, as to a part of a site."""


class Office(Protocol):
    """Has the sites ``a``, ``b`` and ``c`` to give, a task each; ``b`` and ``c`` are at one host.
    Of ``a`` something is known."""

    def source(self, node: str) -> TaskSource:
        """For any of the nodes n1, n2 and n3."""
        ...

    def pass_time(self, seconds: float) -> None: ...

    def fill_disk(self) -> None:
        """No place for a result any more."""
        ...

    def revoke(self, node: str) -> None: ...

    def results(self) -> Mapping[str, Mapping[str, bytes]]:
        """Stored, by site and file."""
        ...


OpenOffice = Callable[[Path], AbstractAsyncContextManager[Office]]


@dataclass(slots=True)
class HandClock:
    seconds: float = 1000.0

    def now(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return 1.7e9 + self.seconds


@dataclass(frozen=True, slots=True)
class AskingTwice:
    source: TaskSource

    async def claim(self, claim: Claim) -> ClaimAnswer:
        await self.source.claim(claim)
        return await self.source.claim(claim)

    async def beat(self, beat: Beat) -> Orders:
        await self.source.beat(beat)
        return await self.source.beat(beat)

    async def known(self, known: Known) -> bytes:
        await self.source.known(known)
        return await self.source.known(known)

    async def put(self, put: Put) -> ResultVerdict:
        await self.source.put(put)
        return await self.source.put(put)

    async def chunk(self, chunk: Chunk, data: bytes) -> bool:
        await self.source.chunk(chunk, data)
        return await self.source.chunk(chunk, data)

    async def done(self, manifest: Manifest) -> ResultVerdict:
        await self.source.done(manifest)
        return await self.source.done(manifest)


@dataclass(slots=True)
class InMemory:
    """The twin."""

    clock: HandClock = field(default_factory=HandClock)
    full: bool = False
    desk: MemoryDesk = field(init=False)
    sites: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.desk = MemoryDesk(
            self.clock.now, LEASE_SECONDS, room=lambda: 0 if self.full else 1 << 30
        )
        for name, host in (("a", "a.test"), ("b", "b.test"), ("c", "b.test")):
            site = Site(name, seeds=(f"http://{host}/{name}/",))
            known = (MEMORY, HANDED) if name == "a" else ()
            self.sites[self.desk.add(Task(site), host, *known)] = name

    def source(self, node: str) -> TaskSource:
        return CutLine(self.desk, node)

    def pass_time(self, seconds: float) -> None:
        self.clock.seconds += seconds

    def fill_disk(self) -> None:
        self.full = True

    def revoke(self, node: str) -> None:
        self.desk.revoked.add(node)

    def results(self) -> Mapping[str, Mapping[str, bytes]]:
        return {self.sites[task]: files for task, files in self.desk.results().items()}


@asynccontextmanager
async def in_memory(folder: Path) -> AsyncIterator[Office]:  # noqa: ARG001 - others need one
    yield InMemory()


@dataclass(slots=True)
class OverNats(InMemory):
    """The twin behind a real NATS server, each node with a token of its own."""

    sources: dict[str, TaskSource] = field(default_factory=dict)

    def source(self, node: str) -> TaskSource:
        return self.sources[node]


@asynccontextmanager
async def over_nats(folder: Path) -> AsyncIterator[Office]:
    pytest.importorskip("nats")
    from tests.integration.grid.doors import open_door

    from headgate.features.grid.transport.requests import NatsTasks, listening

    office = OverNats()
    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(open_door(folder))
        manager = await stack.enter_async_context(door.as_manager())
        await stack.enter_async_context(listening(manager, office.desk))
        for node in ("n1", "n2", "n3"):
            client = await stack.enter_async_context(door.as_node(node))
            office.sources[node] = NatsTasks(client, node)
        yield office


@asynccontextmanager
async def with_answers_lost(folder: Path) -> AsyncIterator[Office]:
    """Over NATS, where each first answer is lost and the question asked again."""
    async with over_nats(folder) as office:
        assert isinstance(office, OverNats)
        office.sources = {node: AskingTwice(source) for node, source in office.sources.items()}
        yield office


OFFICES: tuple[OpenOffice, ...] = (in_memory, over_nats, with_answers_lost)
"""Add an adapter here, and it is held to the suite."""
