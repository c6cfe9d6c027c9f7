"""A crawl by nodes from end to end: gives out tasks, receives results, and seals the run.

    lock the collection ─► new run, or the unfinished one ─► forecasts ─► a task for each site
      ─► desk: nodes claim, send heartbeats and results ─► catalog, index, tables, report

The manager fetches nothing. Nodes deliver journals and WARC files of this run, so from then on
everything is as after a crawl on one machine. It can be killed at any time and continues after a
restart: tasks and leases are in the catalog.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec
from msgspec import structs

from headgate.control.snapshots import Moment
from headgate.crawling.background_tasks import in_turns
from headgate.crawling.page_reader import PageReader
from headgate.engine.forecasts import forecast_sites
from headgate.engine.parts import Parts
from headgate.engine.runs import JobKind, open_run
from headgate.engine.session import Accounting, RunRecord, mend_crawl_memories
from headgate.engine.watcher import Watcher
from headgate.engine.wrapping_up import Finished, wrap_up
from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.coordinator.nodes import DoorKeeper, NodeConnections, grid_report
from headgate.features.grid.coordinator.progress import GridProgress
from headgate.features.grid.coordinator.requests import DeskTerms, DeskView, RequestDesk
from headgate.features.grid.coordinator.shared_sites import SharedSites, shared_groups
from headgate.features.grid.coordinator.tasks import TaskFactory
from headgate.features.grid.coordinator.upload_commit import Received
from headgate.features.grid.coordinator.upload_files import UploadFiles, free_bytes
from headgate.features.grid.protocol import TaskDesk
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.inabilities import WaitForNodes
from headgate.features.grid.scheduler.placement_policies import (
    ByDistance,
    GridView,
    PlacementPolicy,
)
from headgate.features.grid.scheduler.records import BoardState, BoardTerms
from headgate.model.budget import Budget
from headgate.model.errors import DamagedFile
from headgate.model.grid import GridTerms, Mode, Placement
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.storage.catalog.sql_catalog import SqlCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.ignore_rules import save_ignore_rules
from headgate.storage.journals.journal import Commit, LinkLines, Owner
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.page import PageRow
from headgate.storage.run_state import load_report
from headgate.storage.safe_files import writing

__all__ = ["Interruptible", "ManagerJob", "ManagerParts", "manage", "placing_of", "set_placing"]

_LOOK_SECONDS = 0.5
_AT_ONCE = 1_000
"""Tasks per transaction, so that of a hundred thousand few are in memory twice."""
_LINGER_SECONDS = 10.0
"""At the end, for nodes to learn that nothing is left."""


@dataclass(frozen=True, slots=True)
class ManagerJob:
    sites: Sequence[Site]
    budget: Budget
    grid: GridTerms
    out: Path
    contact: str = ""
    request: bytes = b"{}"
    """The caller's own description of the job, kept with the run."""
    once: bool = False
    """End with the run; else nodes are answered until the manager is interrupted."""
    wait_for_nodes: float = 600.0
    """Seconds that a run stays open for sites that none of its nodes can do."""


class ManagerParts(Parts, frozen=True, kw_only=True):
    """Those of a job, and where nodes come in. The catalog has the board, too."""

    open_catalog: Callable[[Path], AbstractContextManager[SqlCatalog]]
    open_door: Callable[[TaskDesk, Iterable[str]], AbstractAsyncContextManager[DoorKeeper]]
    """Given who answers, and the keys of revoked tokens."""


class Interruptible(Protocol):
    def interrupt(self, reason: str) -> None:
        """End in order, soon."""
        ...


ManagerWatcher: TypeAlias = Watcher[Interruptible, Moment]


