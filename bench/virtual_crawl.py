"""A crawl of 50 sites over 10 hours of virtual time: its CPU time, and that it repeats to the byte.

    python -m bench.virtual_crawl               50 sites, about 10 hours, twice
    python -m bench.virtual_crawl --sites 8 --seed 3

The very job that `headgate crawl` runs, with a timetable and a quota, on a simulated web and a
virtual clock; storage is real. It runs in two processes whose hashes differ, and both reports must
be the same to the byte.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.watcher import Watcher
from headgate.features.crawl.job import CrawlJob, crawl
from headgate.model.budget import Budget, Quota
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.timetable import Timetable
from headgate.model.units import Bytes, Seconds
from headgate.testing.simulated_web import Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually
from headgate_lab.worlds.seeded_servers import SeededServers, ServerManner
from headgate_lab.worlds.virtual_web import make_web

__all__ = ["VirtualCrawl", "crawl_virtually", "main"]

AFTERNOON = 1_794_751_200.0
"""2026-11-15 14:00 UTC."""
HOUR = 3600.0
ZONE = ZoneInfo("UTC")
TABLE = ("08:00 40 KB/s", "18:00 10 KB/s", "22:00 80 KB/s")
MANNERS = (
    ServerManner(page_bytes=60e3, changes_seconds=2 * HOUR),
    ServerManner(0.3, 30e3, page_bytes=60e3, faults=0.02),
    ServerManner(page_bytes=60e3, has_robots=True, has_sitemap=True),
    ServerManner(page_bytes=90e3, crawl_delay=5.0, moved=0.05),
)
MOST_CPU_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class VirtualCrawl:
    """What came of one."""

    report: RunReport
    saved: bytes
    """report.json"""
    line: Line
    virtual_seconds: float
    cpu_seconds: float


def crawl_virtually(
    out: Path, seed: int, sites: int, quota: str = "100 MB/day", begin: float = AFTERNOON
) -> VirtualCrawl:
    """``begin``: seconds since 1970."""
    web = make_web(seed, sites)
    servers = SeededServers(web, seed, MANNERS)
    asked = tuple(
        Site(
            web.name(number),
            (f"http://{web.name(number)}/",),
            deadline=Seconds((12 + number % 8) * HOUR) if number % 3 else None,
            expect=Bytes(int(web.first[number + 1] - web.first[number]) * 70e3),
        )
        for number in range(sites)
    )
    budget = Budget(Timetable.parse(list(TABLE), ZONE), quota=Quota.parse(quota, ZONE))
    line = Line()

    async def run(loop: VirtualLoop) -> tuple[RunReport, float]:
        clock = VirtualClock(loop, begin)
        job = CrawlJob(asked, budget, out, fetcher_settings(asked, "bench"))
        report = await crawl(job, virtual_parts(clock, servers.answer, line), Watcher())
        return report, asyncio.get_running_loop().time()

    began = time.process_time()
    report, seconds = run_virtually(run)
    cpu = time.process_time() - began
    saved = (out / "runs" / report.stamp / "report.json").read_bytes()
    return VirtualCrawl(report, saved, line, seconds, cpu)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--sites", type=int, default=50)
    parser.add_argument("--once", metavar="FILE", type=Path, help="write the report there")
    args = parser.parse_args()
    if args.once is not None:
        with tempfile.TemporaryDirectory() as folder:
            done = crawl_virtually(Path(folder), args.seed, args.sites)
        args.once.write_bytes(done.saved)
        ends = [site.met for site in done.report.sites if site.met is not None]
        print(
            f"{args.sites} sites, {done.virtual_seconds / HOUR:.2f} virtual hours,"
            f" {done.report.pages:,} pages, {done.line.wire_bytes / 1e6:.1f} MB,"
            f" {sum(ends)} of {len(ends)} deadlines met: {done.cpu_seconds:.1f} s of CPU"
        )
        return 0 if done.cpu_seconds < MOST_CPU_SECONDS else 1
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("first.json", "second.json")]
        codes = [_in_a_process(args, file, hashes) for hashes, file in enumerate(files)]
        same = files[0].read_bytes() == files[1].read_bytes()
    print(f"both reports are {'the same to the byte' if same else 'NOT THE SAME'}")
    return max(*codes, not same)


def _in_a_process(args: argparse.Namespace, file: Path, hashes: int) -> int:
    return subprocess.run(
        [sys.executable, "-m", "bench.virtual_crawl", "--seed", str(args.seed),
         "--sites", str(args.sites), "--once", str(file)],
        env={**os.environ, "PYTHONHASHSEED": str(hashes)}, check=False,
    ).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
