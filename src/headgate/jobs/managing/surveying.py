"""A survey by nodes.

    surveyor: servers that wait ─► tasks of some servers each ─► nodes ─► their logs
        ▲                                                                    │ checked, moved in
        └── hosts found, further servers ◄── gathered as an interrupted survey's log is ┘

A node surveys its servers by the usual rules and delivers a log. Here the logs are merged into one;
the hosts found may become further servers, and the result is that of a survey on one machine. The
merged log is made of the delivered ones, so a restarted manager makes it again.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headgate.control.board import Board
from headgate.control.board_rows import BoardState, BoardTerms
from headgate.control.learning import Learning
from headgate.crawling.progress import Progress
from headgate.crawling.task_messages import Manifest, decoded
from headgate.grid.committing import Received
from headgate.grid.desk import Desk, DeskTerms
from headgate.grid.given_tasks import TaskSpec
from headgate.jobs.budget_keeping import BudgetKeeping
from headgate.jobs.managing.manager import ManagerParts
from headgate.jobs.managing.node_watch import DoorKeeper, NodeWatch
from headgate.jobs.managing.placing import set_placing
from headgate.jobs.managing.progress import GridProgress
from headgate.jobs.managing.report import grid_report
from headgate.jobs.managing.survey_tasks import FINISHED, SurveyTasks
from headgate.jobs.opening import JobKind, open_run
from headgate.jobs.run_time import RunTime
from headgate.jobs.surveys.registrable import registrable_domain
from headgate.jobs.surveys.survey import BY_NODES, SurveyJob, SurveyWatcher
from headgate.jobs.surveys.wrapping_up import wrap_up_survey
from headgate.model.errors import UserMistake, WorldFault
from headgate.model.grid import GridTerms
from headgate.model.survey_report import SurveyReport
from headgate.storage.arriving import Deliveries, free_bytes
from headgate.storage.catalog.sql_board import SqlBoard
from headgate.storage.catalog.sql_catalog import SqlCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.survey_log import SURVEY_LOG, SurveyFile
from headgate.storage.run_state import RunState, load_budget, load_elapsed
from headgate.surveying.server_tree import ServerState
from headgate.surveying.surveyor import Surveyor

__all__ = ["survey_by_nodes"]

_LOOK_SECONDS = 0.5
_LINGER_SECONDS = 10.0
"""At the end, for nodes to learn that nothing is left."""
_TOO_LITTLE = "nothing promises enough"


async def survey_by_nodes(
    job: SurveyJob, terms: GridTerms, grid: ManagerParts, watcher: SurveyWatcher
) -> SurveyReport:
    """Survey; tables and report are also in the run's folder."""
    collection = Collection(job.out)
    wall = grid.clock.wall()
    with collection.lock():
        started = datetime.fromtimestamp(wall, UTC)
        run = open_run(collection, JobKind.SURVEY, job.request, started, resume=job.resume)
        if run.load(BY_NODES) is None and (run.path / SURVEY_LOG).exists():
            raise UserMistake(
                f"{job.out}: the unfinished survey was begun without nodes; go on without them"
            )
        run.save(BY_NODES, b"{}")
        with grid.open_catalog(collection.catalog) as catalog:
            catalog.begin_run(run.stamp, wall, job.request.decode() or "{}")
            return await _SurveyByNodes(job, terms, run, catalog, grid, watcher).run()


