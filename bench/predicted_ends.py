"""How well is the end of every site predicted? Simulated servers, in virtual time.

    python -m bench.predicted_ends

Simulated servers whose speed follows the hour of the day, on a virtual clock, under the crawl's own
control and catalog (lab/src/headgate_lab/worlds/hourly_servers.py): 20 sites, 10 crawlers, 2 MB/s,
five worlds. The first run knows a first look only, the third two runs before it.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from bench.arguments import parser

from headgate.model.budget import Budget
from headgate.model.units import BytesPerSecond
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate_lab.worlds.hourly_servers import HourlyWorld, SimulatedRun, crawl_once

WORLDS = 5
MONDAY = 16
PROGRAMMES = {
    "every day at 18:00": (18, 18, 18),
    "at 08:00, 20:00, 14:00": (8, 20, 14),
}


def runs(seed: int, hours: Sequence[int]) -> list[SimulatedRun]:
    """One crawl a day, each at its hour, on one catalog."""
    rng = np.random.default_rng(seed)
    world = HourlyWorld.random(rng, sites=20)
    budget = Budget(BytesPerSecond(2e6), crawlers=10)
    with (
        tempfile.TemporaryDirectory() as folder,
        SqliteCatalog(Path(folder) / "catalog.sqlite") as catalog,
    ):
        starts = [
            datetime(2026, 11, MONDAY + day, hour, tzinfo=UTC) for day, hour in enumerate(hours)
        ]
        return [asyncio.run(crawl_once(world, budget, catalog, at, rng)) for at in starts]


def main() -> None:
    parser(__doc__).parse_args()
    for name, hours in PROGRAMMES.items():
        worlds = [runs(seed, hours) for seed in range(1, WORLDS + 1)]
        print(f"{name}: {WORLDS} worlds of 20 sites")
        for number, of_all in enumerate(zip(*worlds, strict=True), 1):
            errors = np.abs([error for run in of_all for error in run.errors().values()])
            shares = " ".join(
                f"{np.mean(np.abs(list(run.errors().values())) <= 0.1):4.0%}" for run in of_all
            )
            print(
                f"  run {number}: likely end within 10 % for {np.mean(errors <= 0.1):4.0%} of the"
                f" sites (worlds: {shares}), median error {np.median(errors):5.1%};"
                f" between earliest and latest {np.mean([run.within() for run in of_all]):4.0%},"
                f" which span a factor of {_span(of_all):.1f}"
            )


def _span(of_all: Sequence[SimulatedRun]) -> float:
    spans = [end.latest / end.earliest for run in of_all for end in run.foreseen.values()]
    return float(np.median(spans))


if __name__ == "__main__":
    main()