async def manage(job: ManagerJob, parts: ManagerParts, watcher: ManagerWatcher) -> RunReport:
    """Crawl by nodes; the report is also in the run's folder."""
    collection = Collection(job.out)
    clock = parts.clock
    with collection.lock():
        started = datetime.fromtimestamp(clock.wall(), UTC)
        run = open_run(collection, JobKind.MANAGER, job.request, started, resume=False)
        save_ignore_rules(collection.path, job.sites)
        watcher.on_open()
        with parts.open_catalog(collection.catalog) as catalog:
            watcher.on_messages(mend_crawl_memories(collection, run, catalog, job.sites))
            catalog.begin_run(run.stamp, clock.wall(), job.request.decode())
            return await _Managing(job, run, catalog, parts, watcher).run()


class _Managing:
    """One call of `manage`: holds what its steps share."""

    def __init__(
        self,
        job: ManagerJob,
        run: RunFolder,
        catalog: SqlCatalog,
        parts: ManagerParts,
        watcher: ManagerWatcher,
    ) -> None:
        self._job, self._run, self._catalog = job, run, catalog
        self._parts, self._watcher = parts, watcher
        self._record = RunRecord(run, parts.clock, job.sites, job.budget, load_report(run))
        self._time = self._record.time
        self._accounting = Accounting(run, catalog, job.budget, self._time, watcher.on_messages)
        self._board = Board(BoardTerms(job.grid.lease))
        self._store = SqlBoard(catalog.database)
        self._desk = RequestDesk(
            self._board, self._store, UploadFiles(run), parts.clock,
            DeskTerms(
                self._accounting.least_rate,
                lambda: free_bytes(run.collection),
                job.grid.reference,
                lambda: self._shared.pending,
            ),
        )  # fmt: skip
        set_placing(self._desk, job.grid)
        self._desk.committing.tell = self._stored
        self._desk.committing.audit = job.grid.audit
        self._nodes = NodeConnections(self._desk, run)
        self._sites = GridProgress(self._desk, self._now_of)
        self._shared = SharedSites(run, self._desk, self._sites)
        self._waiting = WaitForNodes(job.wait_for_nodes)
        self._interrupted = False

    def interrupt(self, reason: str) -> None:  # noqa: ARG002 - whoever asks has one
        """End in order; nodes continue their tasks while their leases last."""
        self._interrupted = True

    async def run(self) -> RunReport:
        await self._open()
        async with self._record.under_way():
            async with self._parts.open_door(
                self._desk, self._desk.registry.revoked_keys()
            ) as door:
                with closing(self._desk.receiving):
                    report = await self._serve(door)
            await self._desk.close()
        return report

    async def _open(self) -> None:
        job, clock = self._job, self._parts.clock
        self._nodes.begin()
        moment = datetime.fromtimestamp(clock.wall(), UTC)
        began = clock.wall() - self._time.earlier
        groups = shared_groups(self._run, job.sites)
        factory = await _make_tasks(
            TaskFactory(
                job.sites,
                groups,
                forecasts=forecast_sites(
                    job.sites, job.budget, self._catalog, Collection(job.out), moment
                ),
                run=self._run.stamp,
                wall=began,
                contact=job.contact,
            ),
            self._store,
            self._watcher,
        )
        self._sites.share(groups)
        await self._desk.open(far=looks_at_few(job.grid))
        earlier = self._record.log.earlier_sites
        settled = {name for name, site in earlier.items() if site.settled}
        await asyncio.to_thread(self._sites.take_up, self._store, self._run.stamp, settled)
        if factory is not None:
            await asyncio.to_thread(self._shared.take_up, factory, settled)
        self._record.begin(self._accounting.budget_keeper.rate_at(0.0))
        self._watcher.on_start(self)

    async def _serve(self, door: DoorKeeper) -> RunReport:
        while not (self._interrupted or _over(self._desk, self._shared)):
            self._watcher.on_messages(await self._shared.poll())
            await self._look(door)
            self._watcher.on_messages(self._wait_for_nodes())
            if self._waiting.is_over(self._time.now):
                break
            await asyncio.sleep(_LOOK_SECONDS)
        if not self._interrupted:
            self._board.give_up_audits()
        if not _is_unfinished(self._board, self._shared):
            await self._desk.receiving.take_no_more()
            self._board.give_up_audits()  # of results that came at the last moment
        await self._look(door)
        interrupted = _is_unfinished(self._board, self._shared)
        await self._record.end(interrupted=interrupted)
        report = await asyncio.to_thread(self._wrap_up)
        self._watcher.on_finish(report)
        if not interrupted:
            await self._linger(door)
        return report

    def _wait_for_nodes(self) -> list[str]:
        """Whether nothing is left but sites that no node here can do."""
        desk, board = self._desk, self._board
        if board.busy or not desk.committing.idle or self._shared.pending or len(board.tasks.far):
            self._waiting.busy()
            return []
        waiting = [task for task in board.tasks.in_state(BoardState.READY) if not task.audit_of]
        here = DeskView(desk).here().keys()
        return self._waiting.look(self._time.now, waiting, desk.inabilities, here)

    async def _linger(self, door: DoorKeeper) -> None:
        """Tell nodes that nothing is left; without ``once``, for ever."""
        until = self._time.now + _LINGER_SECONDS
        while not self._interrupted:
            told = not self._desk.not_told_of_the_end()
            if self._job.once and (told or self._time.now > until):
                return
            self._watcher.on_messages(self._nodes.poll(door))
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self, door: DoorKeeper) -> None:
        """The log changes here alone, so that a report made in turns is of one moment."""
        fault = self._desk.fault
        if fault is not None:
            raise fault
        self._watcher.on_messages(self._desk.committing.take_remarks())
        self._watcher.on_messages(self._nodes.poll(door))
        self._watcher.on_messages(self._sites.give_up_dropped())
        reports, record, keeping = (
            self._sites.reports(),
            self._record,
            self._accounting.budget_keeper,
        )
        now = self._time.leg_now
        self._accounting.observe(now, self._desk.registry.servers, reports)
        measured = record.observe(
            reports, self._sites.begun, rate=keeping.rate_at(now), quota=keeping.use
        )
        if (use := keeping.pause_began()) is not None:
            self._watcher.on_pause(use, [])
        self._watcher.on_progress(record.moment(reports, measured))
        await in_turns(record.saving())

    def _stored(self, result: Received) -> None:
        if result.audit_of is not None:
            return
        if result.owner.site in self._sites.shared:
            self._shared.stored(result)
        else:
            self._sites.ended(result.owner.site, result.row, result.manifest.progress)

    def _now_of(self, wall: float) -> float:
        """A wall-clock time, of this leg or earlier, in the time of the run."""
        now = self._time.now
        return max(now - max(self._parts.clock.wall() - wall, 0.0), 0.0)

    def _wrap_up(self) -> RunReport:

        self._accounting.finish(self._time.leg_now, self._desk.registry.servers)
        report = msgspec.structs.replace(
            self._record.report().whole(), grid=grid_report(self._store, self._run.stamp)
        )
        finished = Finished(report, self._record.log.progress, self._accounting.alpha)
        unread = UnreadPages(Collection(self._run.collection))
        seal = partial(
            wrap_up,
            self._run,
            self._catalog,
            finished=finished,
            wall=self._parts.clock.wall(),
            keeping=self._accounting.budget_keeper,
            complete=unread.read,
        )
        self._watcher.on_messages(leaving_out_damaged(self._run, seal))
        return report


