"""``headgate.crawl(...)``: a whole crawl as one call, blocking, awaited, or page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Unpack

from headgate.jobs.callbacks import Callbacks, Participant
from headgate.jobs.crawl import CrawlJob
from headgate.jobs.crawl import crawl as crawl_job
from headgate.jobs.crawl_request import sites_of_urls
from headgate.jobs.fetcher_settings import fetcher_settings
from headgate.jobs.node import Listening
from headgate.jobs.own_loop import run_beside, run_blocking
from headgate.jobs.ready_sites import ready_sites
from headgate.jobs.real_parts import real_parts
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.units import parse_rate
from headgate.storage.stored_page import StoredPage

__all__ = ["crawl", "crawl_async", "stream"]

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
    return await crawl_job(job, real_parts(participant.listening), participant)


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
    if processes > 1 and participant.listening != Listening():
        raise UserMistake("follow and on_page need the crawl in one process; leave processes out")
    job = CrawlJob(
        ready,
        terms,
        Path(out),
        fetcher_settings(ready, options.get("contact", terms.contact)),
        processes,
        options.get("resume", False),
    )
    return job, participant


def _as_sites(sites: Sites) -> Sequence[Site]:
    """One or several sites or URLs, as sites."""
    if isinstance(sites, Site):
        return (sites,)
    given = (sites,) if isinstance(sites, str) else tuple(sites)
    urls = tuple(site for site in given if isinstance(site, str))
    return (*(site for site in given if isinstance(site, Site)), *sites_of_urls(urls))
