"""``headgate plan FILE --keep``: can all promises of freshness be kept together?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headgate.cli.site_file import OpenedSiteFile
from headgate.cli.terminal import show
from headgate.features.keep.status import KeepPlan, PromisedSite
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.model.units import BytesPerSecond, SizeRange
from headgate.site_file.parsing import site_error

if TYPE_CHECKING:
    from headgate.control.forecast import Forecast

__all__ = ["check_options", "plan_to_keep", "print_plan_to_keep"]

_NOT_FOR_KEEPING = ("compare", "policy", "plot", "objective")


def check_options(args: argparse.Namespace) -> None:
    for name in _NOT_FOR_KEEPING:
        if getattr(args, name):
            raise UserMistake(f"--{name} is for plans of a crawl; drop it, or drop --keep")


def plan_to_keep(
    opened: OpenedSiteFile,
    budget: Budget,
    start: datetime | None,
    forecasts: Mapping[str, Forecast],
    seed: int,
) -> KeepPlan:
    import numpy as np

    from headgate.features.keep.recrawl.freshness_promises import keep_plan

    sites = opened.contents.sites
    promised = [site for site in sites if site.keeping.fresh_within is not None]
    demands = [_demand(site, opened, forecasts) for site in promised]
    moment = start or datetime.now(UTC)
    others = len(sites) - len(promised)
    return keep_plan(demands, others, budget, moment, np.random.default_rng(seed))


def print_plan_to_keep(plan: KeepPlan, began: str, *, as_json: bool) -> None:
    from headgate.features.keep.view.plan_text import keep_plan_as_json, print_keep_plan

    if as_json:
        show(keep_plan_as_json(plan))
        return
    from headgate.cli.consoles import printed

    with printed() as console:
        print_keep_plan(console, plan, began=began)


def _demand(site: Site, opened: OpenedSiteFile, forecasts: Mapping[str, Forecast]) -> PromisedSite:
    within = site.keeping.fresh_within
    assert within is not None
    known = forecasts.get(site.name)
    if site.expect is not None:
        return PromisedSite(site.name, within, SizeRange.exactly(site.expect), site.max_rate)
    if known is None:
        problem = (
            'a promise needs the bytes of one look at all pages; add a line like expect = "120 MB",'
            " or use --history or --scout"
        )
        raise site_error(opened.text, opened.path, site.name, "expect", problem)
    low, high = known.bytes_range or (known.bytes, known.bytes)
    cap = site.max_rate if known.cap is None else BytesPerSecond(known.cap)
    return PromisedSite(site.name, within, SizeRange(low, known.bytes, high), cap)
