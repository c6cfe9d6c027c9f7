"""Gathers from the catalog what forecasts need to know of sites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from headgate.control.catalog import Catalog, Visit
from headgate.control.forecast import Past, PastVisit, Remembered
from headgate.frontier.scope import host_of
from headgate.model.site import Site

__all__ = ["pasts"]


_VISITS = 10
_TROUBLES = ("5", "429", "408")
"""Prefixes of temporary error statuses."""


def pasts(
    catalog: Catalog | None,
    sites: Sequence[Site],
    crawlers: int,
    remembered: Callable[[str], Remembered | None] = lambda _: None,
) -> dict[str, Past]:
    """By site. A host that moved is looked up at its newest address; sites at one address share it,
    as far as they are crawled at once. ``remembered`` returns what is known of a site's pages."""
    if catalog is None:
        return {site.name: Past() for site in sites}
    addresses = {site.name: catalog.address(host_of(site.seeds[0])) for site in sites if site.seeds}
    living = Counter(address for address in addresses.values() if address)
    found = {}
    for site in sites:
        address = addresses.get(site.name)
        found[site.name] = Past(
            _visits(catalog.history(site.name, _VISITS)),
            catalog.server(address) if address else None,
            min(living[address], crawlers) if address else 1,
            remembered(site.name),
        )
    return found


def _visits(history: Sequence[Visit]) -> tuple[PastVisit, ...]:
    return tuple(
        PastVisit(
            visit.wire_bytes,
            visit.seconds,
            visit.complete,
            visit.alpha,
            visit.pages,
            sum(count for kind, count in visit.errors.items() if _of_the_moment(kind)),
            first=number == len(history) < _VISITS,
        )
        for number, visit in enumerate(history, 1)
    )


def _of_the_moment(kind: str) -> bool:
    return not kind.isdecimal() or kind.startswith(_TROUBLES)
