"""What the catalog knows of sites that are to be crawled, as forecasts need it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from headgate.control.forecast import Past, PastVisit
from headgate.frontier.scope import host_of
from headgate.model.site import Site
from headgate.storage.catalog import Catalog

__all__ = ["pasts"]


def pasts(catalog: Catalog | None, sites: Sequence[Site], crawlers: int) -> dict[str, Past]:
    """By site. A host that moved is looked up at its newest address; sites that live at one
    address share it, as far as they are crawled at once."""
    if catalog is None:
        return {site.name: Past() for site in sites}
    addresses = {site.name: catalog.address(host_of(site.seeds[0])) for site in sites if site.seeds}
    living = Counter(address for address in addresses.values() if address)
    return {
        site.name: _past(catalog, site.name, addresses.get(site.name), living, crawlers)
        for site in sites
    }


def _past(
    catalog: Catalog, site: str, address: str | None, living: Counter[str], crawlers: int
) -> Past:
    visits = tuple(
        PastVisit(visit.wire_bytes, visit.seconds, visit.complete, visit.alpha)
        for visit in catalog.history(site)
    )
    if address is None:
        return Past(visits)
    return Past(visits, catalog.server(address), min(living[address], crawlers))
