"""A node, put together from its parts: a fetcher, files and a clock for the sites it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.crawling.focusing import Focusing
from headgate.crawling.group_commit import GroupCommit
from headgate.crawling.node import Node, NodeRun
from headgate.crawling.page_reading import ROBOTS_AGENT, PageReader
from headgate.crawling.ports import Clock, Fetcher
from headgate.crawling.requisites import Requisites
from headgate.crawling.robots_cache import RobotsCache
from headgate.crawling.second_reader import SecondReader
from headgate.crawling.site_run import SiteRun, Tools
from headgate.crawling.understanding import Choose
from headgate.fetching.http import FetcherSettings
from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.frontier import Frontier
from headgate.frontier.pacing import PaceRules
from headgate.frontier.rules import FrontierRules
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.grid.focus_of import focus_of
from headgate.grid.own_scorer import OwnScorer
from headgate.model.local_time import Calendar
from headgate.model.score_order import ScoreOrder
from headgate.model.site import BREADTH_FIRST, Site
from headgate.model.site import Requisites as WhichRequisites
from headgate.model.task import Task
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.shared_files import SharedByRun
from headgate.storage.journals.spool import SiteSpool, begin_together
from headgate.storage.memory.known_pages import KnownPages, LentPages, VisitedPages
from headgate.storage.memory.remembering import remember
from headgate.storage.page import PageRow
from headgate.storage.spill import DiskSpill

if TYPE_CHECKING:  # few crawls have one
    from headgate.crawling.common_queue import CommonQueue, KnownSpeed

__all__ = ["Listening", "NodeJob", "NodeParts", "OpenFetcher", "open_node"]

OpenFetcher = Callable[[FetcherSettings], AbstractAsyncContextManager[Fetcher]]


@dataclass(frozen=True, slots=True)
class NodeJob:
    """What a node needs to know; plain values, so that it can be sent to another process."""

    collection: Path
    stamp: str
    """The run's; of a keeper, whose tasks name theirs, empty."""
    fetcher: FetcherSettings
    warcinfo: tuple[tuple[str, str], ...] = field(default=())
    many_sites: bool = False
    """So many that small ones share files."""
    borrowing: bool = True
    """Whether a site may take a little more than its rate where others leave some of theirs."""
    order: ScoreOrder | None = None
    """How pages of all sites go through one queue; None: each site has its own."""
    calendar: Calendar = field(default=Calendar())
    """Whose hours and holidays servers are busy by."""
    servers: tuple[KnownSpeed, ...] = ()
    """What earlier runs learned of hosts, for that queue."""
    remembering: bool = True
    """Of each site, what it had, as it ends; else whoever seals the run does."""

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.collection, self.stamp)

    def collection_of(self, task: Task) -> Collection:
        """That holds what is known of its site."""
        apart = task.apart
        return Collection(self.collection if apart is None else self.collection / apart.folder)

    def run_of(self, task: Task) -> RunFolder:
        """That holds what a task stores."""
        if task.apart is not None:
            return RunFolder(self.collection_of(task).path, task.apart.stamp)
        return self.run if task.kept is None else RunFolder(self.collection, task.kept.volume)

    def shares(self, task: Task) -> bool:
        """Whether it shares files with others while it is small. Visits of a keeper all do."""
        if task.apart is not None:
            return False
        return task.kept is not None or self.many_sites or bool(self.run.shared_numbers())

    def may_move(self, task: Task) -> bool:
        """Whether another process can go on with it: all that it stored is in files of its own, and
        nothing is made of it before its end."""
        return task.kept is None and task.survey is None and not self.shares(task)


@dataclass(frozen=True, slots=True)
class Listening:
    """A program of the user's that takes part, in this process."""

    choose: Choose | None = None
    """Which links are followed; None: all that page and site allow."""
    stored: Callable[[RunFolder, str, Sequence[PageRow]], None] | None = None
    """Told of pages of a site as they are stored, in whichever thread does it."""


@dataclass(frozen=True, slots=True)
class NodeParts:
    """What a node does not make itself: the web, the time, and who helps it to read."""

    clock: Clock
    open_fetcher: OpenFetcher
    second_reader: Callable[[], SecondReader | None] = lambda: None
    listening: Listening = field(default=Listening())


