"""``headgate.crawl(...)``: a whole crawl as one call, blocking, awaited, or page by page."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict, Unpack

from headgate.control.control_loop import ControlLoop
from headgate.control.forecast import Forecast
from headgate.control.snapshots import Moment, Snapshots
from headgate.engine.event_loop import run_beside, run_blocking
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.node import NodeCallbacks
from headgate.engine.real_parts import real_parts
from headgate.engine.site_inputs import ready_sites
from headgate.engine.watcher import Watcher
from headgate.features.crawl.job import CrawlJob
from headgate.features.crawl.job import crawl as crawl_job
from headgate.features.crawl.request import sites_of_urls
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.plan import Plan
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.snapshot import Snapshot
from headgate.model.units import parse_rate
from headgate.report.words import why_missed
from headgate.storage.collection import RunFolder
from headgate.storage.page import PageRow
from headgate.storage.stored_page import StoredPage

__all__ = ["crawl", "crawl_async", "stream"]

_MOST_CHOOSING = 64
"""Concurrent calls of ``follow``, any of which may never return."""


class Callbacks(TypedDict, total=False):
    """Callbacks of a user's program: for pages and progress, and for choosing links.

    ``on_page`` and ``on_progress`` are called in a thread of their own, in order, so a slow
    callback does not hold up the crawl. An exception in a callback ends the crawl in order, so that
    it can be resumed, and is raised again once it has ended.

    All optional.
    """

    follow: Callable[[str, Sequence[str]], Iterable[str]]
    """Takes a page's URL and its links; returns the links to follow."""
    on_page: Callable[[StoredPage], object]
    """Called with each page once it is stored."""
    on_progress: Callable[[Snapshot], object]
    """Called with the state of the crawl a few times a second; a slow callback misses some."""


