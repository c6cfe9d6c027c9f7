"""``headgate plan``: says before a crawl whether its deadlines can be met, and how."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

import headgate.site_file
from headgate.cli.arguments import read_by, say_that_proxies_are_not_used
from headgate.cli.plan_pictures import plot_path, save_plot
from headgate.cli.site_file import OpenedSiteFile, open_site_file
from headgate.cli.terminal import say, show
from headgate.features.keep.status import KeepPlan, PromisedSite
from headgate.model.budget import Budget, Objective, Quota
from headgate.model.errors import UserMistake
from headgate.model.plan import Plan
from headgate.model.site import POLITE_DELAY, Site
from headgate.model.timetable import Timetable
from headgate.model.units import Bytes, BytesPerSecond, SizeRange, format_size
from headgate.site_file.parsing import site_error
from headgate.site_file.values import Count, read_bandwidth

if TYPE_CHECKING:
    from headgate.control.forecast import Forecast

__all__ = [
    "check_options",
    "configure",
    "example_file",
    "example_names",
    "plan_to_keep",
    "print_plan_to_keep",
    "run",
]

NOT_FEASIBLE = 3
_PAGE_BYTES = Bytes(20e3)
"""Assumed where it is not known."""

_DESCRIPTION = """\
Plan a crawl before it starts: can every site be done by its deadline within the budget, at which
rate and when is each one crawled, and if not, what would help. Nothing is fetched unless --scout
asks for a first look.
"""

_EXAMPLES = """\
examples:
  headgate plan sites.toml                             the answer, a table and a Gantt chart
  headgate plan sites.toml --bandwidth "2 MB/s"        what if the line were wider?
  headgate plan sites.toml --start "2026-11-16 18:00"  with a timetable: from that hour on
  headgate plan sites.toml --history headgate-data     by what earlier runs learned
  headgate plan sites.toml --compare                   every policy side by side
  headgate plan sites.toml --plot plan.svg             the same as a picture
  headgate plan sites.toml --keep                      do promises of freshness hold together?
  headgate plan sites.toml --json | jq .late_sites     for scripts
  headgate plan --example six-sites                    a file that comes with Headgate
  headgate plan sites.toml --strict && start-crawl     exit code 3 when it is not feasible
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="the site file (TOML); - reads stdin"
    )
    parser.add_argument(
        "--example", metavar="NAME", help="a site file that comes with Headgate, like six-sites"
    )
    change = parser.add_argument_group("instead of what the file says")
    change.add_argument(
        "--bandwidth",
        metavar="RATE",
        type=read_by(read_bandwidth),
        help="the budget, like '1.5 MB/s'",
    )
    change.add_argument(
        "--quota", metavar="SIZE/PERIOD", help="like '20 GB/month' or '500 MB/day', all of it left"
    )
    change.add_argument(
        "--crawlers", metavar="N", type=read_by(_crawlers), help="sites crawled at once at the most"
    )
    change.add_argument(
        "--objective",
        choices=[str(objective) for objective in Objective],
        help="what to make small once no deadline suffers by it",
    )
    how = parser.add_argument_group("how to plan")
    how.add_argument(
        "--policy",
        metavar="NAME",
        help="the algorithm, by its published name (default: headgate; --compare names them)",
    )
    how.add_argument(
        "--compare", action="store_true", help="plan by every policy that fits, side by side"
    )
    how.add_argument(
        "--keep",
        action="store_true",
        help="for headgate keep: whether every fresh_within holds within the budget",
    )
    how.add_argument(
        "--scout",
        action="store_true",
        help="look at sites of unknown size first: robots.txt, the sitemap, a few pages",
    )
    how.add_argument(
        "--history",
        metavar="DIR",
        type=Path,
        help="by what earlier runs in that folder learned: sizes, and server speeds by the hour",
    )
    how.add_argument(
        "--contact", metavar="WHO", default="", help="with --scout: your URL or mail address"
    )
    how.add_argument(
        "--start",
        metavar="TIME",
        type=read_by(_moment),
        help="when the crawl starts, in the file's zone (default: now)",
    )
    how.add_argument(
        "--seed", metavar="N", type=read_by(_seed), default=0, help="for policies that are random"
    )
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print one JSON document instead")
    output.add_argument(
        "--plot",
        metavar="FILE",
        type=read_by(plot_path),
        help="also draw the plan into a .svg, .png or .html file",
    )
    output.add_argument(
        "--strict", action="store_true", help="exit with code 3 when the plan is not feasible"
    )


