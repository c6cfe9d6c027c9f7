"""A node wired up: fetcher, files and clock for the sites that it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from headgate.crawling.focused_crawl import FocusState
from headgate.crawling.frontier_driver import Choose
from headgate.crawling.node import Node, NodeRun
from headgate.crawling.page_reader import ROBOTS_AGENT, PageReader
from headgate.crawling.page_writer import GroupCommit
from headgate.crawling.ports import Clock, Fetcher, MachineClock
from headgate.crawling.robots import RobotsCache
from headgate.crawling.second_reader import SecondReader
from headgate.crawling.site_run import SiteRun, Tools
from headgate.crawling.url_sources import Handed
from headgate.engine.scorers import OwnScorer, focus_of
from headgate.fetching.client import FetcherSettings
from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.frontier import Frontier, FrontierRules
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.scope import Scope, all_mine, urls_of
from headgate.frontier.traps import TrapRules
from headgate.model.score_order import ScoreOrder
from headgate.model.site import BREADTH_FIRST, Requisites, Site
from headgate.model.task import SurveyedServers, Task
from headgate.model.timetable import Calendar
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Commit, Owner
from headgate.storage.journals.run_journals import SharedByRun
from headgate.storage.journals.spool import SiteSpool, begin_together
from headgate.storage.memory.known_pages import KnownPages, LentPages, VisitedPages
from headgate.storage.memory.remembering import remember
from headgate.storage.page import PageRow
from headgate.storage.part_seed_file import handout_path, load_handout
from headgate.storage.spill import DiskSpill

if TYPE_CHECKING:  # few crawls have one
    from headgate.crawling.common_queue import CommonQueue, KnownSpeed

__all__ = ["NodeCallbacks", "NodeJob", "NodeParts", "OpenFetcher", "TaskKinds", "open_node"]

OpenFetcher = Callable[[FetcherSettings], AbstractAsyncContextManager[Fetcher]]


class OpenSurvey(Protocol):
    """Opens the run of a task that is a survey, from its log."""

    def __call__(
        self,
        task: Task,
        servers: SurveyedServers,
        *,
        log: Path,
        fetcher: Fetcher,
        clock: Clock,
        started: float | None,
        files: ExitStack,
    ) -> NodeRun: ...


class RememberVisit(Protocol):
    """Merges a keeper's visit into the site's memory."""

    def __call__(
        self,
        run: RunFolder,
        owner: Owner,
        site: Site,
        read: Callable[[], Iterable[Commit]],
        ended: float,
        *,
        believe: bool,
    ) -> None: ...


class TaskKinds(msgspec.Struct, frozen=True):
    """What a node does for tasks that are no crawl. Functions of a module, by whose names another
    process finds them."""

    survey: OpenSurvey | None = None
    keep: RememberVisit | None = None


class NodeJob(msgspec.Struct, frozen=True):
    """What a node needs to know; plain values, so that it can be sent to another process."""

    collection: Path
    stamp: str
    """Of the run; empty for a keeper, whose tasks name theirs."""
    fetcher: FetcherSettings
    many_sites: bool = False
    """Whether there are so many sites that small ones share files."""
    borrowing: bool = True
    """Whether a site may use a little more than its rate where others use less."""
    order: ScoreOrder | None = None
    """The order of the queue that all sites share; None: each site has its own queue."""
    calendar: Calendar = Calendar()
    """The zone and holidays by which servers are busy or idle."""
    servers: tuple[KnownSpeed, ...] = ()
    """Speeds of servers from earlier runs, for that queue."""
    remembering: bool = True
    """Whether a site's memory is written as the site ends, not when the run is sealed."""
    kinds: TaskKinds = TaskKinds()

    @property
    def warcinfo(self) -> tuple[tuple[str, str], ...]:
        return (("software", self.fetcher.user_agent),)

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.collection, self.stamp)

    def collection_of(self, task: Task) -> Collection:
        """The collection with the site's memory."""
        apart = task.apart
        return Collection(self.collection if apart is None else self.collection / apart.folder)

    def run_of(self, task: Task) -> RunFolder:
        """The run that a task's pages are stored in."""
        if task.apart is not None:
            return RunFolder(self.collection_of(task).path, task.apart.stamp)
        return self.run if task.kept is None else RunFolder(self.collection, task.kept.volume)

    def shares(self, task: Task) -> bool:
        """Whether it shares files with others while it is small, as all visits of a keeper do."""
        if task.apart is not None:
            return False
        return task.kept is not None or self.many_sites or bool(self.run.shared_numbers())

    def may_move(self, task: Task) -> bool:
        """Whether another process can continue it: all that it stored is in files of its own, and
        nothing is derived from them before its end."""
        return task.kept is None and task.survey is None and not self.shares(task)


