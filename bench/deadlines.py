"""Are planned deadlines met by a real crawl? Run: .venv/bin/python -m bench.deadlines

Twenty sites of unequal size and speed on loopback, five crawlers, one budget, for several seeds.
First deadlines that `headgate plan` calls feasible: 0 to 30 % and a second after the ends of a plan
that knows no deadlines; all have to be met. Then half of that time: measured lateness against
planned. Equal shares and PRODataAmount crawl the same sites beside it, with the same fetcher and
storage and only the rates set otherwise. Eight minutes; `--seeds 1` is one part of it.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import uvloop
from bench.paced_sites import PAGE_BYTES, PacedSite, serving
from rich.console import Console
from rich.table import Table

import headgate
from headgate.crawling.clock import SystemClock
from headgate.grid.from_python import fetcher_settings
from headgate.grid.parts import NodeJob, open_node
from headgate.model.budget import Budget
from headgate.model.site import Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.storage.collection import Collection
from headgate.traffic.window import wire_bytes

CONSOLE = Console(width=110)
COUNT, CRAWLERS = 20, 5
BUDGET = 800_000.0
HEAD_BYTES = 85
LINK_BYTES = 30


def make_sites(seed: int) -> list[PacedSite]:
    rng = np.random.default_rng(seed)
    speeds = BUDGET * rng.choice([0.15, 0.25, 0.4, 0.7], COUNT)
    return [
        PacedSite(f"site-{k:02d}", int(rng.integers(15, 120)), float(speeds[k]))
        for k in range(COUNT)
    ]


def described(paced: Sequence[PacedSite], seeds: Mapping[str, str]) -> list[Site]:
    return [
        Site(
            site.name,
            seeds=(seeds[site.name],),
            expect=Bytes(
                site.pages * wire_bytes(PAGE_BYTES + HEAD_BYTES)
                + wire_bytes(site.pages * LINK_BYTES + HEAD_BYTES)
            ),
            max_rate=BytesPerSecond(site.bytes_per_second),
        )
        for site in paced
    ]


def with_deadlines(sites: Sequence[Site], budget: Budget, factor: float, seed: int) -> list[Site]:
    """Deadlines round the ends of a plan without any, by site."""
    ends = {site.name: site.end for site in headgate.plan(sites, budget).sites}
    rng = np.random.default_rng(seed)
    return [
        dataclasses.replace(
            site, deadline=Seconds(factor * ends[site.name] * rng.uniform(1.0, 1.3) + 1.0)
        )
        for site in sites
    ]


@dataclass
class Rounds:
    """The rivals: sites in order of deadline, at rates that are set once."""

    sites: Sequence[Site]
    proportional: bool
    ends: dict[str, float] = field(default_factory=dict)

    async def crawl(self, out: Path) -> None:
        clock = SystemClock()
        collection = Collection(out)
        with collection.lock():
            run = collection.new_run(_now(clock))
            settings = fetcher_settings(self.sites, "bench")
            job = NodeJob(out, run.stamp, tuple(self.sites), settings)
            waiting = sorted(self.sites, key=lambda site: site.deadline or np.inf)
            async with open_node(job) as node:
                node.set_total(BUDGET)
                begun, running = clock.now(), set[str]()
                while waiting or running:
                    if not running or (not self.proportional and len(running) < CRAWLERS):
                        batch = [waiting.pop(0) for _ in range(CRAWLERS - len(running)) if waiting]
                        node.set_rates(self._rates(batch))
                        running |= {site.name for site in batch}
                    for ended in await node.wait(0.5):
                        self.ends[ended.site] = clock.now() - begun
                        running.discard(ended.site)

    def _rates(self, batch: Sequence[Site]) -> dict[str, float]:
        if not self.proportional:
            return {site.name: BUDGET / CRAWLERS for site in batch}
        total = sum(site.expect or 0.0 for site in batch)
        return {site.name: BUDGET * (site.expect or 0.0) / total for site in batch}


def _now(clock: SystemClock) -> datetime:
    return datetime.fromtimestamp(clock.wall(), UTC)


def lateness(sites: Sequence[Site], ends: Mapping[str, float]) -> tuple[int, float, float]:
    """Deadlines met, total seconds late, the last end."""
    late = [max(0.0, ends[site.name] - (site.deadline or np.inf)) for site in sites]
    return sum(x == 0 for x in late), sum(late), max(ends.values())


@dataclass(frozen=True, slots=True)
class Measured:
    """One instance crawled by all three."""

    planned_late: float
    met: int
    late: float

    @property
    def off(self) -> float:
        """Part of the planned lateness that the measured one is off by."""
        return abs(self.late - self.planned_late) / self.planned_late


def compare(sites: Sequence[Site], budget: Budget, title: str, table: Table) -> Measured:
    plan = headgate.plan(sites, budget)
    slack = min(site.slack or 0.0 for site in plan.sites)
    planned = lateness(sites, {site.name: site.end for site in plan.sites})
    table.add_row(title, "the plan", *_cells(planned), f"{slack:.2f}")
    with tempfile.TemporaryDirectory() as out:
        report = headgate.crawl(sites, budget, out, contact="bench")
    ours = lateness(sites, {site.name: site.finished or np.inf for site in report.sites})
    table.add_row("", "Headgate", *_cells(ours), "")
    for name, proportional in (("equal shares", False), ("PRODataAmount", True)):
        rival = Rounds(sites, proportional)
        with tempfile.TemporaryDirectory() as out:
            uvloop.run(rival.crawl(Path(out)))
        table.add_row("", name, *_cells(lateness(sites, rival.ends)), "")
    table.add_section()
    return Measured(planned[1], ours[0], ours[1])


def _cells(figures: tuple[int, float, float]) -> tuple[str, str, str]:
    met, late, last = figures
    return f"{met}/{COUNT}", f"{late:.1f}", f"{last:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    seeds = parser.parse_args().seeds
    budget = Budget(BytesPerSecond(BUDGET), CRAWLERS)
    table = Table("deadlines", "rates by", "met", "late s", "last end s", "least slack s")
    verdicts, passed = [], True
    for seed in seeds:
        paced = make_sites(seed)
        with serving(paced) as urls:
            sites = described(paced, urls)
            feasible = with_deadlines(sites, budget, 1.0, seed + 1)
            tight = with_deadlines(sites, budget, 0.5, seed + 1)
            kept = compare(feasible, budget, f"seed {seed}, feasible", table)
            late = compare(tight, budget, f"seed {seed}, half the time", table)
        verdicts.append(
            f"seed {seed}: {kept.met} of {COUNT} met where feasible;"
            f" lateness {100 * late.off:.1f} % off the plan where not"
        )
        passed = passed and kept.met == COUNT and late.off <= 0.1
    CONSOLE.print(table)
    CONSOLE.print("\n".join(verdicts))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
