"""One queue over all sites drives a whole focused crawl, in virtual time."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.watcher import Watcher
from headgate.features.crawl.job import CrawlJob, crawl
from headgate.focus.topic import RELEVANT
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import RunReport
from headgate.model.score_order import ScoreOrder
from headgate.model.site import OnDeadline, Site
from headgate.model.units import BytesPerSecond, Seconds
from headgate.report.words import order_words
from headgate.testing.simulated_web import Answer, Line, ServerPace, SimulatedExchange
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually
from headgate_lab.worlds.topical_web import TOPIC_WORDS, TopicalWeb

BEGIN = 1_794_751_200.0
SITES, PAGES = 12, 120
LIMIT = 200_000.0


@dataclass(frozen=True, slots=True)
class Came:
    report: RunReport
    line: Line

    @property
    def pages(self) -> list[SimulatedExchange]:
        return [one for one in self.line.exchanges if not one.url.endswith((".txt", ".xml"))]

    @property
    def rates(self) -> np.ndarray:
        """Of whole seconds."""
        times, amounts = zip(*self.line.arrivals, strict=True)
        begin = times[0]
        return np.bincount([int(t - begin) for t in times], amounts)


def crawled(
    out: Path,
    order: ScoreOrder | None,
    seconds: float | None = 40.0,
    pages: int = PAGES,
    **site: object,
) -> Came:
    web = TopicalWeb(3, SITES, pages)
    speeds = np.random.default_rng(5).lognormal(np.log(60e3), 0.9, SITES)
    paces = [ServerPace(((0.0, float(speed)),)) for speed in speeds]

    def answering(request: FetchRequest, at: float) -> Answer:  # noqa: ARG001
        host, _, path = request.url.removeprefix("http://").partition("/")
        number = int(host.rpartition(".")[2]) - 1
        body = web.body(number, f"/{path}")
        status, headers = (404, ()) if body is None else (200, (("content-type", "text/html"),))
        return Answer(status, headers, body or b"", address=host, pace=paces[number])

    deadline = {"deadline": Seconds(seconds), "on_deadline": OnDeadline.STOP} if seconds else {}
    sites = tuple(
        Site(
            f"site-{k}", (f"http://10.0.0.{k + 1}/",), focus=TOPIC_WORDS,
            **{"delay": Seconds(0.0), **deadline, **site},  # type: ignore[arg-type]
        )
        for k in range(SITES)
    )  # fmt: skip
    budget = Budget(BytesPerSecond(LIMIT), crawlers=SITES, order=order)
    line = Line()

    async def run(loop: VirtualLoop) -> RunReport:
        job = CrawlJob(sites, budget, out, fetcher_settings(sites, "test"))
        return await crawl(
            job, virtual_parts(VirtualClock(loop, BEGIN), answering, line), Watcher()
        )

    return Came(run_virtually(run), line)


def steady(came: Came) -> np.ndarray:
    """Rates as parts of the limit, without the first seconds and the last."""
    return came.rates[3:38] / LIMIT


def relevant(came: Came) -> int:
    return sum(site.focus.relevant for site in came.report.sites if site.focus is not None)


def test_shares_fill_the_line_and_hold_it(tmp_path: Path) -> None:
    came = crawled(tmp_path, ScoreOrder())
    rates = steady(came)
    assert rates.mean() >= 0.93
    assert came.rates.max() <= 1.02 * LIMIT
    order = came.report.order
    assert order is not None
    assert (order.admission, order.relevant) == ("shares", relevant(came))
    assert order.begun >= len(came.pages) > 200
    assert order.places / order.begun < 0.5


def test_the_best_of_all_sites_is_a_better_harvest_than_a_rate_for_each(tmp_path: Path) -> None:
    by_rates = crawled(tmp_path / "rates", None)
    by_score = crawled(tmp_path / "score", ScoreOrder())
    assert by_rates.report.order is None
    assert relevant(by_score) > 1.1 * relevant(by_rates)


def test_the_papers_form_passes_the_limit_and_on_off_swings(tmp_path: Path) -> None:
    repaired, paper, rival = (
        steady(crawled(tmp_path / name, ScoreOrder(name)))
        for name in ("shares", "estimates", "on-off")
    )
    assert paper.max() > 1.05
    assert rival.std() > 2 * repaired.std()


def test_what_is_said_of_it_is_in_the_tables_and_on_the_line(tmp_path: Path) -> None:
    came = crawled(tmp_path, ScoreOrder("estimates"))
    [words] = order_words(came.report)
    [table] = tmp_path.glob("runs/*/pages.parquet")
    judged = pq.read_table(table, columns=["relevance"])["relevance"].drop_null().to_pylist()
    relevant = sum(score >= RELEVANT for score in judged)
    assert f"(admission by estimates): {relevant:,} of {len(judged):,} pages relevant." in words
    [worst] = re.findall(r"worst second carried ([\d.]+) % of it", words)
    assert float(worst) == pytest.approx(came.rates.max() / LIMIT * 100, rel=0.15)


@pytest.mark.parametrize("admission", ["shares", "estimates", "on-off"])
def test_with_time_every_page_is_fetched_once(admission: str, tmp_path: Path) -> None:
    came = crawled(tmp_path, ScoreOrder(admission), None, pages=15)
    counts = Counter(one.url for one in came.pages)
    assert set(counts.values()) == {1}
    assert all(site.state == "done" for site in came.report.sites)
    assert len(counts) == SITES * 16  # the first page also goes by "/0"


def test_a_delay_is_kept_from_request_to_request(tmp_path: Path) -> None:
    """Though pages wait for their turns in between."""
    came = crawled(tmp_path, ScoreOrder(), 30.0, delay=Seconds(1.5))
    by_host: dict[str, list[float]] = {}
    for one in came.pages:
        by_host.setdefault(one.url.split("/")[2], []).append(one.at)
    gaps = [b - a for times in by_host.values() for a, b in pairwise(times)]
    assert len(gaps) > 100
    assert min(gaps) >= 1.5 - 1e-6
