"""What a Scrapy project's settings ask of Headgate, checked before anything starts.

Bounds of what is fetched (depth, pages, delays) are the spider's own; of a site file the budget,
deadlines, sizes, rates and who asks hold here. What cannot hold is refused or told.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.site_inputs import ready_sites
from headgate.features.crawl.request import CrawlRequest
from headgate.fetching.client import FetcherSettings
from headgate.fetching.limits import Limits
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.model.units import parse_rate

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

__all__ = ["HeadgateSettings", "read_terms"]

_logger = logging.getLogger(__name__)
_ANYWHERE = frozenset(("0.0.0.0/0", "::/0"))
"""Where a spider leads is its author's to know, as it is without us."""
_NO_LIMIT_SECONDS = 1e9
"""A request has its own time-out, and no other."""
_MANY = 1_000_000
"""Sites at once, where no file bounds them: the spider's own bounds on requests do."""
_THE_SPIDERS = {
    "depth": "DEPTH_LIMIT",
    "max_pages": "CLOSESPIDER_PAGECOUNT",
    "max_bytes": "",
    "max_time": "CLOSESPIDER_TIMEOUT",
    "max_page_size": "DOWNLOAD_MAXSIZE",
    "fetch": "",
    "store": "",
    "connections": "CONCURRENT_REQUESTS_PER_DOMAIN",
    "delay": "DOWNLOAD_DELAY",
    "focus": "",
    "order": "DEPTH_PRIORITY",
}
"""Key of a site -> what a spider has for it."""


@dataclass(frozen=True, slots=True)
class HeadgateSettings:
    """Spiders that share a line have the same."""

    sites: tuple[Site, ...]
    """Of the site file, in its order; empty: there is none."""
    budget: Budget
    fetcher: FetcherSettings
    out: str = ""
    """The collection that responses are archived in; empty: none."""

    @property
    def planned(self) -> bool:
        """Whether a file says which site gets what; without one all share equally."""
        return bool(self.sites)


def read_terms(settings: BaseSettings) -> HeadgateSettings:
    """Raises `UserMistake` for what cannot be used."""
    sites, budget = _asked(settings)
    _refuse(sites, budget)
    _tell(sites)
    usual = fetcher_settings(sites, "")
    fetcher = structs.replace(
        usual,
        named=_ANYWHERE,
        limits=_limits(settings, usual.limits),
        verify_tls=settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
    )
    return HeadgateSettings(sites, budget, fetcher, str(settings.get("HEADGATE_OUT") or ""))


def _asked(settings: BaseSettings) -> tuple[tuple[Site, ...], Budget]:
    path, rate = settings.get("HEADGATE"), settings.get("HEADGATE_BANDWIDTH")
    if not path and rate is None:
        raise UserMistake(
            'Headgate has no budget; set HEADGATE_BANDWIDTH = "1 MB/s" or HEADGATE = "sites.toml"'
        )
    bandwidth = None if rate is None else _bandwidth(rate)
    if not path:
        assert bandwidth is not None
        return (), Budget(parse_rate(bandwidth), crawlers=_MANY)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UserMistake(f"HEADGATE: {path}: {why}") from None
    contents = CrawlRequest(path=str(path), text=text, bandwidth=bandwidth).contents()
    return ready_sites(contents.sites), contents.budget


def _bandwidth(value: object) -> str:
    words = f"{value} B/s" if isinstance(value, int | float) else str(value)
    try:
        rate = parse_rate(words)
    except UserMistake as mistake:
        raise UserMistake(f"HEADGATE_BANDWIDTH: {mistake}") from None
    if rate <= 0:
        raise UserMistake("HEADGATE_BANDWIDTH must be more than 0, like '1 MB/s', or 'unlimited'")
    return words


def _refuse(sites: tuple[Site, ...], budget: Budget) -> None:
    if budget.quota is not None:
        raise UserMistake("quota: spiders keep a bandwidth, not a quota; take it out of [budget]")
    if budget.make_way:
        raise UserMistake("make_way: spiders do not step back; take it out of [budget]")
    for site in sites:
        key = "login" if site.access.login else "cookies" if site.access.cookies else ""
        if key:
            raise UserMistake(
                f"site {site.name!r}: {key}: cookies are the spider's own; log in by a"
                f" FormRequest, and take {key} out of the site file"
            )


def _tell(sites: tuple[Site, ...]) -> None:
    usual = Site("usual")
    for site in sites:
        for key, instead in _THE_SPIDERS.items():
            if getattr(site, key) != getattr(usual, key):
                remedy = f"; set {instead}" if instead else ""
                _logger.warning("site %r: %s is the spider's to keep%s", site.name, key, remedy)


def _limits(settings: BaseSettings, usual: Limits) -> Limits:
    slots = settings.getdict("DOWNLOAD_SLOTS").values()
    at_once = settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
    most = max([at_once, *(int(slot.get("concurrency", 1)) for slot in slots), 1])
    return structs.replace(
        usual,
        connect_seconds=settings.getfloat("DOWNLOAD_TIMEOUT") or _NO_LIMIT_SECONDS,
        first_byte_seconds=_NO_LIMIT_SECONDS,
        stall_seconds=_NO_LIMIT_SECONDS,
        total_seconds=_NO_LIMIT_SECONDS,
        connections_per_host=most,
    )
