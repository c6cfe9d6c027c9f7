"""Settings of the fetcher for a crawl of certain sites."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import structs

from headgate.fetching.client import FetcherSettings
from headgate.fetching.identity import identities
from headgate.fetching.limits import Limits
from headgate.model.site import Access, Site

__all__ = ["fetcher_settings"]


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