class Participant(Watcher[ControlLoop, Moment]):
    """Calls a user's callbacks; used for one crawl."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._follow = callbacks.get("follow")
        self._on_page = callbacks.get("on_page")
        self._on_progress = callbacks.get("on_progress")
        self._snapshots = Snapshots(why_missed)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._control_loop: ControlLoop | None = None
        self._stopped = False
        self._error: BaseException | None = None
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._choosing = ThreadPoolExecutor(_MOST_CHOOSING, "follow")

    @property
    def callbacks(self) -> NodeCallbacks:
        return NodeCallbacks(
            None if self._follow is None else self._choose,
            None if self._on_page is None else self._stored,
        )

    def stop(self) -> None:
        """End the crawl in order, from any thread; the run can be resumed."""
        self._stopped = True
        loop, control_loop = self._loop, self._control_loop
        if loop is not None and control_loop is not None:
            loop.call_soon_threadsafe(control_loop.interrupt, "interrupted")

    def finish(self) -> None:
        """After the crawl: wait for pending callbacks, and raise the error of one that failed."""
        self._choosing.shutdown(wait=False)
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join()
        if self._error is not None:
            raise self._error

    def on_open(self) -> None:
        self._loop = asyncio.get_running_loop()

    def on_plan(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
        del plan
        self._snapshots.planned(forecasts)

    def on_progress(self, look: Moment) -> None:
        if self._on_progress is not None and self._calls.empty():
            snapshot, tell = self._snapshots.take(look), self._on_progress
            self._call(lambda: tell(snapshot))

    def on_start(self, control_loop: ControlLoop) -> None:
        self._control_loop = control_loop
        if self._stopped:
            control_loop.interrupt("interrupted")

    async def _choose(self, url: str, links: Sequence[str]) -> Sequence[str]:
        """In a thread of an executor of its own, because ``follow`` may take long or hang, and
        commits need threads, too. Links that it adds are not followed."""
        assert self._follow is not None
        loop = asyncio.get_running_loop()
        chosen = await loop.run_in_executor(self._choosing, self._follow, url, links)
        if isinstance(chosen, str) or not isinstance(chosen, Iterable):
            raise UserMistake(f"follow({url!r}, …) returned {chosen!r}; it must return links")
        wanted = frozenset(chosen)
        return [link for link in links if link in wanted]

    def _stored(self, run: RunFolder, site: str, rows: Sequence[PageRow]) -> None:
        from headgate.storage.page_states import THERE  # it loads Arrow: no start should

        tell = self._on_page
        assert tell is not None
        for row in rows:
            if row.role == "page" and row.status in THERE:
                page = StoredPage.from_row(run, site, row)
                self._call(lambda page=page: tell(page))  # type: ignore[misc]

    def _call(self, call: Callable[[], object]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._tell, name="callbacks", daemon=True)
            self._thread.start()
        self._calls.put(call)

    def _tell(self) -> None:
        while (call := self._calls.get()) is not None:
            if self._error is None:
                try:
                    call()
                except BaseException as error:
                    self._error = error
                    self.stop()


# The call.


Sites = Site | str | Sequence[Site | str]
"""Sites, or URLs; each host among the URLs becomes a site."""


class CrawlOptions(Callbacks, total=False):
    """All optional."""

    contact: str
    """Your URL or e-mail address, sent to servers."""
    processes: int
    resume: bool
    """Continue the unfinished run of the collection."""


def crawl(
    sites: Sites,
    budget: Budget | str,
    out: str | Path = "headgate-data",
    **options: Unpack[CrawlOptions],
) -> RunReport:
    """Crawl sites into a collection and return the report; blocks until the crawl has ended.

    After a crash, call it again with ``resume``. In a notebook it blocks the event loop: use
    ``await headgate.crawl_async(...)`` there.
    """
    job, participant = _prepared(sites, budget, out, options)
    try:
        return run_blocking(lambda: _crawl(job, participant))
    finally:
        participant.finish()


async def crawl_async(
    sites: Sites,
    budget: Budget | str,
    out: str | Path = "headgate-data",
    **options: Unpack[CrawlOptions],
) -> RunReport:
    """Like `crawl`, but awaited. Cancellation ends the crawl in order; it can be resumed."""
    job, participant = _prepared(sites, budget, out, options)
    try:
        return await run_beside(lambda: _crawl(job, participant), participant.stop)
    finally:
        await asyncio.to_thread(participant.finish)


async def stream(
    sites: Sites,
    budget: Budget | str,
    out: str | Path = "headgate-data",
    **options: Unpack[CrawlOptions],
) -> AsyncGenerator[StoredPage, None]:
    """Crawl, and yield each page once it is stored. Leaving the loop ends the crawl."""
    loop = asyncio.get_running_loop()
    pages: asyncio.Queue[StoredPage | None] = asyncio.Queue()
    if "on_page" in options:
        raise UserMistake("stream gives the pages itself; leave on_page out")
    options["on_page"] = lambda page: loop.call_soon_threadsafe(pages.put_nowait, page)
    crawling = asyncio.ensure_future(crawl_async(sites, budget, out, **options))
    crawling.add_done_callback(lambda _: pages.put_nowait(None))
    try:
        while (page := await pages.get()) is not None:
            yield page
        await crawling
    finally:
        if not crawling.done():
            crawling.cancel()
            await asyncio.wait([crawling])


async def _crawl(job: CrawlJob, participant: Participant) -> RunReport:
    return await crawl_job(job, real_parts(participant.callbacks), participant)


def _prepared(
    sites: Sites, budget: Budget | str, out: str | Path, options: CrawlOptions
) -> tuple[CrawlJob, Participant]:
    """The job and its callbacks; raises `UserMistake` before anything is started."""
    unknown = options.keys() - CrawlOptions.__annotations__.keys()
    if unknown:
        raise UserMistake(f"there is no option {min(unknown)!r}")
    ready = ready_sites(_as_sites(sites))
    participant = Participant(options)
    terms = Budget(parse_rate(budget)) if isinstance(budget, str) else budget
    processes = options.get("processes", terms.processes)
    if processes > 1 and participant.callbacks != NodeCallbacks():
        raise UserMistake("follow and on_page need the crawl in one process; leave processes out")
    job = CrawlJob(
        ready,
        terms,
        out=Path(out),
        fetcher=fetcher_settings(ready, options.get("contact", terms.contact)),
        processes=processes,
        resume=options.get("resume", False),
    )
    return job, participant


def _as_sites(sites: Sites) -> Sequence[Site]:
    """One or several sites or URLs, as sites."""
    if isinstance(sites, Site):
        return (sites,)
    given = (sites,) if isinstance(sites, str) else tuple(sites)
    urls = tuple(site for site in given if isinstance(site, str))
    return (*(site for site in given if isinstance(site, Site)), *sites_of_urls(urls))
