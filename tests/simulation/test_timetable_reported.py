"""What a report says of a timetable in the night in which clocks go back, against a reckoning of
the same night by hand: what the clock on the wall showed, and what passed on the line."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.watcher import Watcher
from headgate.features.crawl.job import CrawlJob, crawl
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.timetable import Timetable
from headgate.model.units import Seconds
from headgate.report.text import report_text
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

BEGAN = datetime(2026, 10, 25, 0, 55, tzinfo=UTC).timestamp()
"""02:55 in Berlin, five minutes before the clock shows 02:00 for the second time."""
TABLE = ["00:00 3 KB/s", "02:02 1 KB/s", "02:56 4 KB/s", "02:58 2 KB/s"]
BY_HAND = [(0.0, 1e3), (60.0, 4e3), (180.0, 2e3), (300.0, 3e3), (420.0, 1e3), (3660.0, 4e3)]
"""Seconds from then on, bytes per second: 02:55, 02:56, 02:58, 02:00, 02:02, 02:56."""
PAGES, PAGE_BYTES = 120, 9_000


def answer(request: FetchRequest, _wall: float) -> Answer:
    path = request.url.rpartition("/")[2] or "0"
    if not path.isdigit() or int(path) >= PAGES:
        return Answer(404)
    links = "".join(f"<a href=/{2 * int(path) + k}>" for k in (1, 2))
    return Answer(
        200, (("content-type", "text/html"),), f"{path}{links}".encode().ljust(PAGE_BYTES)
    )


def crawled(out: Path, line: Line) -> RunReport:
    sites = (Site("a.test", ("http://a.test/",), delay=Seconds(0.0)),)
    budget = Budget(Timetable.parse(TABLE, ZoneInfo("Europe/Berlin")))

    async def run(loop: VirtualLoop) -> RunReport:
        job = CrawlJob(sites, budget, out, fetcher_settings(sites, "test"))
        parts = virtual_parts(VirtualClock(loop, BEGAN), answer, line)
        return await crawl(job, parts, Watcher())

    return run_virtually(run)


def test_the_night_in_which_clocks_go_back(tmp_path: Path) -> None:
    line = Line()
    report = crawled(tmp_path, line)
    (site,) = report.sites
    end = site.finished
    assert end is not None
    assert 420 < end < 3660, "five of the six"
    turns = [turn for turn in BY_HAND if turn[0] < end]
    assert [rate for _, rate in report.budget_changes] == [rate for _, rate in turns]
    for (told, _), (turned, _) in zip(report.budget_changes, turns, strict=True):
        assert 0 <= told - turned <= 0.6, "at the look that follows"
    allowed = sum(
        rate * (until - begin)
        for (begin, rate), (until, _) in zip(turns, [*turns[1:], (end, 0.0)], strict=True)
    )
    passed = sum(amount for _, amount in line.arrivals)
    assert report.wire_bytes == passed
    first = report_text(report).splitlines()[0]
    said = re.fullmatch(
        r"The site is done; ([\d.]+) % of a budget of 1 KB/s to 4 KB/s by the hours of"
        r" Europe/Berlin used; worst second ([\d.]+) KB/s\.",
        first,
    )
    assert said is not None, first
    assert float(said[1]) == pytest.approx(100 * passed / allowed, rel=0.005)
    moments = [at for at, _ in line.arrivals]
    most = max(
        sum(amount for at, amount in line.arrivals if start <= at < start + 1.0)
        for start in moments
    )
    assert 0.8 * most <= 1e3 * float(said[2]) <= 1.01 * most, "looks are half a second apart"
