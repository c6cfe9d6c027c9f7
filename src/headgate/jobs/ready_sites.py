"""Sites made ready to be crawled: normalised seeds, checked settings, settings of the fetcher."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import structs

from headgate.fetching.http import FetcherSettings
from headgate.fetching.identity import identities
from headgate.fetching.limits import Limits
from headgate.frontier.scope import is_web_url
from headgate.grid.focus_of import check_focus
from headgate.model.access import Access
from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.model.store_rule import StoreRule
from headgate.reading.urls import normalise

__all__ = ["fetcher_settings", "ready_sites"]

LOGOUT = r"(?i)log-?out|sign-?out|log_out|sign_out|logoff"
"""Matches links that end a session."""


def ready_sites(sites: Sequence[Site]) -> tuple[Site, ...]:
    """The sites with their seeds normalised; raises `UserMistake` for what can never be crawled."""
    for site in sites:
        check_focus(site)
        _check_store(site)
    return tuple(map(_ready, sites))


def _ready(site: Site) -> Site:
    """Copies a site only if something changes: there may be ten thousand of them."""
    seeds = tuple(_seed(site.name, seed) for seed in _seeds(site))
    exclude = _exclude(site)
    if (seeds, exclude) == (site.seeds, site.exclude):
        return site
    return structs.replace(site, seeds=seeds, exclude=exclude)


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


def fetcher_settings(sites: Sequence[Site], contact: str) -> FetcherSettings:
    """Hosts of seeds may have private addresses, because the user named them."""
    urls = {site.name: tuple(filter(None, (*site.seeds, site.access.login))) for site in sites}
    named = frozenset((site, urlsplit(url).hostname or "") for site in urls for url in urls[site])
    access = tuple(
        (site.name, site.access, urls[site.name]) for site in sites if site.access != Access()
    )
    limits = Limits()
    most = max((site.connections or 0 for site in sites), default=0)
    if most > limits.connections_per_host:
        limits = structs.replace(limits, connections_per_host=most)
    identities(access)  # raises now where a secret or a file cannot be used
    return FetcherSettings(contact or "no contact given", limits, named_for=named, access=access)
