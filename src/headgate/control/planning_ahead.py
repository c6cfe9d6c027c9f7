"""The plan of a running crawl, made while it runs.

If all sites are known it is made for the start of the run. If some had to be looked at first, it is
made for what is left after the looks; its times count from the start of the run all the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from headgate.control.forecast import Forecast, Source
from headgate.control.foresight import plan_ahead
from headgate.model.budget import Budget
from headgate.model.plan import Foreseen, Plan, PlannedSite, RateSegment
from headgate.model.site import Site
from headgate.model.size_range import SizeRange

__all__ = ["plan_the_rest", "with_what_is_left"]


def with_what_is_left(
    forecasts: Mapping[str, Forecast], left: Mapping[str, SizeRange], caps: Mapping[str, float]
) -> dict[str, Forecast]:
    """The forecasts of unfinished sites, updated by what their crawl has shown so far."""
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
    unfinished = [site.as_of(seconds) for site in sites if site.name in forecasts]
    made = plan_ahead(unfinished, budget, forecasts, start, quota_used)
    return made if seconds <= 0 else _later(made, seconds)


def _better(source: Source) -> Source:
    return Source.SCOUT if source is Source.GUESS else source


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
