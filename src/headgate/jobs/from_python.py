"""``headgate.crawl(...)``: a whole crawl as one call, awaited, or page by page."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Unpack
from urllib.parse import urlsplit

from headgate.fetching.http import FetcherSettings
from headgate.fetching.identity import identities
from headgate.fetching.limits import Limits
from headgate.frontier.scope import is_web_url
from headgate.grid.focus_of import check_focus
from headgate.jobs.callbacks import Callbacks, Participant
from headgate.jobs.crawl import CrawlJob
from headgate.jobs.crawl import crawl as crawl_job
from headgate.jobs.crawl_request import sites_of_urls
from headgate.jobs.node import Listening
from headgate.jobs.own_loop import run_beside, run_blocking
from headgate.jobs.real_parts import real_parts
from headgate.model.access import Access
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.store_rule import StoreRule
from headgate.model.units import parse_rate
from headgate.reading.urls import normalise
from headgate.storage.stored_page import StoredPage

__all__ = ["crawl", "crawl_async", "fetcher_settings", "ready_sites", "stream"]

LOGOUT = r"(?i)log-?out|sign-?out|log_out|sign_out|logoff"
"""What links that end a session have in them."""

Sites = Site | str | Sequence[Site | str]
"""Sites, or URLs, of which each host is one."""


class CrawlOptions(Callbacks, total=False):
    """All of them may be left out."""

    contact: str
    """Who crawls: a URL or an e-mail address, told to servers."""
    processes: int
    resume: bool
    """Go on with the unfinished run of the collection."""


def crawl(
    sites: Sites,
    budget: Budget | str,
    out: str | Path = "headgate-data",
    **options: Unpack[CrawlOptions],
) -> RunReport:
    """Crawl sites into a collection and return the report; blocks until the crawl has ended.

    Called again with ``resume`` after a crash, it goes on. Works in a notebook, too, whose event
    loop then stands still: there, ``await headgate.crawl_async(...)`` is better.
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
    """The same, awaited. Cancelled, the crawl ends in order, and can be resumed."""
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
    """Crawl, and give each page once it is stored. Whoever leaves the loop ends the crawl."""
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
    """Checked at once."""
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
    """One or several; a URL is a site of its host."""
    if isinstance(sites, Site):
        return (sites,)
    given = (sites,) if isinstance(sites, str) else tuple(sites)
    urls = tuple(site for site in given if isinstance(site, str))
    return (*(site for site in given if isinstance(site, Site)), *sites_of_urls(urls))


def ready_sites(sites: Sequence[Site]) -> tuple[Site, ...]:
    """The same with their seeds in the one normal form; refuses what can never be crawled."""
    for site in sites:
        check_focus(site)
        _check_store(site)
    return tuple(map(_ready, sites))


def _ready(site: Site) -> Site:
    """A copy is made only where something is another one: there may be ten thousand sites."""
    seeds = tuple(_seed(site.name, seed) for seed in _seeds(site))
    exclude = _without_logout(site)
    if (seeds, exclude) == (site.seeds, site.exclude):
        return site
    return dataclasses.replace(site, seeds=seeds, exclude=exclude)


def _check_store(site: Site) -> None:
    try:
        StoreRule.parse(site.store)
    except UserMistake as mistake:
        raise UserMistake(f"site {site.name!r}: store: {mistake}") from None


def _without_logout(site: Site) -> tuple[str, ...]:
    """A crawl that follows every link would log itself out."""
    if not site.access.logs_in or LOGOUT in site.exclude:
        return site.exclude
    return (*site.exclude, LOGOUT)


def _seeds(site: Site) -> tuple[str, ...]:
    if not site.seeds:
        raise UserMistake(f'site {site.name!r} has no seeds; add seeds = ["https://..."]')
    return site.seeds


def _seed(name: str, seed: str) -> str:
    url = normalise(seed)
    if url is None or not is_web_url(url):
        raise UserMistake(f"site {name!r}: {seed!r} is not a URL of http or https")
    parts = urlsplit(url)
    if parts.port == 0:
        raise UserMistake(f"site {name!r}: {seed!r} has port 0, where nobody can listen")
    if parts.username is not None:
        raise UserMistake(
            f"site {name!r}: a URL is no place for a password; drop what is before the @ and write"
            ' auth = "basic env:NAME"'
        )
    return url


def fetcher_settings(sites: Sequence[Site], contact: str) -> FetcherSettings:
    """How to behave on the web; hosts of seeds are named by the user, so they may be private."""
    urls = {site.name: tuple(filter(None, (*site.seeds, site.access.login))) for site in sites}
    named = frozenset((site, urlsplit(url).hostname or "") for site in urls for url in urls[site])
    access = tuple(
        (site.name, site.access, urls[site.name]) for site in sites if site.access != Access()
    )
    limits = Limits()
    most = max((site.connections or 0 for site in sites), default=0)
    if most > limits.connections_per_host:
        limits = dataclasses.replace(limits, connections_per_host=most)
    identities(access)  # says at once what cannot be used
    return FetcherSettings(contact or "no contact given", limits, named_for=named, access=access)
