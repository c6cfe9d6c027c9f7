"""One site on several nodes, in virtual time: the pages of a crawl on one machine, each once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from bench.shared_world import (
    BEGIN,
    LEASE_SECONDS,
    LinkedWeb,
    SharedWorld,
    stored,
)

from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.watcher import Watcher
from headgate.features.crawl.job import CrawlJob, crawl
from headgate.features.grid.coordinator.progress import LOST
from headgate.features.grid.scheduler import site_splitting
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, Seconds
from headgate.storage.collection import Collection
from headgate.storage.memory.site import read_summary
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

Play = Callable[[SharedWorld, "asyncio.Task[RunReport]"], Awaitable[RunReport]]
CHAIN = 20


@pytest.fixture(autouse=True)
def small_webs_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_splitting, "_URLS_A_NODE", 40)


def tree(
    host: str, pages: int, seed: int = 1, others: tuple[str, ...] = ()
) -> dict[str, list[str]]:
    """Pages that link to two further ones, to some of their own host, now and then to another, and
    to one that robots.txt forbids; a chain hangs on the last."""
    rng = np.random.default_rng(seed)
    urls = [f"http://{host}/{number}" for number in range(pages)]
    links = {
        url: [
            *(urls[k] for k in (2 * number + 1, 2 * number + 2) if k < pages),
            *(urls[k] for k in rng.integers(pages, size=2)),
            *(f"http://{other}/{number}" for other in others[: number % 2]),
            f"http://{host}/private/{number % 20}",
        ]
        for number, url in enumerate(urls)
    }
    chain = [f"http://{host}/chain/{number}" for number in range(CHAIN)]
    links[urls[-1]] += chain[:1]
    return links | {url: chain[number + 1 : number + 2] for number, url in enumerate(chain)}


def web_of(*hosts: str, pages: int = 220) -> LinkedWeb:
    links: dict[str, list[str]] = {}
    for number, host in enumerate(hosts):
        links |= tree(host, pages, number, tuple(other for other in hosts if other != host))
    robots = {f"http://{host}": "User-agent: *\nDisallow: /private/\n" for host in hosts}
    return LinkedWeb(links, robots)


def shared(
    folder: Path, web: LinkedWeb, site: Site, play: Play, begin: float = BEGIN
) -> tuple[SharedWorld, RunReport]:
    async def played(loop: VirtualLoop) -> tuple[SharedWorld, RunReport]:
        world = SharedWorld(folder / "grid", VirtualClock(loop, begin), web, (site,))
        try:
            return world, await play(world, world.start_manager())
        finally:
            await world.close()

    return run_virtually(played)


def alone(folder: Path, web: LinkedWeb, site: Site) -> Counter[str]:
    """What a crawl on one machine stores."""
    quiet = LinkedWeb(web.links, web.robots, web.redirects, web.others)

    async def played(loop: VirtualLoop) -> None:
        def answering(request: FetchRequest, now: float) -> Answer:
            return quiet.answer("", request, now)

        parts = virtual_parts(VirtualClock(loop, BEGIN), answering, Line())
        settings = fetcher_settings((site,), "")
        await crawl(
            CrawlJob((site,), Budget(UNLIMITED, 5), folder / "alone", settings),
            parts,
            Watcher(),
        )

    run_virtually(played)
    return stored(folder / "alone")


def all_of(web: LinkedWeb, site: Site) -> Counter[str]:
    return Counter(f"{site.name} {url}" for url in web.links)


async def with_two_nodes(world: SharedWorld, manager: asyncio.Task[RunReport]) -> RunReport:
    for name in ("anna", "ben"):
        world.start_node(name)
    return await manager


def by_node(web: LinkedWeb) -> Counter[str]:
    return Counter(node for _, node, url in web.asked if url in web.links)


def told(report: RunReport) -> tuple[str, int]:
    (site,) = report.sites
    return site.state, site.pages


def test_two_nodes_crawl_what_one_machine_would(tmp_path: Path) -> None:
    web = web_of("a.test")
    site = Site("a", ("http://a.test/0",), nodes_at_once=2, delay=Seconds(0.05))
    world, report = shared(tmp_path, web, site, with_two_nodes)
    assert told(report) == ("done", len(web.links))
    assert stored(world.out) == alone(tmp_path, web, site) == all_of(web, site)
    assert max(web.times().values()) == 1
    assert min(by_node(web).values()) > 50, "both had their share"
    times = sorted(at for at, _, url in web.asked if url in web.links)
    most = max(sum(at <= other < at + 1.0 for other in times) for at in times)
    assert most <= 1.0 / 0.05 + 4, "together they are as polite as one"
    assert report.grid is not None
    assert sum(node.pages for node in report.grid.nodes) == len(web.links)
    assert report.grid.leases >= 7, "one part, then three for each node"


def test_hosts_of_one_site_are_crawled_beside_each_other(tmp_path: Path) -> None:
    hosts = ("a.test", "b.test", "www.c.test")
    web = web_of(*hosts, pages=60)
    site = Site("abc", tuple(f"http://{host}/0" for host in hosts), delay=Seconds(0.5))
    world, report = shared(tmp_path, web, site, with_two_nodes)
    assert told(report) == ("done", len(web.links))
    assert stored(world.out) == alone(tmp_path, web, site) == all_of(web, site)
    assert max(web.times().values()) == 1
    for host in hosts:
        times = sorted(at for at, url in ((at, url) for at, _, url in web.asked if url in web.links)
                       if urlsplit(url).netloc == host)  # fmt: skip
        gaps = [later - at for at, later in pairwise(times)]
        assert min(gaps) > 0.4, "one node at a host, at its own pace"
    assert max(at for at, _, _ in web.asked) < 0.6 * 0.5 * len(web.links)


def test_a_node_that_comes_late_helps_all_the_same(tmp_path: Path) -> None:
    web = web_of("a.test")
    site = Site("a", ("http://a.test/0",), nodes_at_once=2, delay=Seconds(0.5))

    async def play(world: SharedWorld, manager: asyncio.Task[RunReport]) -> RunReport:
        world.start_node("anna")
        await asyncio.sleep(32.0)  # it goes on alone by then, and enough waits
        world.start_node("ben")
        return await manager

    world, report = shared(tmp_path, web, site, play)
    assert told(report) == ("done", len(web.links))
    assert stored(world.out) == all_of(web, site)
    assert by_node(web)["ben"] > 20


def test_a_small_site_is_one_task(tmp_path: Path) -> None:
    web = web_of("a.test", pages=30)
    site = Site("a", ("http://a.test/0",), nodes_at_once=3)
    world, report = shared(tmp_path, web, site, with_two_nodes)
    assert told(report) == ("done", len(web.links))
    assert sum(world.granted.values()) == 1


def test_the_sitemap_of_an_origin_that_one_part_comes_to_late_is_read(tmp_path: Path) -> None:
    secure = "https://a.test"
    links = tree("a.test", 220)
    from_here = "http://a.test/110"  # read while there are several parts
    links[from_here] = [*links[from_here], f"{secure}/late"]
    links |= {f"{secure}/late": [], f"{secure}/hidden": []}
    sitemap = f"<urlset><url><loc>{secure}/hidden</loc></url></urlset>"
    web = LinkedWeb(links, {}, {}, {f"{secure}/sitemap.xml": sitemap.encode()})
    site = Site("a", ("http://a.test/0",), nodes_at_once=2, delay=Seconds(0.05))
    world, _ = shared(tmp_path, web, site, with_two_nodes)
    assert f"a {secure}/hidden" in stored(world.out)
    assert stored(world.out) == alone(tmp_path, web, site)


def test_what_only_a_sitemap_names_and_where_a_seed_leads_is_found(tmp_path: Path) -> None:
    links = tree("new.test", 200)
    hidden = [f"http://new.test/hidden/{number}" for number in range(100)]
    links |= {url: [] for url in hidden}
    listed = "".join(f"<url><loc>{url}</loc></url>" for url in hidden)
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
    web = LinkedWeb(
        links, {"http://new.test": "Sitemap: http://new.test/map.xml\n"},
        {"http://old.test/": "http://new.test/0"}, {"http://new.test/map.xml": sitemap.encode()},
    )  # fmt: skip
    site = Site("moved", ("http://old.test/",), nodes_at_once=2, delay=Seconds(0.05))
    world, _ = shared(tmp_path, web, site, with_two_nodes)
    found = stored(world.out)
    assert found == alone(tmp_path, web, site)
    assert found["moved http://new.test/hidden/99"] == 1
    assert sum(url.endswith("/map.xml") for _, _, url in web.asked) == 1


@pytest.mark.parametrize("killed_at", [5.0, 18.0, 26.0, 34.0])
def test_killed_nodes_and_managers_cost_nothing_but_time(tmp_path: Path, killed_at: float) -> None:
    web = web_of("a.test")
    site = Site("a", ("http://a.test/0",), nodes_at_once=2, delay=Seconds(0.15))

    async def play(world: SharedWorld, manager: asyncio.Task[RunReport]) -> RunReport:
        for name in ("anna", "ben"):
            world.start_node(name)
        await asyncio.sleep(killed_at)
        assert not manager.done()
        await world.kill("anna")
        await world.kill("manager")
        await asyncio.sleep(3.0)
        manager = world.start_manager()
        await asyncio.sleep(40.0)
        world.start_node("anna")
        return await manager

    world, report = shared(tmp_path, web, site, play)
    assert told(report) == ("done", len(web.links))
    assert stored(world.out) == all_of(web, site)


def test_a_manager_that_is_killed_again_and_again_comes_to_the_same(tmp_path: Path) -> None:
    web = web_of("a.test", "b.test", pages=200)
    site = Site("ab", ("http://a.test/0", "http://b.test/0"), nodes_at_once=2, delay=Seconds(0.1))
    kills = 0

    async def play(world: SharedWorld, _: asyncio.Task[RunReport]) -> RunReport:
        nonlocal kills
        for name in ("anna", "ben", "cora"):
            world.start_node(name)
        while True:
            await asyncio.sleep(1.5 + 0.37 * kills % 3.1)
            if world.looking_on.reports:
                return world.looking_on.reports[0]
            await world.kill("manager")
            world.start_manager()
            kills += 1

    world, report = shared(tmp_path, web, site, play)
    assert kills > 5
    assert told(report) == ("done", len(web.links))
    assert stored(world.out) == all_of(web, site)


def test_a_second_crawl_asks_for_each_page_once_again(tmp_path: Path) -> None:
    """Of pages that did not change a node has no links: known ones are dealt out by their URLs."""
    web = web_of("a.test")
    site = Site("a", ("http://a.test/0",), nodes_at_once=2, delay=Seconds(0.05))
    first, _ = shared(tmp_path, web, site, with_two_nodes)
    known = read_summary(Collection(first.out).memory("a"), "a")
    assert known is not None
    assert (known.pages - known.never_asked, known.visit) == (len(web.links), 0)
    web.asked.clear()
    world, report = shared(tmp_path, web, site, with_two_nodes, BEGIN + 86_400.0)
    assert told(report) == ("done", len(web.links))
    assert report.unchanged == len(web.links)
    assert stored(world.out) == all_of(web, site)
    assert max(web.times().values()) == 1
    assert min(by_node(web).values()) > 50


def test_where_no_node_lives_through_a_part_the_site_is_given_up(tmp_path: Path) -> None:
    web = web_of("a.test")
    site = Site("a", ("http://a.test/0",), nodes_at_once=2, delay=Seconds(0.2))

    async def play(world: SharedWorld, manager: asyncio.Task[RunReport]) -> RunReport:
        world.start_node("anna")
        while not manager.done():
            name = f"n{sum(world.granted.values())}"
            world.start_node(name)
            await asyncio.sleep(5.0)
            for task in (name, "anna"):
                if task in world.running:
                    await world.kill(task)
            await asyncio.sleep(1.5 * LEASE_SECONDS)
        return await manager

    world, report = shared(tmp_path, web, site, play)
    (site_told,) = report.sites
    assert (site_told.state, site_told.reason) == ("stopped", LOST)
    assert any("given up" in word for word in world.looking_on.words)
