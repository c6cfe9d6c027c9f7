"""The plan is made beside the crawl: one that has ended waits for no plan."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.parts import MakePlan
from headgate.features.crawl.job import CrawlJob, CrawlWatcher, crawl
from headgate.model.budget import Budget
from headgate.model.errors import WorldFault
from headgate.model.fetch import FetchRequest
from headgate.model.plan import Plan
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, BytesPerSecond, Seconds
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

SHORT = Site("short.test", ("http://short.test/",), deadline=Seconds(60.0))
"""Its first look ends with its last page: then nothing is left to plan."""
LONG = Site("long.test", ("http://long.test/",), deadline=Seconds(60.0), delay=Seconds(1.0))
PAGES = {"short.test": 3, "long.test": 12}
PLAN_SECONDS = 100.0


def answer(request: FetchRequest, _wall: float) -> Answer:
    """Each page leads to the next."""
    host, _, path = request.url.removeprefix("http://").partition("/")
    page = int(path or "0") if path.isdigit() or not path else PAGES[host]
    if page >= PAGES[host]:
        return Answer(404)
    links = f"<a href=/{page + 1}>" if page + 1 < PAGES[host] else "the end"
    return Answer(200, (("content-type", "text/html"),), links.encode())


async def never(*_: Any) -> Plan:
    await asyncio.sleep(PLAN_SECONDS)
    raise AssertionError("nobody waits for it")


async def killed(*_: Any) -> Plan:
    raise WorldFault("the process that makes it ended without an answer")


class Reader(CrawlWatcher):
    """Of what the user is told."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def on_messages(self, words: Sequence[str]) -> None:
        self.remarks += words


def crawled(
    site: Site,
    out: Path,
    bandwidth: BytesPerSecond,
    make_plan: MakePlan = never,
    watcher: CrawlWatcher | None = None,
) -> RunReport:
    async def run(loop: VirtualLoop) -> RunReport:
        clock = VirtualClock(loop, 1_794_751_200.0)
        job = CrawlJob((site,), Budget(bandwidth), out, fetcher_settings((site,), "test"))
        parts = replace(virtual_parts(clock, answer, Line()), make_plan=make_plan)
        return await crawl(job, parts, watcher or CrawlWatcher())

    return run_virtually(run)


@pytest.mark.parametrize("site", [SHORT, LONG])
@pytest.mark.parametrize(("bandwidth", "policy"), [(1e6, "headgate"), (UNLIMITED, "unlimited")])
def test_a_crawl_that_has_ended_waits_for_no_plan(
    tmp_path: Path,
    site: Site,
    bandwidth: BytesPerSecond,
    policy: str,
) -> None:
    report = crawled(site, tmp_path, bandwidth)
    assert (report.pages, report.sites[0].met) == (PAGES[site.name], True)
    assert report.sites[0].finished is not None
    assert report.seconds - report.sites[0].finished < PLAN_SECONDS / 2
    assert report.policy == policy


def test_a_crawl_outlives_the_process_that_makes_its_plan(tmp_path: Path) -> None:
    reader = Reader()
    report = crawled(LONG, tmp_path, BytesPerSecond(1e6), killed, reader)
    assert (report.pages, report.sites[0].met, report.interrupted) == (12, True, False)
    assert any("no plan to compare with" in remark for remark in reader.remarks)
    assert not list((tmp_path / "spool").iterdir()), "the run is finished"
