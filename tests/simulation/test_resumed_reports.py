"""What a resumed run tells of a site that it never takes up again: all that is stored of it.

The report that a leg saves is some seconds old when the machine dies; its journals are not.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headgate.control.control_loop import ControlLoop
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.features.crawl.job import CrawlJob, CrawlWatcher, crawl
from headgate.model.budget import Budget
from headgate.model.errors import WorldFault
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import LeftOut, RunReport
from headgate.model.site import OnDeadline, Site
from headgate.model.units import UNLIMITED, Seconds
from headgate.storage.collection import Collection
from headgate.storage.run_state import RunState, load_report
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

DEATH, DEADLINE = 9.0, 10.2
"""A leg that died is given up to two seconds more: the next one has hardly any left."""
SITES = tuple(
    Site(name, (f"http://{name}/",), deadline=Seconds(DEADLINE), on_deadline=OnDeadline.STOP)
    for name in ("a.test", "b.test")
)


class Dying(CrawlWatcher):
    def on_start(self, control_loop: ControlLoop) -> None:
        asyncio.get_running_loop().call_later(DEATH, control_loop.interrupt, "interrupted")


def answer(request: FetchRequest, _wall: float) -> Answer:
    """Pages without end, each of which leads to two more and to one that robots.txt forbids."""
    path = request.url.rpartition("/")[2] or "0"
    if path == "robots.txt":
        return Answer(200, body=b"User-agent: *\nDisallow: /not-")
    if not path.isdigit():
        return Answer(404)
    links = f"<a href=/{2 * int(path) + 1}><a href=/{2 * int(path) + 2}><a href=/not-{path}>"
    return Answer(200, (("content-type", "text/html"),), links.encode())


def leg(out: Path, watcher: CrawlWatcher, crawlers: int, *, resume: bool) -> RunReport:
    async def run(loop: VirtualLoop) -> RunReport:
        clock = VirtualClock(loop, 1_794_751_200.0)
        settings = fetcher_settings(SITES, "test")
        job = CrawlJob(SITES, Budget(UNLIMITED, crawlers=crawlers), out, settings, resume=resume)
        return await crawl(job, virtual_parts(clock, answer, Line()), watcher)

    return run_virtually(run)


async def died(*_: Any) -> None:
    raise WorldFault("the machine died")


def test_a_site_dropped_at_its_deadline_is_told_as_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one crawler of the second leg has the other site when the deadline comes."""
    with monkeypatch.context() as dying:
        dying.setattr(RunState, "end", died)
        with pytest.raises(WorldFault):
            leg(tmp_path, Dying(), 2, resume=False)
    run = Collection(tmp_path).unfinished_run()
    assert run is not None
    saved = load_report(run)
    assert saved is not None

    report = leg(tmp_path, CrawlWatcher(), 1, resume=True)
    rows = pq.read_table(run.path / "pages.parquet").to_pylist()
    for site, before in zip(report.sites, saved.sites, strict=True):
        own = [row for row in rows if row["site"] == site.name]
        assert (site.state, site.reason) == ("stopped", "deadline")
        assert before.fetches < len(own), "the saved report was not behind"
        assert site.fetches == len(own)
        assert site.pages == sum(row["role"] == "page" for row in own)
        forbidden = site.left_out.get("robots.txt", LeftOut(0)).count
        assert site.to_do == 1 + 2 * site.pages - forbidden > before.to_do
        assert site.left_out["deadline"].count == site.to_do
    assert any("robots.txt" in site.left_out for site in report.sites), "both were taken up"
