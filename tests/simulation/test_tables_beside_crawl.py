"""Who writes the tables beside a crawl hears when its end is near, and when all is stored."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from msgspec.structs import replace

from headgate.crawling.progress import Progress
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.tables_beside import TablesBeside
from headgate.engine.watcher import Watcher
from headgate.features.crawl.job import CrawlJob, crawl
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, Seconds
from headgate.storage.collection import RunFolder
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

PAGES = 8
SITES = tuple(
    Site(f"{name}.test", (f"http://{name}.test/0",), delay=Seconds(1.0)) for name in ("a", "b")
)


def answer(request: FetchRequest, _wall: float) -> Answer:
    page = request.url.rpartition("/")[2]
    if not page.isdigit() or int(page) >= PAGES:
        return Answer(404)
    return Answer(200, (("content-type", "text/html"),), b"<a href=/%d>" % (int(page) + 1))


class Noting(TablesBeside):
    """Writes nothing."""

    def __init__(self, run: RunFolder) -> None:
        super().__init__(run, cores=1)
        self.said: list[str] = []
        self.seen: list[tuple[set[str], float]] = []

    def start_if_near(self, sites: Collection[Progress], seconds: float) -> None:
        self.said.append("look")
        self.seen.append(({site.site for site in sites}, seconds))

    def begin(self) -> Callable[[], bool] | None:
        self.said.append("begin")
        return self._asked

    def close(self) -> None:
        self.said.append("close")

    def _asked(self) -> bool:
        self.said.append("asked")
        return False


@pytest.mark.parametrize("crawlers", [1, 2])
def test_it_is_told_in_order(tmp_path: Path, crawlers: int) -> None:
    noting: list[Noting] = []

    def beside(run: RunFolder) -> Noting:
        noting.append(Noting(run))
        return noting[-1]

    async def run(loop: VirtualLoop) -> RunReport:
        clock = VirtualClock(loop, 1_794_751_200.0)
        budget = Budget(UNLIMITED, crawlers=crawlers)
        job = CrawlJob(SITES, budget, tmp_path, fetcher_settings(SITES, "test"))
        parts = replace(virtual_parts(clock, answer, Line()), tables_beside=beside)
        return await crawl(job, parts, Watcher())

    report = run_virtually(run)
    told = noting[0]
    looks = told.said.count("look")
    assert told.said == [*["look"] * looks, "begin", "asked", "close"]
    assert looks
    assert all(sites == {site.name for site in SITES} for sites, _ in told.seen)
    assert told.seen[-1][1] == report.seconds
    assert list(tmp_path.glob("runs/*/pages.parquet"))