def leaving_out_damaged(run: RunFolder, seal: Callable[[], list[str]]) -> list[str]:
    """Seal a run of nodes' results. One that cannot be read, which an earlier version may have
    accepted, is left out: it would end the sealing of all others. Returns remarks."""
    remarks: list[str] = []
    while True:
        try:
            return [*remarks, *seal()]
        except DamagedFile as fault:
            path = Path(str(fault.path))
            if path not in run.journals():
                raise
            with writing(path):
                path.rename(path.with_suffix(".left-out"))
            remarks.append(
                f"{path.stem}: its result cannot be sealed and is left out ({fault.how})"
            )


async def _make_tasks(
    factory: TaskFactory, store: SqlBoard, watcher: ManagerWatcher
) -> TaskFactory | None:
    """Store the tasks in the catalog. More are made only for shared sites; without any, the
    forecasts of perhaps a hundred thousand sites are freed before the desk opens."""
    tasks = factory.new()
    while some := list(islice(tasks, _AT_ONCE)):
        await asyncio.to_thread(store.add_tasks, some)
    watcher.on_plan(None, factory.forecasts)
    return factory if factory.groups else None


def _over(desk: RequestDesk, shared: SharedSites) -> bool:
    """Whether the run is over; audits are skipped if no suitable node is connected."""
    board = desk.board
    if shared.pending and not board.draining:
        return False
    if board.busy or not desk.committing.idle:
        return False
    if len(board.tasks.far) and not board.draining:
        return False
    groups = {row.group for row in DeskView(desk).here().values()}
    return board.draining or all(
        task.audit_of is not None and groups <= {task.not_group}
        for task in board.tasks.in_state(BoardState.READY)
    )


