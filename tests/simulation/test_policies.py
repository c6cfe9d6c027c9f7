"""Every published policy drives a whole crawl, in virtual time: its rates are its plan's."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from headgate.control.control_loop import ControlLoop
from headgate.crawling.progress import Progress
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.features.crawl.job import CrawlJob, CrawlWatcher, crawl
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import RunReport
from headgate.report.words import policy_words
from headgate.scheduling.planner import plan
from headgate.scheduling.policies import POLICIES, POLICY_NAMES
from headgate.site_file.parsing import parse_site_file
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

BEGIN = 1_794_751_200.0
"""2026-11-15 14:00 UTC."""
PAGES, PAGE_BYTES = (40, 80, 120, 60, 100), 20_000
DEADLINES = (8, 20, 40, 60, 80)
BUDGET = 200_000
"""Bytes per second: eight megabytes of pages, in 40 s."""


TIME = r"(?:(\d+)m )?([\d.]+)s"


def seconds(minutes: str, rest: str) -> float:
    """Of a time as it is said; nothing was said of none."""
    return 60.0 * int(minutes or 0) + float(rest or 0.0)


def site_file(policy: str, crawlers: int) -> str:
    lines = [f'[budget]\nbandwidth = "{BUDGET} B/s"\ncrawlers = {crawlers}\npolicy = "{policy}"\n']
    for k, (pages, deadline) in enumerate(zip(PAGES, DEADLINES, strict=True)):
        lines.append(
            f'[site.site-{k}]\nseeds = ["http://10.0.0.{k + 1}/"]\ndelay = 0\n'
            f'deadline = "{deadline}s"\nexpect = {pages * (PAGE_BYTES + 1_200)}\n'
        )
    return "\n".join(lines)


def answering(request: FetchRequest, at: float) -> Answer:  # noqa: ARG001 - nothing changes
    """A star: the first page leads to all others."""
    address, _, path = request.url.removeprefix("http://").partition("/")
    if path == "robots.txt":
        return Answer(404, (), b"", first_byte_seconds=0.01, address=address)
    pages = PAGES[int(address.rpartition(".")[2]) - 1]
    links = "".join(f'<a href="/{k}">' for k in range(1, pages)) if not path else ""
    body = links.encode().ljust(PAGE_BYTES)
    headers = (("Content-Type", "text/html"), ("Content-Length", str(len(body))))
    return Answer(200, headers, body, first_byte_seconds=0.01, address=address)


class Rates(CrawlWatcher):
    """Notes which rates were in force when."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
        self.most = 0.0
        self._last = 0.0
        self._before: Mapping[str, float] = {}

    def on_start(self, control_loop: ControlLoop) -> None:
        observe = control_loop.observe

        def observed(now: float, reports: Sequence[Progress], rates: Mapping[str, float]) -> None:
            for site, rate in self._before.items():
                self.seconds[site][round(rate)] += now - self._last
            self._last, self._before = now, rates
            self.most = max(self.most, sum(rates.values()))
            observe(now, reports, rates)

        control_loop.observe = observed


def crawl_by(
    policy: str, crawlers: int, out: Path, line: Line | None = None
) -> tuple[RunReport, Rates]:
    asked = parse_site_file(site_file(policy, crawlers), "sites.toml")
    rates = Rates()

    async def run(loop: VirtualLoop) -> RunReport:
        job = CrawlJob(asked.sites, asked.budget, out, fetcher_settings(asked.sites, "test"))
        parts = virtual_parts(VirtualClock(loop, BEGIN), answering, line or Line())
        return await crawl(job, parts, rates)

    return run_virtually(run), rates


@pytest.mark.parametrize("policy", [name for name in POLICY_NAMES if name != "headgate"])
def test_a_policy_sets_the_rates_of_a_crawl(policy: str, tmp_path: Path) -> None:
    crawlers = len(PAGES) if POLICIES[policy].all_at_once else 3
    report, rates = crawl_by(policy, crawlers, tmp_path)
    assert report.policy == policy
    assert report.policy_fault == ""
    assert [site.pages for site in report.sites] == list(PAGES)
    assert rates.most <= BUDGET * (1 + 1e-6)
    asked = parse_site_file(site_file(policy, crawlers), "sites.toml")
    planned = plan(asked.sites, asked.budget, policy, seed=1)
    for site in planned.sites:
        for segment in site.segments:
            if segment.end - segment.start >= 5.0:
                near = [s for r, s in rates.seconds[site.name].items()
                        if abs(r - segment.rate) <= 0.05 * segment.rate]  # fmt: skip
                assert sum(near) >= 0.8 * (segment.end - segment.start), (site.name, segment)


@pytest.mark.parametrize("policy", ["M-STET", "ReAlloc-PROBandwidth"])
def test_what_is_said_of_it_is_what_servers_saw_and_what_our_plan_says(
    policy: str, tmp_path: Path
) -> None:
    line = Line()
    report, _ = crawl_by(policy, len(PAGES), tmp_path, line)
    [words] = policy_words(report)
    begin = min(one.at for one in line.exchanges)
    kept = [
        max(one.ended or 0.0 for one in line.exchanges if one.site == site.name) - begin
        for site in report.sites
    ]
    asked = parse_site_file(site_file("headgate", len(PAGES)), "sites.toml")
    promised = [site.segments[-1].end for site in plan(asked.sites, asked.budget).sites]
    said = re.findall(rf"(\d) of 5 deadlines(?:, {TIME} of lateness)?, the end at {TIME}", words)
    for (met, *times), ends in zip(said, (promised, kept), strict=True):
        over = [max(at - due, 0.0) for at, due in zip(ends, DEADLINES, strict=True)]
        assert int(met) == over.count(0.0)
        assert seconds(times[0], times[1]) == pytest.approx(sum(over), abs=0.6)
        assert seconds(times[2], times[3]) == pytest.approx(max(ends), abs=0.6)


def test_a_policy_that_raises_leaves_the_crawl_to_headgate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headgate.scheduling import policies

    def raising(*_: object) -> None:
        raise RuntimeError("out of ideas")

    own = policies.Policy("own", raising)  # type: ignore[arg-type]
    monkeypatch.setattr("headgate.engine.chosen_policy.chosen_policy", lambda _: own)
    report, _ = crawl_by("own", 3, tmp_path)
    assert report.policy == "own"
    assert report.policy_fault == "it raised RuntimeError: out of ideas"
    assert [site.pages for site in report.sites] == list(PAGES)
    assert all(site.met for site in report.sites)
