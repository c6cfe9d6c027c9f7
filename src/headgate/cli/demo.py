"""``headgate demo``: a small web of its own on loopback, crawled under a budget with deadlines."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.cli.endpoint_arguments import need_grid
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.model.units import (
    Bytes,
    BytesPerSecond,
    Seconds,
    format_duration,
    format_rate,
    format_size,
    parse_rate,
)

if TYPE_CHECKING:
    from headgate.features.crawl.job import CrawlJob
    from headgate.features.demo.web import DemoPlace
    from headgate.model.run_report import RunReport

__all__ = ["configure", "run"]

_DESCRIPTION = """\
Start seven small sites on this machine (fast, large, slow, far, polite, broken, endless) and crawl
them under one budget with deadlines. Nothing leaves the machine. Takes about half a minute and ends
with a report page.
"""

_EXAMPLES = """\
examples:
  headgate demo                          watch it, then open the report it names
  headgate demo --bandwidth 150KB/s      too little: which deadlines suffer, and by how much?
  headgate demo --grid                   three nodes and a manager; one node is killed
  headgate demo --keep                   a web that changes by itself, kept fresh for a minute
"""


_KEEP_SECONDS = 40.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "--bandwidth", metavar="RATE", default="300 KB/s", help="the budget (300 KB/s)"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="(a new temporary folder)")
    parser.add_argument(
        "--keep", action="store_true",
        help="another web, that changes by itself: kept fresh for a minute, beside a keeper that"
        " looks at all pages alike",
    )  # fmt: skip
    parser.add_argument(
        "--grid", action="store_true",
        help="the same web, crawled by three nodes for a manager; one is killed in the middle",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the report as JSON at the end")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Serve, crawl, report."""
    if args.keep and args.grid:
        raise UserMistake("--keep and --grid are two demos; choose one of them")
    if args.keep:
        return _keep(args)
    if args.grid:
        return _grid(args)
    import uvloop

    from headgate.cli.crawl_progress import conclude, crawl_watched
    from headgate.features.demo.web import DemoWeb

    bandwidth = parse_rate(args.bandwidth)
    if bandwidth <= 0:
        raise UserMistake("--bandwidth must be more than 0, like '300KB/s'")
    out = args.out or Path(tempfile.mkdtemp(prefix="headgate-demo-"))

    async def demonstrate() -> RunReport:
        async with DemoWeb(year=datetime.now(UTC).year) as web:
            if not args.quiet:
                sys.stderr.write(_introduction(web.places, bandwidth))
            return await crawl_watched(_job(web.places, bandwidth, out), quiet=args.quiet)

    return conclude(uvloop.run(demonstrate()), out, as_json=args.json)


def _keep(args: argparse.Namespace) -> int:
    from headgate.cli.demo_keep import run_keep_demo

    if args.json:
        raise UserMistake("the demo of a keeper has a page, no JSON; leave --json out")
    out = args.out or Path(tempfile.mkdtemp(prefix="headgate-demo-"))
    out.mkdir(parents=True, exist_ok=True)
    return run_keep_demo(out, _KEEP_SECONDS, quiet=args.quiet)


def _grid(args: argparse.Namespace) -> int:
    need_grid()
    from headgate.cli.demo_grid import run_grid_demo

    out = args.out or Path(tempfile.mkdtemp(prefix="headgate-demo-"))
    return run_grid_demo(out, quiet=args.quiet, as_json=args.json)


def _introduction(places: Sequence[DemoPlace], bandwidth: BytesPerSecond) -> str:
    width = max(len(place.name) for place in places)
    lines = [
        f"  {place.name:<{width}}  {format_size(place.bytes):>7}"
        f"  {'by ' + format_duration(place.deadline) if place.deadline else '':<9}  {place.about}"
        for place in places
    ]
    return "\n".join((f"Seven sites share {format_rate(bandwidth)}:", *lines, "", ""))


def _job(places: Sequence[DemoPlace], bandwidth: BytesPerSecond, out: Path) -> CrawlJob:
    from headgate.engine.fetcher_settings import fetcher_settings
    from headgate.features.crawl.job import CrawlJob

    sites = tuple(
        Site(
            place.name,
            seeds=(place.seed,),
            deadline=None if place.deadline is None else Seconds(place.deadline),
            expect=Bytes(place.bytes),
            max_rate=None if place.max_rate is None else BytesPerSecond(place.max_rate),
        )
        for place in places
    )
    return CrawlJob(sites, Budget(bandwidth), out, fetcher_settings(sites, "headgate demo"))
