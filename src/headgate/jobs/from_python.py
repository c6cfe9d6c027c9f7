"""``headgate.crawl(...)``: a whole crawl as one plain function call."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

from headgate.control.conducting import Conducting
from headgate.control.forecast import Forecast
from headgate.control.snapshots import Look
from headgate.fetching.http import FetcherSettings
from headgate.fetching.limits import Limits
from headgate.frontier.scope import is_web_url
from headgate.grid.focus_of import check_focus
from headgate.jobs.crawl import CrawlJob
from headgate.jobs.crawl import crawl as crawl_job
from headgate.jobs.real_parts import real_parts
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.plan import Plan
from headgate.model.quota import QuotaUse
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.reading.urls import normalise

__all__ = ["Nobody", "crawl", "fetcher_settings", "ready_sites"]

_log = logging.getLogger("headgate")


def crawl(
    sites: Sequence[Site],
    budget: Budget,
    out: str | Path = "headgate-data",
    *,
    contact: str = "",
    processes: int = 1,
    resume: bool = False,
) -> RunReport:
    """Crawl sites into a collection and return the report; blocks until the crawl has ended.

    Called again with ``resume`` after a crash, it goes on. Not to be called from a running event
    loop: there, await `headgate.jobs.crawl.crawl`.
    """
    ready = ready_sites(sites)
    settings = fetcher_settings(ready, contact)
    job = CrawlJob(ready, budget, Path(out), settings, processes, resume)
    return uvloop.run(crawl_job(job, real_parts(), Nobody()))


def ready_sites(sites: Sequence[Site]) -> tuple[Site, ...]:
    """The same with their seeds in the one normal form; refuses what can never be crawled."""
    for site in sites:
        check_focus(site)
    return tuple(
        dataclasses.replace(site, seeds=tuple(_seed(site.name, seed) for seed in _seeds(site)))
        for site in sites
    )


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
        raise UserMistake(f"site {name!r}: logging in is not supported; drop what is before the @")
    return url


def fetcher_settings(sites: Sequence[Site], contact: str) -> FetcherSettings:
    """How to behave on the web; hosts of seeds are named by the user, so they may be private."""
    named = frozenset(
        (site.name, urlsplit(seed).hostname or "") for site in sites for seed in site.seeds
    )
    limits = Limits()
    most = max((site.connections or 0 for site in sites), default=0)
    if most > limits.connections_per_host:
        limits = dataclasses.replace(limits, connections_per_host=most)
    return FetcherSettings(contact or "no contact given", limits, named_for=named)


class Nobody:
    """Looks on, and logs what somebody should know."""

    def opened(self) -> None:
        pass

    def planned(self, plan: Plan | None, forecasts: Mapping[str, Forecast]) -> None:
        pass

    def look(self, look: Look) -> None:
        pass

    def mended(self, remarks: Sequence[str]) -> None:
        for remark in remarks:
            _log.warning("%s", remark)

    def paused(self, use: QuotaUse, too_late: Sequence[str]) -> None:
        pass

    def attach(self, conducting: Conducting) -> None:
        pass
