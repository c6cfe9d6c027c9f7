"""The manager's own desk, with its board in a catalog, for the suite of `TaskSource`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from bench.cut_line import CutLine
from tests.contract.task_offices import HANDED, LEASE_SECONDS, MEMORY, HandClock, Office

from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.coordinator.requests import DeskTerms, RequestDesk
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.coordinator.upload_files import UploadFiles
from headgate.features.grid.protocol import TaskSource
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import BoardTerms, NewTask
from headgate.features.grid.trust.journal_check import CheckedHere
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.storage.catalog.postgres import PostgresCatalog
from headgate.storage.catalog.sql_catalog import SqlCatalog
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.part_seed_file import handout_path, save_handout

__all__ = ["DeskOffice", "at_desk", "at_desk_over_nats", "filled_board", "new_run"]


def new_run(folder: Path, clock: HandClock) -> RunFolder:
    collection = Collection(folder)
    with collection.lock():
        run = collection.new_run(datetime.fromtimestamp(clock.wall(), UTC))
    memory = collection.memory("a")
    memory.parent.mkdir()
    memory.write_bytes(MEMORY)
    save_handout(handout_path(run, "a", 0), HANDED)
    return run


def filled_board(catalog: SqlCatalog, run: RunFolder) -> SqlBoard:
    """The sites a, b and c."""
    catalog.begin_run(run.stamp, 1.0, "{}")
    board = SqlBoard(catalog.database)
    for name, host in (("a", "a.test"), ("b", "b.test"), ("c", "b.test")):
        task = Task(Site(name, seeds=(f"http://{host}/{name}/",)))
        spec = msgspec.json.encode(TaskSpec(task=task))
        board.add_tasks([NewTask(run=run.stamp, site=name, host=host, spec=spec)])
    return board


@dataclass(slots=True)
class DeskOffice:
    run: RunFolder
    store: SqlBoard
    clock: HandClock = field(default_factory=HandClock)
    full: bool = False
    desk: RequestDesk = field(init=False)
    sources: dict[str, TaskSource] = field(default_factory=dict)
    """Of nodes that ask from farther away."""

    def __post_init__(self) -> None:
        terms = DeskTerms(free_bytes=lambda: 0 if self.full else 1 << 30)
        board = Board(BoardTerms(LEASE_SECONDS))
        files = UploadFiles(self.run)
        self.desk = RequestDesk(board, self.store, files, self.clock, terms, judge=CheckedHere())

    def source(self, node: str) -> TaskSource:
        return self.sources.get(node) or CutLine(self.desk, node)

    def pass_time(self, seconds: float) -> None:
        self.clock.seconds += seconds

    def fill_disk(self) -> None:
        self.full = True

    def revoke(self, node: str) -> None:
        self.desk.registry.rows[node].revoked = True

    def results(self) -> Mapping[str, Mapping[str, bytes]]:
        found: dict[str, dict[str, bytes]] = {}
        for path in (*self.run.spool.glob("*.journal"), *self.run.warc.iterdir()):
            found.setdefault(path.name[0], {})[path.name] = path.read_bytes()
        return found


@asynccontextmanager
async def at_desk(folder: Path, catalog_url: str = "") -> AsyncIterator[Office]:
    """With its board in PostgreSQL, or in SQLite."""
    clock = HandClock()
    run = new_run(folder, clock)
    path = Collection(folder).catalog
    catalog: SqlCatalog = PostgresCatalog(catalog_url) if catalog_url else SqliteCatalog(path)
    with catalog:
        office = DeskOffice(run, filled_board(catalog, run), clock)
        await office.desk.open(far=True)
        yield office


@asynccontextmanager
async def at_desk_over_nats(folder: Path) -> AsyncIterator[DeskOffice]:
    """All that is between a node and the catalog: a real NATS server, a token for each node."""
    pytest.importorskip("nats")
    from tests.integration.grid.doors import open_door

    from headgate.features.grid.transport.requests import NatsTasks, listening

    async with AsyncExitStack() as stack:
        office = await stack.enter_async_context(at_desk(folder / "collection"))
        assert isinstance(office, DeskOffice)
        door = await stack.enter_async_context(open_door(folder / "door"))
        manager = await stack.enter_async_context(door.as_manager())
        await stack.enter_async_context(listening(manager, office.desk))
        for node in ("n1", "n2", "n3"):
            client = await stack.enter_async_context(door.as_node(node))
            office.sources[node] = NatsTasks(client, node)
        yield office