@asynccontextmanager
async def open_node(job: NodeJob, parts: NodeParts) -> AsyncIterator[Node]:
    """A node in this event loop."""
    clock = parts.clock
    opened: dict[str, ExitStack] = {}
    second = parts.second_reader()
    shared = SharedByRun(job.warcinfo)
    together = GroupCommit(begin_together)
    robots = RobotsCache()
    async with parts.open_fetcher(job.fetcher) as fetcher:
        queue = None if job.order is None else _queue(job, job.order, fetcher, clock)

        def open_run(task: Task, started: float | None) -> NodeRun:
            files = opened[task.name] = ExitStack()
            if task.survey is None:
                return open_site(task, started, files)
            from headgate.jobs.surveys.task_run import open_survey_task  # few nodes have one

            log = job.run_of(task).place(task.name).journal
            return open_survey_task(task, task.survey, log, fetcher, clock, started, files)

        def open_site(task: Task, started: float | None, files: ExitStack) -> SiteRun:
            site, name = task.site, task.name
            run = job.run_of(task)
            owner = Owner(name, task.visit if task.kept is not None else 0)
            sharing = files.enter_context(shared.by(run)) if job.shares(task) else None
            spool = SiteSpool(run.place(name, job.warcinfo, visit=owner.visit), sharing)
            files.callback(spool.close)
            if parts.listening.stored is not None:
                spool.on_stored = partial(parts.listening.stored, run, name)
            known = _known(task, job.collection_of(task))
            files.callback(known.close)
            spill = DiskSpill(run.spool)
            files.callback(spill.close)
            focus = focus_of(site)
            _close_scorer(focus, files)
            scored = focus is not None and focus.scorer is not None
            rules = _rules(site, clock, scored=scored, in_turns=queue is not None)
            scope = _scope(task, known)
            frontier = Frontier(scope, spill, rules, _waits(task, known))
            needed = _requisites(site, scope)
            # Of a site that is kept it is asked whether pages changed, noise left out.
            ignore = None if task.kept is None else site.keeping.ignore
            agent = site.access.robots_agent or ROBOTS_AGENT
            reader = PageReader(
                agent,
                with_words=focus is not None,
                with_requisites=needed is not None,
                ignore=ignore,
            )
            tools = Tools(
                frontier, fetcher, spool, known, reader, clock,
                remember=partial(_remember, job, owner, spool, task, clock),
                focus=focus,
                second_reader=second if needed is None else None,  # which reads links only
                requisites=needed,
                commit=partial(_commit, together, spool),
                robots_cache=None if task.kept is None else robots,
                queue=queue,
                choose=parts.listening.choose,
            )  # fmt: skip
            return SiteRun(task, tools, started)

        def close_run(name: str) -> None:
            files = opened.pop(name, None)  # a run that fails as the node closes is closed twice
            if files is not None:
                files.close()

        try:
            yield Node(
                open_run, fetcher, close_run,
                borrowing=job.borrowing, queue=queue, second_reader=second,
            )  # fmt: skip
        finally:
            if queue is not None:
                queue.close()
            if second is not None:
                second.close()
            for name in list(opened):
                close_run(name)
            shared.close()


def _queue(job: NodeJob, order: ScoreOrder, fetcher: Fetcher, clock: Clock) -> CommonQueue:
    from headgate.crawling.common_queue import CommonQueue

    return CommonQueue(order, job.calendar, job.servers, fetcher, clock)


def _close_scorer(focus: Focusing | None, files: ExitStack) -> None:
    """With the files, if it has a process of its own."""
    if focus is not None and isinstance(focus.scorer, OwnScorer):
        files.callback(focus.scorer.close)


def _known(task: Task, collection: Collection) -> KnownPages:
    """Of a visit for somebody else, the memory came with it, and the archive did not. With a focus
    every page of a crawl is to be read."""
    site = task.site
    unread = not site.focus and not site.focus_pages and site.url_order == BREADTH_FIRST
    if task.apart is not None and (unread or task.kept is not None):
        return LentPages(collection, task.name)
    if task.kept is None:
        return KnownPages(collection, task.name)
    return (KnownPages if task.asks is None else VisitedPages)(collection, task.name)


def _remember(job: NodeJob, owner: Owner, spool: SiteSpool, task: Task, clock: Clock) -> bool:
    """What a site run met."""
    kept, site, run = task.kept, task.site, job.run_of(task)
    if task.apart is not None or not job.remembering:
        return False  # whoever takes the files does, or seals the run
    if kept is None:
        return remember(run, owner, spool.commits())
    from headgate.jobs.keeping.visit_remembering import remember_kept  # here: only keepers do

    remember_kept(run, owner, site, spool.commits, clock.wall(), believe=kept.believe)
    return True


def _requisites(site: Site, scope: Scope) -> Requisites | None:
    if site.requisites is WhichRequisites.NONE:
        return None
    return Requisites(scope, anywhere=site.requisites is WhichRequisites.PAGE)


def _scope(task: Task, known: KnownPages) -> Scope:
    """Hosts that seeds redirected to were found by visits before."""
    scope = Scope.of(task.site)
    if task.asks and len(scope.candidates(task.asks)) < len(task.asks):
        for depth, urls in known.pages():
            for url in urls if depth == 0 else ():
                scope.follows_seed(url)
    return scope


def _waits(task: Task, known: KnownPages) -> Callable[[str], bool]:
    """Which URLs come after others: in a crawl those asked for before, in a visit all but its own.
    What a first visit finds, it is for."""
    if task.kept is None:
        return known.asked
    asks = frozenset(task.asks or ())
    return lambda url: bool(asks) and url not in asks


async def _commit(together: GroupCommit[SiteSpool], spool: SiteSpool) -> None:
    """A site with files of its own waits for nobody else's."""
    if spool.files.shared:
        await together.commit(spool)
    else:
        await asyncio.to_thread(spool.commit)


def _rules(site: Site, clock: Clock, *, scored: bool, in_turns: bool) -> FrontierRules:
    year = datetime.fromtimestamp(clock.wall(), UTC).year
    dispatch = DispatchRules(scored=scored, pace=PaceRules.of(site), in_turns=in_turns)
    traps = TrapRules(this_year=year)
    if site.max_queries is not None:
        traps = replace(traps, variants=site.max_queries)
    return FrontierRules(traps, dispatch, max_pages=site.max_pages)