class NodeCallbacks(msgspec.Struct, frozen=True):
    """Callbacks of the user's program, in this process."""

    choose: Choose | None = None
    """Chooses the links to follow; None: all that page and site allow."""
    stored: Callable[[RunFolder, str, Sequence[PageRow]], None] | None = None
    """Called with pages of a site as they are stored, in the thread that does it."""


class NodeParts(msgspec.Struct, frozen=True):
    """What a node is given: clock, fetcher, a process that helps to read."""

    clock: MachineClock
    open_fetcher: OpenFetcher
    second_reader: Callable[[], SecondReader | None] = lambda: None
    callbacks: NodeCallbacks = NodeCallbacks()


@asynccontextmanager
async def open_node(job: NodeJob, parts: NodeParts) -> AsyncIterator[Node]:
    """A node in this event loop."""
    second = parts.second_reader()
    async with parts.open_fetcher(job.fetcher) as fetcher:
        queue = None if job.order is None else _queue(job, job.order, fetcher, parts.clock)
        runs = _Runs(job, parts, fetcher, queue, second)
        try:
            yield Node(
                runs.open, fetcher, runs.close,
                borrowing=job.borrowing, queue=queue, second_reader=second,
            )  # fmt: skip
        finally:
            if queue is not None:
                queue.close()
            if second is not None:
                second.close()
            runs.close_all()


class _Runs:
    """Opens the runs of a node, and closes the files that each has open."""

    def __init__(
        self,
        job: NodeJob,
        parts: NodeParts,
        fetcher: Fetcher,
        queue: CommonQueue | None,
        second_reader: SecondReader | None,
    ) -> None:
        self._job = job
        self._fetcher = fetcher
        self._clock = parts.clock
        self._callbacks = parts.callbacks
        self._queue = queue
        self._second_reader = second_reader
        self._shared = SharedByRun(job.warcinfo)
        self._together = GroupCommit(begin_together)
        self._robots = RobotsCache()
        self._files: dict[str, ExitStack] = {}
        """By task."""

    def open(self, task: Task, started: float | None) -> NodeRun:
        files = self._files[task.name] = ExitStack()
        if task.survey is None:
            return SiteRun(task, self._tools(task, files), started)
        assert self._job.kinds.survey is not None
        log = self._job.run_of(task).place(task.name).journal
        return self._job.kinds.survey(
            task,
            task.survey,
            log=log,
            fetcher=self._fetcher,
            clock=self._clock,
            started=started,
            files=files,
        )

    def close(self, name: str) -> None:
        files = self._files.pop(name, None)  # a run that fails as the node closes is closed twice
        if files is not None:
            files.close()

    def close_all(self) -> None:
        for name in list(self._files):
            self.close(name)
        self._shared.close()

    def _tools(self, task: Task, files: ExitStack) -> Tools:
        site, job, clock = task.site, self._job, self._clock
        owner = Owner(*task.whose)
        spool = self._spool(task, owner, files)
        known = _known(task, job.collection_of(task))
        files.callback(known.close)
        focus = focus_of(site)
        _close_scorer(focus, files)
        scope = _scope(task, known)
        scored = focus is not None and focus.scorer is not None
        rules = _rules(task, clock, scored=scored, in_turns=self._queue is not None)
        mine = all_mine if task.part is None else urls_of(task.part)
        spill = DiskSpill(job.run_of(task).spool)
        files.callback(spill.close)
        needed = site.requisites is not Requisites.NONE
        reader = PageReader(
            site.access.robots_agent or ROBOTS_AGENT,
            with_words=focus is not None,
            with_requisites=needed,
            # A keeper asks whether pages changed, ignoring noise.
            ignore=None if task.kept is None else site.keeping.ignore,
        )
        return Tools(
            Frontier(scope, spill, rules, _waits(task, known), mine),
            self._fetcher,
            store=spool,
            known=known,
            reader=reader,
            clock=clock,
            remember=partial(_remember, job, owner, spool, task, clock),
            focus=focus,
            second_reader=None if needed else self._second_reader,  # it reads links only
            commit=partial(_commit, self._together, spool),
            robots_cache=None if task.kept is None else self._robots,
            queue=self._queue,
            choose=self._callbacks.choose,
            handed=_handed(task, job.run_of(task)),
        )

    def _spool(self, task: Task, owner: Owner, files: ExitStack) -> SiteSpool:
        run = self._job.run_of(task)
        shared = files.enter_context(self._shared.by(run)) if self._job.shares(task) else None
        place = run.place(owner.site, self._job.warcinfo, visit=owner.visit)
        spool = SiteSpool(place, shared, one_visit=task.part is not None)
        files.callback(spool.close)
        if self._callbacks.stored is not None:
            spool.on_stored = partial(self._callbacks.stored, run, task.name)
        return spool


