"""A node, put together from its parts: the one place that knows which adapters a crawl uses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from headgate.crawling.clock import SystemClock
from headgate.crawling.node import Node
from headgate.crawling.page_reading import PageReader
from headgate.crawling.site_run import SiteRun, Tools
from headgate.fetching.http import FetcherSettings, HttpFetcher
from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.frontier import Frontier
from headgate.frontier.rules import FrontierRules
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.grid.focus_of import focus_of
from headgate.grid.own_scorer import OwnScorer
from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.known_pages import KnownPages
from headgate.storage.spill import DiskSpill
from headgate.storage.spool import SiteSpool

__all__ = ["NodeJob", "open_node"]


@dataclass(frozen=True, slots=True)
class NodeJob:
    """What a node needs to know; plain values, so that it can be sent to another process."""

    collection: Path
    stamp: str
    """The run's."""
    sites: tuple[Site, ...]
    fetcher: FetcherSettings
    warcinfo: tuple[tuple[str, str], ...] = field(default=())

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.collection, self.stamp)


@asynccontextmanager
async def open_node(job: NodeJob) -> AsyncIterator[Node]:
    """A node in this event loop."""
    sites = {site.name: site for site in job.sites}
    known = KnownPages(Collection(job.collection))
    clock = SystemClock()
    opened: dict[str, ExitStack] = {}
    async with HttpFetcher(job.fetcher) as fetcher:

        def open_run(name: str) -> SiteRun:
            site = sites[name]
            files = opened[name] = ExitStack()
            spool = SiteSpool(job.run.place(name, job.warcinfo))
            files.callback(spool.close)
            spill = DiskSpill(job.run.spool)
            files.callback(spill.close)
            focus = focus_of(site)
            if focus is not None and isinstance(focus.scorer, OwnScorer):
                files.callback(focus.scorer.close)
            scored = focus is not None and focus.scorer is not None
            frontier = Frontier(Scope.of(site), spill, _rules(clock, scored=scored))
            reader = PageReader(with_words=focus is not None)
            return SiteRun(site, Tools(frontier, fetcher, spool, known, reader, clock, focus))

        def close_run(name: str) -> None:
            files = opened.pop(name, None)  # a run that fails as the node closes is closed twice
            if files is not None:
                files.close()

        try:
            yield Node(open_run, fetcher, close_run)
        finally:
            for name in list(opened):
                close_run(name)
            known.close()


def _rules(clock: SystemClock, *, scored: bool) -> FrontierRules:
    year = datetime.fromtimestamp(clock.wall(), UTC).year
    return FrontierRules(TrapRules(this_year=year), DispatchRules(scored=scored))