def run(args: argparse.Namespace) -> int:
    """Plan and print; the exit code says whether the plan is feasible."""
    if args.compare and args.policy:
        raise UserMistake("--compare plans by every policy; drop --policy, or drop --compare")
    if args.keep:
        check_options(args)
    opened = open_site_file(_file(args), bandwidth=args.bandwidth)
    budget = _budget(args, opened.contents.budget)
    learned = args.scout or args.history is not None
    start = _start(args.start, budget, matters=learned)
    forecasts = _forecasts(args, opened, budget, start) if learned else {}
    if args.keep:
        kept = plan_to_keep(opened, budget, start, forecasts, args.seed)
        print_plan_to_keep(kept, _began(start), as_json=args.json)
        return NOT_FEASIBLE if args.strict and not kept.holds else 0
    sites = _with_sizes(opened, forecasts)
    for site in sites:
        _warn_of_pace(site)
    plans = _plans(args, sites, budget, start, forecasts)
    if args.plot:
        _plot(plans[0], args.plot, _began(start))
    _print(plans, args, _began(start))
    return NOT_FEASIBLE if args.strict and not plans[0].feasible else 0


def _file(args: argparse.Namespace) -> str:
    if (args.file is None) == (args.example is None):
        raise UserMistake("say what to plan: a site file, or --example NAME (headgate plan --help)")
    if args.example is not None:
        return example_file(args.example)
    return str(args.file)


def _plans(
    args: argparse.Namespace,
    sites: Sequence[Site],
    budget: Budget,
    start: datetime | None,
    forecasts: Mapping[str, Forecast],
) -> list[Plan]:
    if forecasts and start is not None and not (args.compare or args.policy or budget.policy):
        from headgate.control.completion_forecast import plan_ahead

        return [plan_ahead(sites, budget, forecasts, start)]
    from headgate.engine.chosen_policy import chosen_policy
    from headgate.scheduling.planner import compare, plan

    if args.compare:
        plans = compare(sites, budget, start=start, seed=args.seed)
    else:
        policy = chosen_policy(args.policy or budget.policy)
        plans = [plan(sites, budget, policy, start=start, seed=args.seed)]
    if not forecasts:
        return plans
    from headgate.control.completion_forecast import with_guesses

    return [with_guesses(made, forecasts) for made in plans]


def _print(plans: list[Plan], args: argparse.Namespace, began: str) -> None:
    if args.json:
        from headgate.features.plan.view.json import comparison_as_json, plan_as_json

        show(comparison_as_json(plans) if args.compare else plan_as_json(plans[0]))
        return
    from headgate.cli.consoles import printed
    from headgate.features.plan.view.text import print_comparison, print_plan

    with printed() as console:
        if args.compare:
            print_comparison(console, plans, began=began)
        else:
            print_plan(console, plans[0], began=began)


def _plot(plan: Plan, path: Path, began: str) -> None:
    from headgate.features.plan.view.page import plan_page, plan_picture

    save_plot(path, lambda: plan_page(plan, began), lambda: plan_picture(plan))


def _with_sizes(opened: OpenedSiteFile, forecasts: Mapping[str, Forecast]) -> tuple[Site, ...]:
    """The sites, with forecast sizes where the file has none."""
    sites = []
    for site in opened.contents.sites:
        known = forecasts.get(site.name)
        if site.expect is None and known is None:
            problem = 'a plan needs the size; add a line like expect = "120 MB", or use --scout'
            raise site_error(opened.text, opened.path, site.name, "expect", problem)
        if site.expect is None and known is not None:
            size = format_size(known.bytes)
            say(f"{site.name}: {size} by {known.source.value}")
            sites.append(replace(site, expect=Bytes(known.bytes)))
        else:
            sites.append(site)
    return tuple(sites)


