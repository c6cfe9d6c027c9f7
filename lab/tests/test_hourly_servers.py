"""Plans get better with every run: the crawl's own control on servers that follow the hour."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from headgate.model.budget import Budget
from headgate.model.units import BytesPerSecond
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate_lab.worlds.hourly_servers import HourlyWorld, crawl_once


def test_after_two_runs_ends_are_foretold_within_a_tenth(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    world = HourlyWorld.random(rng, sites=10)
    budget = Budget(BytesPerSecond(1.5e6), crawlers=5)
    with SqliteCatalog(tmp_path / "catalog.sqlite") as catalog:
        starts = [datetime(2026, 11, day, 18, tzinfo=UTC) for day in (16, 17, 18)]
        first, _, third = (
            asyncio.run(crawl_once(world, budget, catalog, start, rng, look_seconds=60.0))
            for start in starts
        )
    errors = np.abs(list(third.errors().values()))
    assert np.mean(errors <= 0.1) >= 0.9
    assert np.mean(np.abs(list(first.errors().values())) <= 0.1) < 0.5, "nothing was known yet"
    assert all(end.vague for end in first.foreseen.values())
    assert first.within() >= 0.9
