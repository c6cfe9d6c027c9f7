"""Forecasts of what each site of a crawl or a plan will take.

They come from the site file, from what the collection remembers, and for ``plan --scout`` from a
first look at the site (`features.plan.scout`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from headgate.control.catalog import Catalog
from headgate.control.forecast import (
    Forecast,
    Remembered,
    Scouted,
    forecast,
    pasts,
    unknown_site_bytes,
)
from headgate.model.budget import Budget
from headgate.model.site import Site
from headgate.storage.collection import Collection
from headgate.storage.memory.site import read_summary

__all__ = ["forecast_sites"]


def forecast_sites(
    sites: Sequence[Site],
    budget: Budget,
    catalog: Catalog | None,
    collection: Collection | None,
    start: datetime,
    scouted: dict[str, Scouted] | None = None,
) -> dict[str, Forecast]:
    """For a crawl from ``start`` on. A site of unknown size is taken for a typical one of the
    others."""
    past = pasts(catalog, sites, budget.crawlers, partial(_remembered, collection))
    instant = start.timestamp()

    def foretold(site: Site, unknown_bytes: float) -> Forecast:
        return forecast(
            site,
            past[site.name],
            (scouted or {}).get(site.name),
            calendar=budget.calendar,
            instant=instant,
            unknown_bytes=unknown_bytes,
        )

    usual = unknown_site_bytes([])
    unknown_bytes = unknown_site_bytes(foretold(site, usual) for site in sites)
    return {site.name: foretold(site, unknown_bytes) for site in sites}


def _remembered(collection: Collection | None, site: str) -> Remembered | None:
    known = None if collection is None else read_summary(collection.memory(site), site)
    if known is None:
        return None
    return Remembered(
        known.pages, known.never_asked, known.sized, known.sized_bytes, known.revalidatable
    )