def _warn_of_pace(site: Site) -> None:
    """A plan counts bytes; the delay between requests may be the tighter limit."""
    if not site.seeds or site.delay is not None or not (site.expect and site.deadline):
        return
    pages = site.expect / site.deadline / _PAGE_BYTES
    if pages > 1 / POLITE_DELAY:
        say(
            f"{site.name}: its deadline takes {pages:.0f} pages a second, if they have"
            f" {format_size(_PAGE_BYTES)} each; a public server is asked {1 / POLITE_DELAY:.0f}"
            " times a second at the most, unless delay says otherwise"
        )


def _forecasts(
    args: argparse.Namespace, opened: OpenedSiteFile, budget: Budget, start: datetime | None
) -> dict[str, Forecast]:
    """From earlier runs, a first look, or both; unknown sites are left out."""
    import uvloop

    from headgate.control.forecast import Source
    from headgate.engine.fetcher_settings import fetcher_settings
    from headgate.engine.forecasts import forecast_sites
    from headgate.engine.real_parts import real_parts
    from headgate.engine.site_inputs import ready_sites
    from headgate.features.plan.scout import scouted_sites
    from headgate.storage.catalog.sqlite import opened_catalog
    from headgate.storage.collection import Collection

    sites = opened.contents.sites
    for site in sites:
        if args.scout and site.expect is None and not site.seeds:
            problem = 'to look at a site it needs seeds; add seeds = ["https://..."]'
            raise site_error(opened.text, opened.path, site.name, "seeds", problem)
    ready = {site.name: site for site in ready_sites([site for site in sites if site.seeds])}
    sites = tuple(ready.get(site.name, site) for site in sites)
    with ExitStack() as files:
        catalog = files.enter_context(opened_catalog(args.history)) if args.history else None
        collection = Collection(args.history) if args.history else None
        scouted = {}
        if args.scout:
            say_that_proxies_are_not_used()
            settings = fetcher_settings(sites, args.contact or budget.contact)
            scouted = uvloop.run(scouted_sites(sites, budget, settings, catalog, real_parts()))
        instant = start or datetime.now(UTC)
        found = forecast_sites(
            sites, budget, catalog=catalog, collection=collection, start=instant, scouted=scouted
        )
    guessed = Source.GUESS if not args.scout else None
    return {name: known for name, known in found.items() if known.source is not guessed}


def _budget(args: argparse.Namespace, budget: Budget) -> Budget:
    return replace(
        budget,
        crawlers=args.crawlers or budget.crawlers,
        objective=Objective(args.objective) if args.objective else budget.objective,
        quota=Quota.parse(args.quota, budget.calendar.zone) if args.quota else budget.quota,
    )


def _start(asked: datetime | None, budget: Budget, *, matters: bool) -> datetime | None:
    """The start of the run, needed if there is a timetable, a quota or speeds by the hour."""
    if not (isinstance(budget.bandwidth, Timetable) or budget.quota or matters):
        if asked is not None:
            raise UserMistake(
                "--start matters only with a timetable, a quota or --history; drop it"
            )
        return None
    zone = budget.calendar.zone
    if asked is None:
        return datetime.now(zone).replace(microsecond=0)
    return asked.replace(tzinfo=zone) if asked.tzinfo is None else asked.astimezone(zone)


def _began(start: datetime | None) -> str:
    return f", from {start:%a %Y-%m-%d %H:%M %Z}" if start else ""


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserMistake(f"{text!r} is not a whole number") from None


def _crawlers(text: str) -> int:
    return Count()(_whole(text))


def _seed(text: str) -> int:
    seed = _whole(text)
    if seed < 0:
        raise UserMistake(f"{seed} is too small; it must be 0 or more")
    return seed


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UserMistake(f"{text!r} is not a time; write it like '2026-11-16 08:00'") from None


# The site files that come with Headgate, by name.


_FOLDER = Path(headgate.site_file.__file__).with_name("examples")


def example_names() -> list[str]:
    """
    >>> example_names()
    ['fifty-sites', 'shared-line', 'six-sites', 'six-sites-insufficient']
    """
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def example_file(name: str) -> str:
    """Its path."""
    names = example_names()
    if name not in names:
        raise UserMistake(f"there is no example {name!r}; there are {', '.join(names)}")
    return str(_FOLDER / f"{name}.toml")


# ``headgate plan FILE --keep``: can all promises of freshness be kept together?


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
