"""The reference site: every node tells how long it took to fetch it."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from tests.acceptance.small_web import SmallWeb, serving
from tests.contract.grid_office import grid_in_one_process

from headgate.engine.node import NodeJob
from headgate.fetching.client import FetcherSettings
from headgate.storage.collection import Collection


def test_a_node_tells_how_quick_it_was(tmp_path: Path) -> None:
    async def compared(job: NodeJob, url: str) -> float:
        async with grid_in_one_process(job, url) as fleet, asyncio.timeout(60.0):
            while True:
                row = fleet.desk.registry.rows.get("anna")
                if row is not None and row.reference_seconds is not None:
                    return row.reference_seconds
                await asyncio.sleep(0.05)

    collection = Collection(tmp_path)
    with serving(SmallWeb(3)) as web, collection.lock():
        run = collection.new_run(datetime.fromtimestamp(time.time(), UTC))
        job = NodeJob(tmp_path, run.stamp, FetcherSettings("tests"))
        found = [uvloop.run(compared(job, web.seed)) for _ in range(2)]
    assert 0 < found[0] < 30
    assert found[0] == found[1], "once a day, also when it is started again"
