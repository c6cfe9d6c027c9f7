"""Sites made ready to be crawled: normalised seeds, checked settings."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import structs

from headgate.frontier.scope import is_web_url
from headgate.model.errors import UserMistake
from headgate.model.site import BREADTH_FIRST, Site
from headgate.model.store_rule import StoreRule
from headgate.reading.urls import normalise

__all__ = ["ready_sites"]

LOGOUT = r"(?i)log-?out|sign-?out|log_out|sign_out|logoff"
"""Matches links that end a session."""


def ready_sites(sites: Sequence[Site]) -> tuple[Site, ...]:
    """The sites with their seeds normalised; raises `UserMistake` for what can never be crawled."""
    for site in sites:
        _check_focus(site)
        _check_store(site)
    return tuple(map(_ready, sites))


def _ready(site: Site) -> Site:
    """Copies a site only if something changes: there may be ten thousand of them."""
    seeds = tuple(_seed(site.name, seed) for seed in _seeds(site))
    exclude = _exclude(site)
    if (seeds, exclude) == (site.seeds, site.exclude):
        return site
    return structs.replace(site, seeds=seeds, exclude=exclude)


def _check_focus(site: Site) -> None:
    if site.has_topic or site.url_order != BREADTH_FIRST:
        from headgate.grid.focus_of import check_focus  # here: it brings the readers of pages

        check_focus(site)


def _check_store(site: Site) -> None:
    try:
        StoreRule.parse(site.store)
    except UserMistake as mistake:
        raise UserMistake(f"site {site.name!r}: store: {mistake}") from None


def _exclude(site: Site) -> tuple[str, ...]:
    """The site's exclude patterns, and links that would end our session if it logs in."""
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
        raise UserMistake(f"site {name!r}: {seed!r} has port 0, which no server can have")
    if parts.username is not None:
        raise UserMistake(
            f"site {name!r}: a URL is no place for a password; drop what is before the @ and write"
            ' auth = "basic env:NAME"'
        )
    return url
