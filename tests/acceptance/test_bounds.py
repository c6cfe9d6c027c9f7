"""Bounds of a site: said on the command line or in the file, and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .running import headgate
from .small_web import SmallWeb, serving


def crawled(out: Path, *words: str | Path) -> dict[str, Any]:
    done = headgate("crawl", *words, "--out", out, "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    (site,) = json.loads(done.stdout)["sites"]
    return dict(site)


def test_a_site_ends_with_so_many_pages_and_not_one_more(tmp_path: Path) -> None:
    with serving(SmallWeb(60, seconds_per_page=0.01)) as web:
        site = crawled(tmp_path, web.seed, "--max-pages", "10", "--delay", "0")
    assert (site["state"], site["reason"], site["pages"]) == ("stopped", "max_pages", 10)
    assert sum(web.asked.values()) == 10 + 1  # and robots.txt
    assert site["to_do"] > 0
    done = headgate("report", tmp_path)
    assert "The site is done" in done.stdout
    assert "Ended at a limit: " in done.stdout
    assert "(max_pages, " in done.stdout


def test_a_bound_that_the_site_does_not_reach_changes_nothing(tmp_path: Path) -> None:
    with serving(SmallWeb(12)) as web:
        site = crawled(tmp_path, web.seed, "--max-pages", "12", "--max-bytes", "50MB")
    assert (site["state"], site["reason"], site["pages"]) == ("done", "", 12)


def test_a_site_ends_with_so_many_bytes(tmp_path: Path) -> None:
    with serving(SmallWeb(60, random_bytes=50_000)) as web:
        site = crawled(tmp_path, web.seed, "--max-bytes", "1 MB")
    assert (site["state"], site["reason"]) == ("stopped", "max_bytes")
    assert 800_000 < site["wire_bytes"] < 1_100_000
    assert 0 < site["pages"] < 12


def test_a_site_ends_after_its_own_time(tmp_path: Path) -> None:
    with serving(SmallWeb(500, seconds_per_page=0.05)) as web:
        site = crawled(tmp_path, web.seed, "--max-time", "1s")
    assert (site["state"], site["reason"]) == ("stopped", "max_time")
    assert 0 < site["pages"] < 40
    assert site["finished"] - site["started"] < 10


def test_a_deadline_met_by_a_bound_is_met(tmp_path: Path) -> None:
    with serving(SmallWeb(60)) as web:
        site = crawled(tmp_path, web.seed, "--max-pages", "5", "--deadline", "1m")
    assert site["met"] is True


def test_a_site_stops_at_its_deadline_by_the_command_line(tmp_path: Path) -> None:
    with serving(SmallWeb(500, seconds_per_page=0.05)) as web:
        site = crawled(tmp_path, web.seed, "--deadline", "2s", "--on-deadline", "stop")
    assert (site["state"], site["reason"]) == ("stopped", "deadline")


def test_what_the_file_says_of_a_site_wins(tmp_path: Path) -> None:
    with serving(SmallWeb(60)) as web:
        file = tmp_path / "sites.toml"
        file.write_text(f'[site.a]\nseeds = ["{web.seed}"]\nmax_pages = 7\n', "utf-8")
        site = crawled(tmp_path / "data", file, "--max-pages", "3")
    assert site["pages"] == 7


def test_queries_of_one_path_are_bounded_as_told(tmp_path: Path) -> None:
    class Lists(SmallWeb):
        def body(self, path: str) -> bytes | None:
            if path == "/robots.txt":
                return self.robots
            return "".join(f"<a href='/list?page={k}'>{k}</a>" for k in range(30)).encode()

    with serving(Lists(1)) as web:
        site = crawled(tmp_path, web.seed, "--max-queries", "4")
    assert site["pages"] == 1 + 4


def test_a_bound_that_cannot_be_is_refused_by_its_name(tmp_path: Path) -> None:
    done = headgate("crawl", "http://127.0.0.1:1/", "--out", tmp_path, "--max-bytes", "0")
    assert done.returncode == 2
    assert done.stderr.startswith("headgate: --max-bytes: a limit of 0")
