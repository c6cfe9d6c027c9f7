"""A budget of nothing for a while: the line is silent, and no page, host or URL is lost by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from tests.acceptance.small_web import SmallWeb, serving

from headgate.control.control_loop import ControlLoop
from headgate.control.forecast import Forecast, Source
from headgate.control.manager import Manager
from headgate.crawling.progress import Progress
from headgate.engine.clock import SystemClock
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.node import NodeJob, open_node
from headgate.engine.real_parts import real_parts
from headgate.model.site import Site
from headgate.scheduling.capacity import Capacity
from headgate.storage.collection import Collection

PAUSE = Capacity.from_pieces([(0.0, 200e3), (1.0, 0.0), (7.0, 400e3)])


async def crawl(out: Path, site: Site) -> list[tuple[float, Progress, int]]:
    """(time, progress, bytes that came) of every look."""
    looks: list[tuple[float, Progress, int]] = []

    def observe(now: float, reports: Sequence[Progress], _: Mapping[str, float]) -> None:
        looks.extend((now, report, report.arrived_bytes) for report in reports)

    collection = Collection(out)
    with collection.lock():
        run = collection.new_run(datetime(2026, 11, 16, tzinfo=UTC))
        job = NodeJob(out, run.stamp, fetcher_settings([site], "test"))
        async with open_node(job, real_parts()) as node:
            manager = Manager.from_sites([site], {site.name: Forecast(6e5, Source.GUESS)}, PAUSE, 1)
            await ControlLoop(manager, node, SystemClock(), observe).run()
    return looks


def test_nothing_passes_in_a_pause_and_all_is_there_after_it(tmp_path: Path) -> None:
    with serving(SmallWeb(40, page_bytes=12_000, random_bytes=5_500)) as web:
        looks = uvloop.run(crawl(tmp_path, Site("web", seeds=(web.seed,))))
    # Two seconds for what was paid for and under way.
    paused = [came for now, _, came in looks if 3.0 < now < 6.9]
    assert len(paused) >= 1
    assert max(paused) - min(paused) < 2_000, "acknowledgements and probes at the most"
    _, last, came = looks[-1]
    assert came > max(paused)
    assert last.pages == 40
    assert not last.errors
    assert not last.given_up
