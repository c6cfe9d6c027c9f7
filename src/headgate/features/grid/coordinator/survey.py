"""A survey by nodes: its servers as tasks, and one log of all theirs."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from headgate.crawling.progress import Progress
from headgate.engine.runs import JobKind, open_run
from headgate.engine.session import Accounting, SavedTime, saved_time
from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.coordinator.coordinator import ManagerParts, set_placing
from headgate.features.grid.coordinator.nodes import DoorKeeper, NodeConnections, grid_report
from headgate.features.grid.coordinator.progress import GridProgress
from headgate.features.grid.coordinator.requests import DeskTerms, RequestDesk
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.coordinator.upload_commit import Received
from headgate.features.grid.coordinator.upload_files import UploadFiles, free_bytes
from headgate.features.grid.protocol import Manifest, decoded, encoded
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import BoardState, BoardTerms, NewTask
from headgate.features.grid.trust.journal_check import Brought
from headgate.features.survey.entries import changed
from headgate.features.survey.job import BY_NODES, SurveyJob, SurveyMoment, SurveyWatcher
from headgate.features.survey.log import SurveyFile, SurveyIndex, read_survey
from headgate.features.survey.report import SurveyReport
from headgate.features.survey.strategy.rules import is_internal
from headgate.features.survey.strategy.server_tree import ServerState, ServerTree
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.features.survey.wrapping_up import registrable_domain, wrap_up_survey
from headgate.model.errors import HeadgateError, UserMistake
from headgate.model.grid import GridTerms
from headgate.model.site import Site
from headgate.model.task import SurveyedServers, Task
from headgate.reading.urls import host
from headgate.storage.catalog.sql_catalog import SqlCatalog
from headgate.storage.collection import SURVEY_LOG, Collection, RunFolder

__all__ = ["survey_by_nodes"]

_LOOK_SECONDS = 0.5
_LINGER_SECONDS = 10.0
"""At the end, for nodes to learn that nothing is left."""
_TOO_LITTLE = "nothing promises enough"


async def survey_by_nodes(
    job: SurveyJob, terms: GridTerms, parts: ManagerParts, watcher: SurveyWatcher
) -> SurveyReport:
    """A survey by nodes.

        surveyor: servers that wait ─► tasks of some servers each ─► nodes ─► their logs
            ▲                                                                    │ checked, moved in
            └── hosts found, further servers ◄── gathered as an interrupted survey's log is ┘

    A node surveys its servers by the usual rules and delivers a log. Here the logs are merged into
    one; the hosts found may become further servers, and the result is that of a survey on one
    machine. The merged log is made of the delivered ones, so a restarted manager makes it again.

    Survey; tables and report are also in the run's folder.
    """
    collection = Collection(job.out)
    wall = parts.clock.wall()
    with collection.lock():
        started = datetime.fromtimestamp(wall, UTC)
        run = open_run(collection, JobKind.SURVEY, job.request, started, resume=job.resume)
        if run.load(BY_NODES) is None and (run.path / SURVEY_LOG).exists():
            raise UserMistake(
                f"{job.out}: the unfinished survey was begun without nodes; go on without them"
            )
        run.save(BY_NODES, b"{}")
        watcher.on_open()
        with parts.open_catalog(collection.catalog) as catalog:
            catalog.begin_run(run.stamp, wall, job.request.decode() or "{}")
            async with saved_time(run, parts.clock) as saved:
                accounting = Accounting(run, catalog, job.budget, saved.time, watcher.on_messages)
                return await _SurveyByNodes(
                    job, terms, run, catalog, parts,
                    watcher=watcher, saved=saved, accounting=accounting,
                ).run()  # fmt: skip


@dataclass(slots=True)
class _SurveyByNodes:
    """One call of `survey_by_nodes`."""

    job: SurveyJob
    terms: GridTerms
    folder: RunFolder
    catalog: SqlCatalog
    parts: ManagerParts
    watcher: SurveyWatcher
    saved: SavedTime
    accounting: Accounting
    surveyor: Surveyor = field(init=False)
    desk: RequestDesk = field(init=False)
    store: SqlBoard = field(init=False)
    tasks: SurveyTasks = field(init=False)
    _sites: GridProgress = field(init=False)
    _nodes: NodeConnections = field(init=False)
    _brought: list[tuple[str, Progress]] = field(default_factory=list)
    """Tasks whose log was delivered and is not merged yet."""
    _interrupted: str = ""

    def __post_init__(self) -> None:
        job, run, clock = self.job, self.folder, self.parts.clock
        self.surveyor = Surveyor(job.rules, registrable_domain())
        self.tasks = SurveyTasks(self.surveyor, run.stamp, job.fetcher.contact)
        self.store = SqlBoard(self.catalog.database)
        self.desk = RequestDesk(
            Board(BoardTerms(self.terms.lease)),
            self.store,
            UploadFiles(run),
            clock,
            DeskTerms(
                self.accounting.least_rate,
                lambda: free_bytes(run.collection), self.terms.reference,
                lambda: not self.surveyor.ending,  # what was brought may lead to new servers
            ),
            judge=self.tasks,
        )  # fmt: skip
        set_placing(self.desk, self.terms)
        self.desk.committing.tell = self._stored
        self._sites = GridProgress(self.desk, lambda _: self.saved.time.now)
        self._nodes = NodeConnections(self.desk, run)

    def stop(self, reason: str) -> None:
        """End in order; nodes continue their tasks while their leases last."""
        self._interrupted = reason

    @property
    def stored(self) -> int:
        return self.surveyor.requests

    async def run(self) -> SurveyReport:
        path = self.folder.path / SURVEY_LOG
        path.unlink(missing_ok=True)
        self._nodes.begin()
        with contextlib.closing(SurveyFile(path)) as log:
            await asyncio.to_thread(self._take_up)
            await self._gather_all(log)
            await asyncio.to_thread(self.store.add_tasks, self.tasks.new())
            await self.desk.open()
            self.watcher.on_start(self)
            async with self.parts.open_door(self.desk, self.desk.registry.revoked_keys()) as door:
                ending = await self._serve(door, log)
                if not self._interrupted:
                    await self.desk.receiving.take_no_more()
                report = await asyncio.to_thread(self._wrap_up, ending, log)
                if not report.interrupted:
                    await self._linger(door)
            await self.desk.close()
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
        remarks = self._nodes.poll(door)
        if not self.surveyor.ending:
            remarks += self._sites.give_up_dropped()
        self.watcher.on_messages(remarks)
        now, servers = self.saved.time.leg_now, self.desk.registry.servers
        self.accounting.observe(now, servers, self._sites.reports())
        use = self.accounting.budget_keeper.pause_began()
        if use is not None:
            self.watcher.on_pause(use, ())
        self.saved.save()
        self.watcher.on_progress(SurveyMoment(self.saved.time.now, self))

    async def _linger(self, door: DoorKeeper) -> None:
        until = self.saved.time.now + _LINGER_SECONDS
        while self.desk.not_told_of_the_end() and self.saved.time.now < until:
            self.watcher.on_messages(self._nodes.poll(door))
            await asyncio.sleep(_LOOK_SECONDS)

    def _wrap_up(self, ending: str, log: SurveyFile) -> SurveyReport:
        log.commit()
        self.accounting.finish(self.saved.time.leg_now, self.desk.registry.servers)
        return wrap_up_survey(
            self.folder,
            self.catalog,
            surveyor=self.surveyor,
            ending=ending,
            seconds=self.saved.time.now,
            wall=self.parts.clock.wall(),
            grid=grid_report(self.store, self.folder.stamp),
        )


FINISHED = "finished"
_PARTS, _MOST_SERVERS = 16, 20
"""Least number of tasks, and most servers of a task: little is lost with a node, and a node surveys
many servers at once."""
_ENTRIES_AT_ONCE = 1_000


@dataclass(slots=True)
class SurveyTasks:
    """Divides the servers of a survey into tasks of a grid, and merges their logs into one."""

    surveyor: Surveyor
    run: str
    """The stamp."""
    contact: str
    _servers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Domains of the servers of each task."""
    _starts: dict[str, list[str]] = field(default_factory=dict)
    """The user's starting URLs by domain."""
    _planted: int = 0
    """Number of servers that `new` has seen."""

    def begin(self, starts: Sequence[str]) -> None:
        for start in starts:
            self.surveyor.start([start])
            tree = self.surveyor.territory.tree_of(host(start))
            assert tree is not None
            self._starts.setdefault(tree.domain, []).append(start)

    def remember(self, spec: TaskSpec) -> None:
        """Add a task that an earlier manager made."""
        assert spec.task.survey is not None
        domains: list[str] = []
        for name in map(host, spec.task.survey.starts):
            if not any(is_internal(name, domain) for domain in domains):
                domains.append(self.surveyor.territory.domain(name))
        self._servers[spec.task.name] = tuple(domains)

    def new(self) -> list[NewTask]:
        """Tasks for waiting servers that have none yet."""
        given = {domain for domains in self._servers.values() for domain in domains}
        trees, self._planted = self.surveyor.trees[self._planted :], len(self.surveyor.trees)
        waiting = [tree for tree in trees if tree.domain not in given]
        size = min(math.ceil(len(waiting) / _PARTS), _MOST_SERVERS) or 1
        return [self._task(waiting[begin : begin + size]) for begin in range(0, len(waiting), size)]

    def gather(self, site: str, journal: Path, progress: Progress, log: SurveyFile) -> None:
        """Take in the log of a task, and append it to the survey's log."""
        found: dict[str, list[str]] = {}
        stored, domains = SurveyIndex(journal), self._servers[site]
        trees = {tree.domain: tree for tree in self.surveyor.trees if tree.domain in domains}
        for domain, tree in trees.items():
            if tree.state is ServerState.WAITING:
                found |= self.surveyor.gather(
                    tree.number, stored, progress.given_up.get(domain, ""),
                    whole=progress.reason == FINISHED,
                )  # fmt: skip
        for number, entry in enumerate(read_survey(journal), 1):
            tree = trees[entry.domain]
            hosts = found.get(entry.url, ())
            log.put(changed(entry, start=tree.start, round=tree.round, new_hosts=hosts))
            if number % _ENTRIES_AT_ONCE == 0:
                log.commit()
        log.commit()

    def lie(self, brought: Brought) -> str:
        """Whether a log from a node is valid, and is about the task's own servers only: these
        tasks are the `Judge` of their results."""
        domains = self._servers.get(brought.task.whose[0], ())
        most = self.surveyor.rules.most_requests
        try:
            for entry in read_survey(Path(brought.journal)):
                own = entry.domain in domains and is_internal(host(entry.url), entry.domain)
                if not own or not 0 < entry.requests <= most or entry.wire_bytes < 0:
                    return f"an entry that is not the task's: {entry.url[:100]!r}"
        except (HeadgateError, ValueError) as fault:
            return str(fault)
        return ""

    def close(self) -> None:
        """Nothing is held."""

    def _task(self, trees: Sequence[ServerTree]) -> NewTask:
        rules, domains = self.surveyor.rules, tuple(tree.domain for tree in trees)
        name = domains[0]
        others = {tree.domain for tree in self.surveyor.trees}.difference(domains)
        starts = tuple(
            start for tree in trees for start in self._starts.get(tree.domain, [tree.start])
        )
        survey = SurveyedServers(
            starts=starts, depth=rules.depth, most_requests=rules.most_requests,
            most_bytes=rules.most_bytes, delay=rules.pace.delay, least_yield=rules.least_yield,
            breadth_first=rules.breadth_first, whole_registration=rules.whole_registration,
            others=tuple(
                sorted(other for other in others if any(is_internal(other, own) for own in domains))
            ),
        )  # fmt: skip
        self._servers[name] = domains
        task = Task(Site(name, starts), survey=survey)
        return NewTask(
            run=self.run, site=name, host=name, value=float(len(trees)),
            spec=encoded(TaskSpec(task=task, contact=self.contact)),
        )  # fmt: skip
