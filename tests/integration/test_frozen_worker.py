"""A crawling process that stands still: noticed, named and left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvloop
from tests.acceptance.small_web import SmallWeb, serving

from headgate.engine import processes, workers
from headgate.engine.clock import SystemClock
from headgate.engine.node import NodeJob
from headgate.engine.process_messages import spawning
from headgate.engine.processes import ProcessFleet, open_processes
from headgate.fetching.client import FetcherSettings
from headgate.model.errors import WorldFault
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.storage.collection import Collection


@pytest.mark.parametrize("closing", [False, True])
def test_a_process_that_is_stopped_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closing: bool
) -> None:
    monkeypatch.setattr(processes, "_ENDING_SECONDS", 1.0)
    collection, pids = Collection(tmp_path), list[int]()

    async def crawl(job: NodeJob, site: Site, web: SmallWeb) -> None:
        async with open_processes(spawning(job), lambda _: 1.0, 2, SystemClock()) as fleet:
            fleet.start(Task(site))
            fleet.set_rates({site.name: 1e6})
            while len(web.served) < 3:
                await fleet.wait(0.1)
            (frozen,) = [worker.process.pid for worker in fleet._workers if worker.sites]
            assert frozen is not None
            os.kill(frozen, signal.SIGSTOP)
            monkeypatch.setattr(workers, "_SILENT_SECONDS", 3.0)
            if closing:
                await asyncio.wait_for(fleet.close("interrupted"), 30)
            with pytest.raises(WorldFault, match=rf"does not answer \({frozen}, with small\)"):
                await until_fault(fleet)
            pids.append(frozen)

    async def until_fault(fleet: ProcessFleet) -> None:
        while True:
            await fleet.wait(0.5)

    with serving(SmallWeb(500, seconds_per_page=0.05)) as web, collection.lock():
        site = Site("small", seeds=(web.seed,))
        run = collection.new_run(datetime.fromtimestamp(time.time(), UTC))
        settings = FetcherSettings("tests", named=frozenset({"127.0.0.1"}))
        began = time.monotonic()
        uvloop.run(crawl(NodeJob(tmp_path, run.stamp, settings), site, web))
    assert time.monotonic() - began < 40
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids), "and ended"
