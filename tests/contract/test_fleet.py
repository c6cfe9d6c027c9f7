"""What control relies on in any fleet: a node, processes, one that makes way, spiders, a grid."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from copy import copy
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
import uvloop
from tests.acceptance.small_web import SmallWeb, serving
from tests.contract.grid_office import grid_in_one_process

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.ports import Fleet
from headgate.crawling.progress import Progress
from headgate.engine.background_fleet import YieldingFleet
from headgate.engine.clock import AwakeClock, SystemClock
from headgate.engine.node import NodeJob, open_node
from headgate.engine.process_messages import spawning
from headgate.engine.processes import open_processes
from headgate.engine.real_parts import real_parts
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.fetching.round_trips import SiteProbe
from headgate.model.fetch import FetchRequest
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.scrapy.spider_fleet import SpiderFleet
from headgate.storage.collection import Collection

Found = TypeVar("Found")
Open = Callable[[NodeJob], contextlib.AbstractAsyncContextManager[Fleet]]


@contextlib.asynccontextmanager
async def _node(job: NodeJob) -> AsyncIterator[Fleet]:
    async with open_node(job, real_parts()) as node:
        yield node
        await node.close("interrupted")


@contextlib.asynccontextmanager
async def _processes(job: NodeJob) -> AsyncIterator[Fleet]:
    async with open_processes(spawning(job), lambda _: 1.0, 2, SystemClock()) as fleet:
        yield fleet
        await fleet.close("interrupted")


@contextlib.asynccontextmanager
async def _making_way(job: NodeJob) -> AsyncIterator[Fleet]:
    async with open_node(job, real_parts()) as node:
        fleet = YieldingFleet(node, partial(SiteProbe, clock=AwakeClock()))
        async with fleet.at_work(lambda *_: None):
            yield fleet
            await fleet.close("interrupted")


class _Spidered(SpiderFleet):
    """With a spider that asks for as much as a crawl of the small web does."""

    def __init__(self, fetcher: HttpFetcher) -> None:
        super().__init__(fetcher, SystemClock(), idle_seconds=0.2)
        self._web = fetcher
        self.spiders: set[asyncio.Task[None]] = set()

    def start(self, task: Task) -> None:
        super().start(task)
        self.spiders.add(asyncio.get_running_loop().create_task(self._crawl(task.site)))

    async def _crawl(self, site: Site) -> None:
        known, seed = self.sites.add(site), site.seeds[0]
        names = ("nothing.txt", "sitemap.xml", "0.html", "1.html", "2.html")
        known.inside = len(names)
        for name in names:
            url = seed.replace("0.html", name)
            spider = asyncio.current_task()
            assert spider is not None
            known.fetching.add(spider)
            outcome = await self._web.fetch(FetchRequest(url, site.name, 2000, 100_000))
            known.landed(outcome, 0)
            known.inside -= 1
            known.active = SystemClock().now()


@contextlib.asynccontextmanager
async def _spiders(job: NodeJob) -> AsyncIterator[Fleet]:
    async with HttpFetcher(job.fetcher, clock=AwakeClock()) as fetcher:
        fleet = _Spidered(fetcher)
        yield fleet
        await fleet.close("interrupted")
        for spider in fleet.spiders:
            spider.cancel()
        await asyncio.gather(*fleet.spiders, return_exceptions=True)


Crawl = Callable[[NodeJob, Site], Coroutine[None, None, Found]]
EVERY_FLEET = pytest.mark.parametrize(
    "open_fleet", [_node, _processes, _making_way, _spiders, grid_in_one_process]
)


def crawled(folder: Path, crawl: Crawl[Found]) -> Found:
    """A small site, whose fleet is conducted by ``crawl``."""
    collection = Collection(folder)
    with serving(SmallWeb(3)) as web, collection.lock():
        site = Site("small", seeds=(web.seed,))
        run = collection.new_run(datetime.fromtimestamp(time.time(), UTC))
        settings = FetcherSettings("tests", named=frozenset({"127.0.0.1"}))
        return uvloop.run(crawl(NodeJob(folder, run.stamp, settings), site))


async def end(fleet: Fleet) -> list[Progress]:
    """Those that end first, within reason."""
    until = time.monotonic() + 30.0
    ended: list[Progress] = []
    while not ended and time.monotonic() < until:
        ended += await fleet.wait(0.1)
    return ended


@EVERY_FLEET
def test_a_site_that_was_not_started_gets_nothing_done_for_its_rate(
    tmp_path: Path, open_fleet: Open
) -> None:
    async def crawl(job: NodeJob, site: Site) -> None:
        async with open_fleet(job) as fleet:
            fleet.set_rates({site.name: 1e6})
            assert not await fleet.wait(0.3)
            assert not fleet.progress()

    crawled(tmp_path, crawl)


@EVERY_FLEET
def test_a_site_that_ended_is_started_again_with_its_next_task(
    tmp_path: Path, open_fleet: Open
) -> None:
    """What came too late for one visit does nothing to the next."""

    async def crawl(job: NodeJob, site: Site) -> list[Progress]:
        ended: list[Progress] = []
        async with open_fleet(job) as fleet:
            for visit in (1, 2, 3):
                fleet.start(Task(site, visit))
                fleet.set_rates({site.name: 1e6})
                ended += await end(fleet)
                fleet.stop(site.name, "too late")
                fleet.set_rates({site.name: 0.0})
            assert not fleet.progress()
        return ended

    ended = crawled(tmp_path, crawl)
    assert [(progress.site, progress.visit) for progress in ended] == [
        ("small", visit) for visit in (1, 2, 3)
    ]
    assert [progress.state for progress in ended] == ["done"] * 3


@EVERY_FLEET
def test_times_are_told_from_the_start_of_the_task_on(tmp_path: Path, open_fleet: Open) -> None:
    """Whoever runs it may have another clock."""

    async def crawl(job: NodeJob, site: Site) -> tuple[Progress, float]:
        async with open_fleet(job) as fleet:
            started = time.monotonic()
            fleet.start(Task(site))
            fleet.set_rates({site.name: 1e6})
            (ended,) = await end(fleet)
            return ended, time.monotonic() - started

    ended, seconds = crawled(tmp_path, crawl)
    assert ended.started is not None
    assert ended.ended is not None
    assert -0.01 <= ended.started <= ended.ended <= seconds + 0.01


@EVERY_FLEET
def test_rates_and_stops_that_come_too_late_do_nothing(tmp_path: Path, open_fleet: Open) -> None:
    """They were decided while it ended. Begun anew, it would be told of as ended once more."""

    async def crawl(job: NodeJob, site: Site) -> Sequence[Progress]:
        async with open_fleet(job) as fleet:
            fleet.start(Task(site))
            fleet.set_rates({site.name: 1e6})
            ended = await end(fleet)
            fleet.set_rates({site.name: 2e6})
            fleet.stop(site.name, "deadline")
            for _ in range(5):
                ended += await fleet.wait(0.1)
            assert not fleet.progress()
            return ended

    assert [progress.site for progress in crawled(tmp_path, crawl)] == ["small"]


@EVERY_FLEET
def test_progress_that_was_taken_stays_as_it_was(tmp_path: Path, open_fleet: Open) -> None:
    """Whoever took it may still be thinking when the next page lands."""

    async def crawl(job: NodeJob, site: Site) -> None:
        async with open_fleet(job) as fleet:
            fleet.start(Task(site))
            fleet.set_rates({site.name: 1e6})
            until = time.monotonic() + 30.0
            ended: Sequence[Progress] = []
            taken: list[tuple[Progress, Progress]] = []
            while not ended and time.monotonic() < until:
                taken += [(progress, copy(progress)) for progress in fleet.progress()]
                ended = await fleet.wait(0.02)
            assert ended[0].pages == 3
            for progress, as_it_was in taken:
                assert progress == as_it_was

    crawled(tmp_path, crawl)


@EVERY_FLEET
def test_a_site_that_is_stopped_ends_with_the_reason(tmp_path: Path, open_fleet: Open) -> None:
    async def crawl(job: NodeJob, site: Site) -> Sequence[Progress]:
        async with open_fleet(job) as fleet:
            fleet.set_total(1e6)
            fleet.start(Task(site))
            fleet.set_rates({site.name: 0.0})
            until = time.monotonic() + 30.0
            ended: list[Progress] = []
            while not fleet.progress() and time.monotonic() < until:
                ended += await fleet.wait(0.05)
            fleet.stop("another", "mistaken")
            fleet.stop(site.name, "deadline")
            return ended or await end(fleet)

    (ended,) = crawled(tmp_path, crawl)
    assert (ended.site, ended.state, ended.reason) == ("small", "stopped", "deadline")


@EVERY_FLEET
def test_what_servers_did_is_told_once_it_is_done(tmp_path: Path, open_fleet: Open) -> None:
    async def crawl(job: NodeJob, site: Site) -> tuple[int, int, int]:
        async with open_fleet(job) as fleet:
            fleet.start(Task(site))
            fleet.set_rates({site.name: 1e6})
            ended = await end(fleet)
            await fleet.close("finished")
            until = time.monotonic() + 30.0
            while time.monotonic() < until:  # nodes elsewhere tell of it with their next beat
                tally = next(iter(fleet.servers().values()), ServerTally())
                if tally.bytes >= ended[0].wire_bytes:
                    break
                await asyncio.sleep(0.05)
            return ended[0].wire_bytes, tally.bytes, tally.requests

    wire_bytes, of_servers, requests = crawled(tmp_path, crawl)
    assert wire_bytes == of_servers > 0
    assert requests == 3 + 2, "robots.txt and the sitemap are asked for, too"
