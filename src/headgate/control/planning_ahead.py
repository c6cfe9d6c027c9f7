"""The plan that a running crawl is held against, made beside it: the crawl need not wait for it.

Where all sites are known it is made for the start of the run. Where some had to be looked at first,
it is made for what is left once the looks are over; its times count from the start all the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from headgate.control.forecast import Forecast, Source
from headgate.control.foresight import plan_ahead
from headgate.model.budget import Budget
from headgate.model.plan import Foreseen, Plan, PlannedSite, RateSegment
from headgate.model.site import Site
from headgate.model.size_range import SizeRange
from headgate.model.units import Seconds

__all__ = ["plan_the_rest", "with_what_is_left"]

_AT_LEAST_SECONDS = 0.001
"""A deadline that has passed is one that passes now."""


def with_what_is_left(
    forecasts: Mapping[str, Forecast], left: Mapping[str, SizeRange], caps: Mapping[str, float]
) -> dict[str, Forecast]:
    """The forecasts of unfinished sites, by what their crawl has shown so far."""
    return {
        name: replace(
            forecasts[name],
            bytes=size.likely,
            bytes_range=(size.low, size.high) if size.high > size.low else None,
            source=_better(forecasts[name].source),
            cap=caps[name] if caps[name] < math.inf else forecasts[name].cap,
        )
        for name, size in left.items()
    }


def plan_the_rest(
    sites: Sequence[Site],
    budget: Budget,
    forecasts: Mapping[str, Forecast],
    start: datetime,
    seconds: float,
    quota_used: float = 0.0,
) -> Plan:
    """A plan for those ``sites`` that have forecasts, from ``start`` on, ``seconds`` into the run;
    its times count from the start of the run."""
    unfinished = [_due_in(site, seconds) for site in sites if site.name in forecasts]
    made = plan_ahead(unfinished, budget, forecasts, start, quota_used)
    return made if seconds <= 0 else _later(made, seconds)


def _better(source: Source) -> Source:
    return Source.SCOUT if source is Source.GUESS else source


def _due_in(site: Site, seconds: float) -> Site:
    if site.deadline is None or seconds <= 0:
        return site
    return replace(site, deadline=Seconds(max(site.deadline - seconds, _AT_LEAST_SECONDS)))


def _later(plan: Plan, seconds: float) -> Plan:
    first, *others = plan.budget_pieces
    pieces = (first, *(replace(piece, start=piece.start + seconds) for piece in others))
    sites = tuple(_site_later(site, seconds) for site in plan.sites)
    return replace(plan, budget_pieces=pieces, sites=sites)


def _site_later(site: PlannedSite, seconds: float) -> PlannedSite:
    foreseen = site.foreseen
    return replace(
        site,
        deadline=None if site.deadline is None else site.deadline + seconds,
        start=site.start + seconds,
        end=site.end + seconds,
        segments=tuple(
            RateSegment(part.start + seconds, part.end + seconds, part.rate)
            for part in site.segments
        ),
        foreseen=foreseen
        and Foreseen(
            foreseen.earliest + seconds, foreseen.likely + seconds, foreseen.latest + seconds
        ),
    )
