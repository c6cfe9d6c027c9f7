"""Sites that wait for their own delay, and sites that stop at their deadline, in virtual time."""

from __future__ import annotations

from pathlib import Path

from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.watcher import Watcher
from headgate.features.crawl.job import CrawlJob, crawl
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import SiteReport
from headgate.model.site import OnDeadline, Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

PAGE_BYTES = 10_000
PATIENT = b"User-agent: *\nCrawl-delay: 10\n"


def answer(request: FetchRequest, _wall: float) -> Answer:
    """Page k leads to 2k + 1 and 2k + 2; a host's name says how many pages it has."""
    host, _, path = request.url.removeprefix("http://").partition("/")
    name, pages = host.removesuffix(".test").split("-")
    if path == "robots.txt":
        return Answer(200, body=PATIENT if name.startswith("patient") else b"")
    number = int(path or "0") if path.isdigit() or not path else int(pages)
    if number >= int(pages):
        return Answer(404)
    links = [k for k in (2 * number + 1, 2 * number + 2) if k < int(pages)]
    body = f"{host}{path}" + "".join(f"<a href=/{link}>" for link in links)
    return Answer(200, (("content-type", "text/html"),), body.encode().ljust(PAGE_BYTES))


def crawled(out: Path, budget: Budget, *sites: Site) -> dict[str, SiteReport]:
    async def run(loop: VirtualLoop) -> dict[str, SiteReport]:
        clock = VirtualClock(loop, 1_794_751_200.0)
        job = CrawlJob(sites, budget, out, fetcher_settings(sites, "test"))
        report = await crawl(job, virtual_parts(clock, answer, Line()), Watcher())
        return {site.name: site for site in report.sites}

    return run_virtually(run)


def of_size(name: str, pages: int, deadline: float, **other: OnDeadline | Seconds) -> Site:
    """Its size is told, so nobody looks at it first."""
    size = Bytes(1.04 * PAGE_BYTES * pages)
    seed = f"http://{name}-{pages}.test/"
    return Site(name, (seed,), deadline=Seconds(deadline), expect=size, **other)  # type: ignore[arg-type]


def test_crawlers_of_sites_that_wait_are_lent_to_others(tmp_path: Path) -> None:
    """Five sites with Crawl-delay: 10 kept all others waiting for ever; here their deadlines come
    first, and they would have both crawlers until long after that of the last site."""
    patient = [of_size(f"patient{k}", 7, 100.0 + k) for k in range(3)]
    eager = of_size("eager", 300, 120.0, delay=Seconds(0.0))
    sites = crawled(tmp_path, Budget(BytesPerSecond(100e3), crawlers=2), *patient, eager)
    assert {site.state for site in sites.values()} == {"done"}
    assert all(site.met for site in sites.values())
    soonest = min(sites[site.name].finished or 0.0 for site in patient)
    assert (sites["eager"].started or 0.0) < soonest, "while they waited"


def test_a_site_ends_at_its_deadline_and_not_a_moment_later(tmp_path: Path) -> None:
    """A stop came 1 to 1.7 s late."""
    stop, at_once = OnDeadline.STOP, Seconds(0.0)
    stopped = [of_size(n, 500, 7.3, on_deadline=stop, delay=at_once) for n in ("one", "other")]
    sites = crawled(tmp_path, Budget(BytesPerSecond(100e3), crawlers=1), *stopped)
    for site in sites.values():
        assert (site.state, site.reason, site.met) == ("stopped", "deadline", False)
        assert 7.3 <= (site.finished or 0.0) < 7.35
    assert any(site.pages for site in sites.values())