def _queue(job: NodeJob, order: ScoreOrder, fetcher: Fetcher, clock: Clock) -> CommonQueue:
    from headgate.crawling.common_queue import CommonQueue

    return CommonQueue(order, job.calendar, job.servers, fetcher, clock)


def _close_scorer(focus: FocusState | None, files: ExitStack) -> None:
    """Together with the files, if it has a process of its own."""
    if focus is not None and isinstance(focus.scorer, OwnScorer):
        files.callback(focus.scorer.close)


def _known(task: Task, collection: Collection) -> KnownPages:
    """What is known of the site's pages. A task run for somebody else has the site's memory but not
    its archive; a crawl with a focus reads every page."""
    site, owner = task.site, task.whose[0]
    unread = not site.focus and not site.focus_pages and site.url_order == BREADTH_FIRST
    if task.apart is not None and (unread or task.kept is not None):
        return LentPages(collection, owner)
    if task.kept is None:
        return KnownPages(collection, owner)
    return (KnownPages if task.asks is None else VisitedPages)(collection, owner)


def _remember(job: NodeJob, owner: Owner, spool: SiteSpool, task: Task, clock: Clock) -> bool:
    """Merge what a site run found into the site's memory; whether that was done."""
    kept, site, run = task.kept, task.site, job.run_of(task)
    if task.apart is not None or not job.remembering:
        return False  # done by the manager, or when the run is sealed
    if kept is None:
        return remember(run, owner, spool.commits(links=False))
    assert job.kinds.keep is not None
    job.kinds.keep(run, owner, site, spool.commits, clock.wall(), believe=kept.believe)
    return True


def _handed(task: Task, run: RunFolder) -> Handed | None:
    """By the parts of its site in the round before."""
    if task.part is None or task.part.round == 1:
        return None
    return load_handout(handout_path(run, *task.whose))


def _scope(task: Task, known: KnownPages) -> Scope:
    """The site's scope, with hosts that seeds redirected to in earlier visits."""
    scope = Scope.for_site(task.site)
    if task.asks and len(scope.candidates(task.asks)) < len(task.asks):
        for depth, urls in known.pages():
            needed = frozenset(known.needed(urls) if depth == 0 else ())
            for url in urls if depth == 0 else ():
                if url not in needed:
                    scope.follows_seed(url)
    return scope


def _waits(task: Task, known: KnownPages) -> Callable[[str], bool]:
    """Which URLs are fetched last: in a crawl those known from earlier runs, in a visit all but
    those that it was asked for. A first visit has no such order."""
    if task.kept is None:
        return known.asked
    asks = frozenset(task.asks or ())
    return lambda url: bool(asks) and url not in asks


async def _commit(together: GroupCommit[SiteSpool], spool: SiteSpool) -> None:
    """Commits of sites that share files are grouped; others need not wait for each other."""
    if spool.files.shared:
        await together.commit(spool)
    else:
        await asyncio.to_thread(spool.commit)


def _rules(task: Task, clock: Clock, *, scored: bool, in_turns: bool) -> FrontierRules:
    site, year = task.site, datetime.fromtimestamp(clock.wall(), UTC).year
    pace = PolitenessRules.for_site(site, task.nodes)
    dispatch = DispatchRules(scored=scored, pace=pace, in_turns=in_turns)
    traps = TrapRules(this_year=year)
    if site.max_queries is not None:
        traps = replace(traps, variants=site.max_queries)
    return FrontierRules(traps, dispatch, max_pages=site.max_pages)