@dataclass(slots=True)
class _SurveyByNodes:
    """One call of `survey_by_nodes`."""

    job: SurveyJob
    terms: GridTerms
    folder: RunFolder
    catalog: SqlCatalog
    grid: ManagerParts
    watcher: SurveyWatcher
    surveyor: Surveyor = field(init=False)
    desk: Desk = field(init=False)
    store: SqlBoard = field(init=False)
    tasks: SurveyTasks = field(init=False)
    _time: RunTime = field(init=False)
    _keeping: BudgetKeeping = field(init=False)
    _learning: Learning = field(init=False)
    _sites: GridProgress = field(init=False)
    _nodes: NodeWatch = field(init=False)
    _state: RunState = field(init=False)
    _brought: list[tuple[str, Progress]] = field(default_factory=list)
    """Tasks whose log was delivered and is not merged yet."""
    _interrupted: str = ""

    def __post_init__(self) -> None:
        job, run, clock = self.job, self.folder, self.grid.clock
        self._time = RunTime(clock, load_elapsed(run))
        self._state = RunState(run)
        load_budget(run)
        self._keeping = BudgetKeeping(job.budget, run, self.catalog, clock, self.watcher.mended)
        self._learning = Learning.of(self.catalog, job.budget.calendar, ())
        self.surveyor = Surveyor(job.rules, registrable_domain())
        self.tasks = SurveyTasks(self.surveyor, run.stamp, job.fetcher.contact)
        self.store = SqlBoard(self.catalog.database)
        self.desk = Desk(
            Board(BoardTerms(self.terms.lease)), self.store, Deliveries(run, self.tasks.believable),
            clock,
            DeskTerms(
                lambda seconds: self._keeping.least_rate(self._time.leg_now, seconds),
                lambda: free_bytes(run.collection), self.terms.reference,
                lambda: not self.surveyor.ending,  # what was brought may lead to new servers
            ),
        )  # fmt: skip
        set_placing(self.desk, self.terms)
        self.desk.committing.tell = self._stored
        self._sites = GridProgress(self.desk, lambda _: self._time.now)
        self._nodes = NodeWatch(self.desk, run)

    def stop(self, reason: str) -> None:
        """End in order; nodes continue their tasks while their leases last."""
        self._interrupted = reason

    @property
    def stored(self) -> int:
        return self.surveyor.requests

    async def run(self) -> SurveyReport:
        path = self.folder.path / SURVEY_LOG
        path.unlink(missing_ok=True)
        self._state.save(self._time.now)
        self._nodes.begin()
        with contextlib.closing(SurveyFile(path)) as log:
            try:
                await asyncio.to_thread(self._take_up)
                await self._gather_all(log)
                await asyncio.to_thread(self.store.add_tasks, self.tasks.new())
                await self.desk.open()
                self.watcher.attach(self)
                async with self.grid.open_door(self.desk, self.desk.roll.revoked_keys()) as door:
                    ending = await self._serve(door, log)
                    if not self._interrupted:
                        await self.desk.receiving.take_no_more()
                    report = await asyncio.to_thread(self._wrap_up, ending, log)
                    if not report.interrupted:
                        await self._linger(door)
                await self.desk.close()
            finally:
                with contextlib.suppress(WorldFault):  # the first fault is the one to tell
                    await self._state.end(self._time.now)
        return report

    def _take_up(self) -> None:
        """Restore the tasks and results of an earlier manager of this run."""
        store, run = self.store, self.folder.stamp
        self.tasks.begin(self.job.starts)
        for task in store.tasks(run):
            self.tasks.remember(decoded(store.spec(task.id), TaskSpec))
        for site, lease in store.done(run):
            self.tasks.remember(decoded(store.spec(lease.task), TaskSpec))
            manifest = store.manifest(lease.task)
            assert manifest is not None
            self._brought.append((site, decoded(manifest, Manifest).progress))

    async def _serve(self, door: DoorKeeper, log: SurveyFile) -> str:
        """Answer nodes until everything is delivered; return why the survey ended."""
        while True:
            await self._gather_all(log)
            if not self.surveyor.ending:
                for task in await asyncio.to_thread(self.store.add_tasks, self.tasks.new()):
                    self.desk.board.add(task)
            self._look(door)
            if self._interrupted:
                return self._interrupted
            if self.surveyor.ending:
                self._end_all()
            board = self.desk.board
            if not (board.tasks.left or self._brought) and self.desk.committing.idle:
                left = any(tree.state is ServerState.OPEN for tree in self.surveyor.trees)
                self.surveyor.stop(_TOO_LITTLE if left else FINISHED)
                return self.surveyor.ending
            await asyncio.sleep(_LOOK_SECONDS)

    async def _gather_all(self, log: SurveyFile) -> None:
        """Merge the logs that were delivered."""
        while self._brought:
            site, progress = self._brought[0]
            journal = self.folder.place(site).journal
            await asyncio.to_thread(self.tasks.gather, site, journal, progress, log)
            self._brought.pop(0)

    def _stored(self, result: Received) -> None:
        progress = result.manifest.progress
        self._sites.ended(result.owner.site, result.row, progress)
        self._brought.append((result.owner.site, progress))

    def _end_all(self) -> None:
        """End the survey early: waiting tasks are dropped, and nodes deliver what they have."""
        board = self.desk.board
        for task in board.tasks.in_state(BoardState.READY):
            board.drop(task)
        self.desk.ending.end_all(self.surveyor.ending)

    def _look(self, door: DoorKeeper) -> None:
        if self.desk.fault is not None:
            raise self.desk.fault
        remarks = self._nodes.look(door)
        if not self.surveyor.ending:
            remarks += self._sites.give_up_dropped()
        self.watcher.mended(remarks)
        now, wall = self._time.leg_now, self.grid.clock.wall()
        self._keeping.look(now, self._sites.reports())
        self._keeping.save(now)
        self._learning.look(self.desk.roll.servers, (), {}, self._time.awake(now), wall)
        use = self._keeping.pause_began()
        if use is not None:
            self.watcher.paused(use)
        self._state.save(self._time.now)
        self.watcher.look(self._time.now, self)

    async def _linger(self, door: DoorKeeper) -> None:
        until = self._time.now + _LINGER_SECONDS
        while self.desk.not_told_of_the_end() and self._time.now < until:
            self.watcher.mended(self._nodes.look(door))
            await asyncio.sleep(_LOOK_SECONDS)

    def _wrap_up(self, ending: str, log: SurveyFile) -> SurveyReport:
        log.commit()
        wall = self.grid.clock.wall()
        self._keeping.save_use()
        self._learning.finish(self.desk.roll.servers, self._time.awake(self._time.leg_now), wall)
        return wrap_up_survey(
            self.folder, self.catalog, self.surveyor, ending, self._time.now, wall,
            grid_report(self.store, self.folder.stamp),
        )  # fmt: skip
