"""A first look at sites, for ``plan --scout``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from headgate.control.catalog import Catalog
from headgate.control.forecast import Scouted
from headgate.control.scouting import scout_all
from headgate.control.site_past import pasts
from headgate.crawling.page_reading import PageReader
from headgate.fetching.http import FetcherSettings
from headgate.jobs.parts import Parts
from headgate.model.budget import Budget
from headgate.model.site import Site
from headgate.model.timetable import Timetable

__all__ = ["scouted_sites"]


async def scouted_sites(
    sites: Sequence[Site],
    budget: Budget,
    settings: FetcherSettings,
    catalog: Catalog | None,
    parts: Parts,
) -> dict[str, Scouted]:
    """A first look, within the budget, at sites whose size neither the user nor a run knows."""
    past = pasts(catalog, sites, budget.crawlers)
    unknown = [site for site in sites if site.expect is None and not past[site.name].visits]
    if not unknown:
        return {}
    async with parts.open_fetcher(settings) as fetcher:
        fetcher.meter.set_total(_rate_at(budget, parts.clock.wall()))
        return await scout_all(unknown, fetcher, PageReader(), budget.crawlers)


def _rate_at(budget: Budget, wall: float) -> float:
    if isinstance(budget.bandwidth, Timetable):
        return float(budget.bandwidth.rate_at(datetime.fromtimestamp(wall, UTC)))
    return float(budget.bandwidth)
