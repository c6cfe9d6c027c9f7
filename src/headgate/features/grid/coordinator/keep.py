"""Keeps a collection fresh by nodes: a keeper whose fleet is a grid.

    keeper ─► fleet over the desk ─► board ─► node ─► files in `arriving` ─► volume, memory, catalog

The keeper decides here as always. A visit is a task of the board, with its pages; a node delivers
its journal and WARC files, which are moved into the open volume and merged like those of a local
visit. There are as many visits at once as connected nodes have slots.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from msgspec import structs

from headgate.crawling.ports import MeasuredFleet
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.node import NodeJob
from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.coordinator.coordinator import ManagerParts, set_placing
from headgate.features.grid.coordinator.fleet import DeskGone, GridFleet
from headgate.features.grid.coordinator.nodes import DoorKeeper, NodeConnections
from headgate.features.grid.coordinator.requests import DeskTerms, DeskView, RequestDesk
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.coordinator.tasks import host_groups, shared_site
from headgate.features.grid.coordinator.upload_files import UploadFiles, free_bytes
from headgate.features.grid.protocol import encoded
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import BoardTerms, NewTask
from headgate.features.keep.job import KeepJob, KeepWatcher
from headgate.features.keep.keeper import Keeper
from headgate.features.keep.notices import ChangeNotices
from headgate.features.keep.status import KeepStatus
from headgate.features.keep.visit_memory import remember_kept
from headgate.features.keep.volumes import (
    KEPT,
    move_visit,
    prepare_staging,
    remember_one,
    staged_visits,
)
from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.grid import GridTerms
from headgate.model.task import Task
from headgate.storage.catalog.sql_catalog import SqlCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.run_journals import Piece, SiteJournal

__all__ = ["keep_by_nodes"]

_LOOK_SECONDS = 1.0
_LINGER_SECONDS = 10.0
"""At the end, for nodes to learn that nothing is left."""
_OF_OLD = "its manager was started again"
_SETTINGS = '{"kept": true}'
"""Settings, in the catalog, of the run that all tasks of keepers belong to."""


async def keep_by_nodes(
    job: KeepJob, terms: GridTerms, parts: ManagerParts, watcher: KeepWatcher
) -> KeepStatus:
    """Keep a collection until stopped, or until the end that the job sets; return the last
    status."""
    collection = Collection(job.out)
    with collection.lock(), parts.open_catalog(collection.catalog) as catalog:
        agent = fetcher_settings(job.sites, job.contact).user_agent
        async with ChangeNotices(collection.path, parts.clock, agent, job.sites) as notices:
            keeping = _KeepByNodes(
                job,
                terms,
                parts=parts,
                watcher=watcher,
                collection=collection,
                catalog=catalog,
                notices=notices,
            )
            try:
                return await keeping.run()
            except DeskGone as gone:
                raise WorldFault(str(gone)) from gone


@dataclass(slots=True)
class _KeepByNodes:
    """One call of `keep_by_nodes`."""

    job: KeepJob
    terms: GridTerms
    parts: ManagerParts
    watcher: KeepWatcher
    collection: Collection
    catalog: SqlCatalog
    notices: ChangeNotices
    desk: RequestDesk = field(init=False)
    fleet: GridFleet = field(init=False)
    keeper: Keeper = field(init=False)
    _expected: Callable[[str], float] = lambda _: 0.0
    """Returns the expected bytes of a site's visit."""
    _over: bool = False
    _rate: float | None = 0.0
    """The budget, as of the last leg."""

    def __post_init__(self) -> None:
        folder = self.collection.path
        self.desk = RequestDesk(
            Board(BoardTerms(self.terms.lease)), SqlBoard(self.catalog.database),
            UploadFiles(prepare_staging(folder)), self.parts.clock,
            DeskTerms(
                self._budget_for, lambda: free_bytes(folder), self.terms.reference,
                lambda: not self._over,
            ),
            collection=folder,
        )  # fmt: skip
        set_placing(self.desk, self.terms)
        self.fleet = GridFleet(self.desk, self._new_task, self._take_in)
        self.desk.committing.tell = self.fleet.stored
        self.keeper = Keeper(
            structs.replace(self.job, crew=self._crew),
            self.collection,
            catalog=self.catalog,
            parts=structs.replace(self.parts, open_fleet=self._open_fleet),
            watcher=self.watcher,
            notices=self.notices,
        )

    async def run(self) -> KeepStatus:
        self.catalog.begin_run(KEPT, self.parts.clock.wall(), _SETTINGS)
        await self.desk.open()
        self.desk.ending.end_all(_OF_OLD)
        async with self.parts.open_door(self.desk, self.desk.registry.revoked_keys()) as door:
            looking = asyncio.create_task(self._look_on(door))
            self.watcher.on_start(self.keeper)
            try:
                status = await self.keeper.run()
                self._over = True
                await self._linger()
            finally:
                self.desk.receiving.close()
                looking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await looking
        await self.desk.close()
        return status

    async def _look_on(self, door: DoorKeeper) -> None:
        """Watch nodes for ever; faults of the catalog are reported by the desk."""
        nodes = NodeConnections(self.desk, self.desk.arrivals.run)
        while True:
            with contextlib.suppress(HeadgateError):
                words = nodes.poll(door)
                if words:
                    self.watcher.on_messages(words)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _linger(self) -> None:
        clock = self.parts.clock
        until = clock.now() + _LINGER_SECONDS
        while self.desk.not_told_of_the_end() and clock.now() < until:
            await asyncio.sleep(_LOOK_SECONDS / 2)

    def _crew(self) -> int:
        """Slots of all connected nodes."""
        return sum(row.slots for row in DeskView(self.desk).here().values())

    @contextlib.asynccontextmanager
    async def _open_fleet(
        self,
        job: NodeJob,  # noqa: ARG002 - nodes have their own
        left: Callable[[str], float],
        processes: int,  # noqa: ARG002
    ) -> AsyncIterator[MeasuredFleet]:
        self._expected = left
        with self.fleet.at_work():
            yield self.fleet

    def _budget_for(self, seconds: float) -> float | None:
        """The lowest rate of the budget in the next ``seconds``."""
        leg = self.keeper.legs.now
        if leg is not None:
            self._rate = leg.budget_keeper.least_rate(leg.control_loop.now, seconds)
        return self._rate

    def _new_task(self, task: Task) -> NewTask:
        site = task.site
        wall = self.parts.clock.wall()
        spec = TaskSpec(
            task=structs.replace(task, site=shared_site(site), nodes=site.nodes_at_once),
            contact=self.job.contact,
        )
        hosts = host_groups(self.keeper.planner.sites.values())
        return NewTask(
            run=KEPT,
            site=site.name,
            host=hosts.get(site.name) or host_groups([site])[site.name],
            spec=encoded(spec),
            visit=task.visit,
            due=None if site.deadline is None else wall + site.deadline,
            expected_bytes=0.0 if task.asks is None else self._expected(site.name),
            nodes_at_once=site.nodes_at_once,
        )

    async def _take_in(self, owner: Owner, task: Task | None) -> None:
        if task is not None and task.kept is not None:
            volume = RunFolder(self.collection.path, task.kept.volume)
            await asyncio.to_thread(self._merge, volume, owner, task)
        else:
            await self._take_in_stray(owner)

    def _merge(self, volume: RunFolder, owner: Owner, task: Task) -> None:
        assert task.kept is not None
        move_visit(volume, owner)
        journal = _journal(volume, owner)
        remember_kept(
            volume, owner, self.keeper.planner.sites.get(task.name, task.site), journal.commits,
            self.parts.clock.wall(), believe=task.kept.believe,
        )  # fmt: skip

    async def _take_in_stray(self, owner: Owner) -> None:
        """Merge a result that is no longer expected; if its files are gone, it was merged after a
        fault."""
        if owner not in staged_visits(self.collection.path):
            return
        keeper, wall = self.keeper, self.parts.clock.wall()
        volume = keeper.volumes.enter()
        try:
            await asyncio.to_thread(move_visit, volume, owner)
            journal = _journal(volume, owner)
            site = keeper.planner.sites.get(owner.site)
            visit, remarks = await asyncio.to_thread(
                remember_one, volume, owner, journal, wall, site
            )
            self.notices.collect(owner)
            self.catalog.record_visits([visit])
            if owner.site in keeper.planner.sites:
                keeper.planner.refresh(owner.site, wall)
        finally:
            keeper.volumes.leave(volume.stamp)
        if remarks:
            self.watcher.on_messages(remarks)


def _journal(volume: RunFolder, owner: Owner) -> SiteJournal:
    return SiteJournal([Piece(volume.place(owner.site, visit=owner.visit).journal)])
