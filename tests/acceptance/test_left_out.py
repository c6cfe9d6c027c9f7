"""A crawl says what it left out, and why: on the terminal, in JSON, on the page."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.machine import wait_until

from .running import headgate
from .small_web import SmallWeb, serving


class Portal(SmallWeb):
    """A front page; what it links to is told by ``links``, and everything exists."""

    links: tuple[str, ...] = ()

    def body(self, path: str) -> bytes | None:
        if path == "/robots.txt":
            return self.robots
        if path == "/0.html":
            return "".join(f"<a href='{link}'>x</a>" for link in self.links).encode()
        return b"x" * (5000 if path == "/big" else 10)


def crawled(web: SmallWeb, out: Path, *words: str) -> tuple[str, dict[str, Any]]:
    done = headgate("crawl", web.seed, "--out", out, "--quiet", *words)
    assert done.returncode == 0, done.stderr
    (report,) = out.glob("runs/*/report.json")
    (site,) = json.loads(report.read_text("utf-8"))["sites"]
    return done.stdout, site


def test_one_page_and_a_robots_txt_that_forbids_the_rest(tmp_path: Path) -> None:
    web = Portal(1, robots=b"User-agent: *\nDisallow: /\nAllow: /0.html\n")
    web.links = tuple(f"/secret/{k}" for k in range(34))
    with serving(web):
        said, site = crawled(web, tmp_path)
    assert "(robots.txt forbids all 34 links)" in said
    assert site["left_out"]["robots.txt"]["count"] == 34
    assert len(site["left_out"]["robots.txt"]["examples"]) == 3
    assert "Left out: 34 forbidden by robots.txt." in headgate("report", tmp_path).stdout
    (page,) = tmp_path.glob("runs/*/report.html")
    text = page.read_text("utf-8")
    assert "Left out, and why" in text
    example = site["left_out"]["robots.txt"]["examples"][0]
    assert f">{example}<" in text


def test_one_page_whose_links_lead_elsewhere(tmp_path: Path) -> None:
    web = Portal(1)
    web.links = tuple(f"https://docs.example.org/{k}" for k in range(7))
    with serving(web):
        said, _ = crawled(web, tmp_path)
    assert "all 7 links are on other hosts" in said
    assert 'include = ["://docs.example.org/"]' in said


def test_types_sizes_and_marks(tmp_path: Path) -> None:
    web = Portal(1)
    web.links = ("/big", "/small", "/a' rel='nofollow", "/b?x=1&x=1&x=1", "/private/x")
    with serving(web):
        said, site = crawled(web, tmp_path, "--max-page-size", "2KB")
    assert {reason: found["count"] for reason, found in site["left_out"].items()} == {
        "too-large": 1,
        "nofollow": 1,
        "same parameter again": 1,
        "robots.txt": 1,
    }
    assert site["pages"] == 2
    assert site["errors"] == {}
    assert "1 larger than max_page_size" in said


def test_what_is_kept_is_not_what_is_followed(tmp_path: Path) -> None:
    """A second crawl asks for all of it again, since links may have come."""
    web = Portal(1)
    web.links = ("/big", "/small")
    with serving(web):
        for _ in range(2):
            done = headgate("crawl", web.seed, "--out", tmp_path, "--quiet", "--store", "> 1 KB")
            assert done.returncode == 0, done.stderr
            assert "2 fetched for their links, and not in store" in done.stdout
            assert "1 site, 1 page," in done.stdout
    assert web.asked["/0.html"] == web.asked["/big"] == web.asked["/small"] == 2
    kept = headgate("export", tmp_path, "--as", "jsonl", "--to", tmp_path / "kept.jsonl")
    assert kept.returncode == 0, kept.stderr
    rows = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text("utf-8").splitlines()]
    pages = [row for row in rows if row["role"] == "page"]
    assert {row["url"].rpartition("/")[2] for row in pages if row["status"]} == {"big"}
    assert {row["error"] for row in pages if not row["status"]} == {"not-stored"}


def test_what_cannot_say_what_is_kept_is_refused(tmp_path: Path) -> None:
    for words, problem in (("> much", "not a size"), ("(", "not a regular expression")):
        done = headgate("crawl", "http://127.0.0.1:1/", "--out", tmp_path, "--store", words)
        assert done.returncode == 2
        assert problem in done.stderr
        assert done.stderr.count("\n") == 1


def test_nothing_left_out_is_not_mentioned(tmp_path: Path) -> None:
    web = Portal(1)
    web.links = ("/x", "/y")
    with serving(web):
        said, site = crawled(web, tmp_path)
    assert site["left_out"] == {}
    assert "Left out" not in said
    assert "Only one page" not in said


def test_all_legs_and_all_processes_are_told_together(tmp_path: Path) -> None:
    """An interrupted run has refused a hundred links; the leg after it meets none of them."""
    web = Portal(1, held_after=10)
    web.links = tuple(
        [f"https://elsewhere.example.org/{k}" for k in range(100)] + [f"/p{k}" for k in range(60)]
    )
    other = Portal(1)
    other.links = ("https://elsewhere.example.org/",)
    with serving(web), serving(other):
        words = ("crawl", web.seed, other.seed, "--processes", "2", "--out", str(tmp_path))
        crawl = subprocess.Popen([sys.executable, "-m", "headgate", *words, "--quiet"])
        wait_until(lambda: len(web.served) >= 10)
        crawl.send_signal(signal.SIGINT)
        assert crawl.wait(60) == 130
        web.held_after = None
        done = headgate("crawl", "--resume", "--out", tmp_path, "--quiet", "--json")
    sites = {site["name"]: site for site in json.loads(done.stdout)["sites"]}
    counts = [site["left_out"]["other host"]["count"] for site in sites.values()]
    assert sorted(counts) == [1, 100]