def _is_unfinished(board: Board, shared: SharedSites) -> bool:
    return board.tasks.left > 0 or shared.pending


# Placement policies by their names in the site file.


_SEED = 20100
"""For random places of nodes without measurements."""
_GATHER_SECONDS = 5.0


def set_placing(desk: RequestDesk, terms: GridTerms) -> None:
    """Set the placement policy of a desk. Lists are dealt when nodes that start together are
    here."""
    desk.board.choice.choose = placing_of(terms, DeskView(desk)).choose
    desk.gathering.seconds = 0.0 if terms.mode is Mode.PULL else _GATHER_SECONDS


def looks_at_few(terms: GridTerms) -> bool:
    """Whether tasks are chosen from the next few that wait; else, by all."""
    return terms.mode is Mode.PULL and terms.placement is not Placement.CAN


def placing_of(terms: GridTerms, grid: GridView, seed: int = _SEED) -> PlacementPolicy:
    """The usual one needs no NumPy, which takes 9 MB; others import it."""
    if terms.mode is Mode.PULL and terms.placement is Placement.MEASURED:
        return ByDistance(grid, grid.connects)
    import numpy as np

    from headgate.features.grid.scheduler.placement_policies import ByLists, ByZone, CoordinateSpace

    if terms.mode is not Mode.PULL:
        return ByLists(grid, terms.mode)
    space = CoordinateSpace(grid, np.random.default_rng(seed))
    if terms.placement is Placement.CAN:
        return ByZone(grid, space)
    return ByDistance(grid, space.distances)


class UnreadPages:
    """Adds titles and links of unchanged pages to the results of nodes.

    A node that gets "not modified" has no archive to read the page from. So before tables are made,
    the page's title and links are read from the archived response.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._reader = PageReader()

    def read(self, owner: Owner, commits: Iterable[Commit]) -> Iterator[Commit]:
        """The commits, with titles and links of unchanged pages added."""
        known = KnownPages(self._collection, owner.site)
        try:
            for group, rows, links in commits:
                told = {line.source for line in links}
                found = [self._found(known, row, told) for row in rows]
                more = [lines for _, lines in found if lines is not None]
                yield group, [row for row, _ in found], [*links, *more]
        finally:
            known.close()

    def _found(
        self, known: KnownPages, row: PageRow, told: set[str]
    ) -> tuple[PageRow, LinkLines | None]:
        if row.status != HTTPStatus.NOT_MODIFIED or row.url in told:
            return row, None
        earlier = known.find(row.url)
        if earlier is None or earlier.digest != row.digest:
            return row, None
        stored = known.stored(row.url, earlier)
        if stored is None:
            return row, None
        page = self._reader.read(stored)
        lines = None
        if page.links is not None and page.links.targets:
            lines = LinkLines.from_links(row.url, row.depth, page.links)
        return structs.replace(row, title=page.title, language=page.language), lines
