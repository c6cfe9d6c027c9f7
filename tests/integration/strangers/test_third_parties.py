"""What a stranger names is not asked for: nobody is made to visit third parties."""

from __future__ import annotations

import asyncio
import sys
from itertools import pairwise
from pathlib import Path

import uvloop
from tests.integration.crawling.crawled import crawl_sites
from tests.integration.fetching.scripted import Wire, page, serving

from headgate.frontier.url_filter import MOST_SITEMAPS

INDEX = "<sitemapindex>{}</sitemapindex>"
ENTRY = "<sitemap><loc>{}</loc></sitemap>"


class Recorder:
    """A server that notes what it was asked for, and when by the loop's clock."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float]] = []
        self.robots = b""
        self.body = b"<urlset></urlset>"
        self.moved = b""

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    async def script(self, wire: Wire) -> None:
        while request := await wire.said():
            path = request.split()[1].decode()
            self.asked.append((path, asyncio.get_running_loop().time()))
            if path == "/robots.txt" and self.moved:
                await wire.say(
                    b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: %b\r\n\r\n" % self.moved
                )
            else:
                await wire.say(page(self.robots if path == "/robots.txt" else self.body))


def test_sitemaps_on_another_host_are_not_asked_for(tmp_path: Path) -> None:
    """Fifty indexes of fifty were 2,500 requests in five seconds."""
    stranger, third = Recorder(), Recorder()

    async def session() -> None:
        async with serving(stranger.script) as bad, serving(third.script) as other:
            named = [other.url(f"/{k}.xml") for k in range(50)]
            stranger.robots = "".join(f"Sitemap: {url}\n" for url in named).encode()
            stranger.robots += b"Sitemap: /index.xml\n"
            stranger.body = INDEX.format("".join(map(ENTRY.format, named))).encode()
            told = await crawl_sites(tmp_path / "data", {"stranger": bad.url()})
            (site,) = told["report"]["sites"]
            assert site["left_out"]["other host"]["count"] == 100

    uvloop.run(session())
    assert third.asked == []
    assert sorted(stranger.paths) == ["/", "/index.xml", "/robots.txt"]


def test_own_sitemaps_are_paced_allowed_and_not_without_end(tmp_path: Path) -> None:
    stranger = Recorder()
    lines = "".join(f"Sitemap: /{k}.xml\n" for k in range(40))
    stranger.robots = f"{lines}User-agent: *\nDisallow: /*7.xml\nCrawl-delay: 0.05\n".encode()
    stranger.body = INDEX.format(
        "".join(ENTRY.format(f"/more/{k}.xml") for k in range(99))
    ).encode()

    async def session() -> None:
        async with serving(stranger.script) as bad:
            await crawl_sites(tmp_path / "data", {"stranger": bad.url()})

    uvloop.run(session())
    asked = stranger.asked[1:]  # the first was robots.txt
    sitemaps = [path for path, _ in asked if path.endswith(".xml")]
    forbidden = [path for path in sitemaps if path.endswith("7.xml")]
    assert forbidden == []
    assert 40 < len(sitemaps) < MOST_SITEMAPS
    assert len(set(sitemaps)) == len(sitemaps)
    gaps = [later - earlier for (_, earlier), (_, later) in pairwise(asked)]
    assert sum(gaps) / len(gaps) >= 0.045


def test_one_host_is_one_host_whoever_is_named_before_it(tmp_path: Path) -> None:
    """Four hundred pictures, each with a user of its own, were eight hundred requests at once: a
    robots.txt and a pace for each."""
    stranger, victim, honest = Recorder(), Recorder(), Recorder()
    victim.robots = b"User-agent: *\nDisallow: /private\n"

    async def session() -> None:
        async with (
            serving(stranger.script) as bad,
            serving(victim.script) as other,
            serving(honest.script) as good,
        ):
            places = [f"private/{k}" if k % 2 else f"{k}.png" for k in range(40)]
            pictures = [
                f"<img src='http://u{k}:{k}@127.0.0.1:{other.port}/{place}'>"
                for k, place in enumerate(places)
            ]
            stranger.body = f"<!doctype html>{''.join(pictures)}".encode()
            honest.body = b"".join(b"<a href='/%d'>x</a>" % k for k in range(10))
            file = tmp_path / "sites.toml"
            file.write_text(
                f"[site.bad]\nseeds = ['{bad.url()}']\nrequisites = 'page'\ndelay = '50ms'\n"
                f"[site.good]\nseeds = ['{good.url()}']\ndelay = '0s'\n"
            )
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "headgate", "crawl", file, "--quiet", "--out", tmp_path / "x"
            )
            assert await child.wait() == 0

    uvloop.run(session())
    assert victim.paths[0] == "/robots.txt"
    assert sorted(victim.paths[1:]) == sorted(f"/{k}.png" for k in range(0, 40, 2))
    gaps = [later - earlier for (_, earlier), (_, later) in pairwise(victim.asked[1:])]
    assert sum(gaps) / len(gaps) >= 0.045
    assert len(honest.paths) == 13, "robots.txt, sitemap.xml, the first and ten others"


def test_robots_txt_leads_to_no_host_that_is_named_for_another_site(tmp_path: Path) -> None:
    """127.0.0.1 may be private and asked, since the user named it: for the other site."""
    stranger, intranet, secret = Recorder(), Recorder(), Recorder()

    async def session() -> None:
        async with (
            serving(stranger.script, host="127.0.0.2") as bad,
            serving(intranet.script) as own,
            serving(secret.script) as hidden,
        ):
            stranger.moved = hidden.url("/robots.txt").encode()
            stranger.body = f"<a href='{hidden.url('/page')}'>x</a>".encode()
            seeds = {"stranger": bad.url(host="127.0.0.2"), "intranet": own.url()}
            told = await crawl_sites(tmp_path / "data", seeds)
            pages = {site["name"]: site["pages"] for site in told["report"]["sites"]}
            assert pages == {"stranger": 0, "intranet": 1}

    uvloop.run(session())
    assert secret.asked == []
    assert "/robots.txt" in intranet.paths


def test_where_robots_txt_names_no_sitemap_the_usual_place_is_looked_at(tmp_path: Path) -> None:
    plain, named = Recorder(), Recorder()
    plain.body = b"<urlset><url><loc>/listed</loc></url></urlset>"
    named.robots = b"Sitemap: /map.xml\n"

    async def session() -> None:
        async with serving(plain.script) as one, serving(named.script) as other:
            await crawl_sites(tmp_path / "data", {"plain": one.url(), "named": other.url()})

    uvloop.run(session())
    assert sorted(plain.paths) == ["/", "/listed", "/robots.txt", "/sitemap.xml"]
    assert sorted(named.paths) == ["/", "/map.xml", "/robots.txt"]
