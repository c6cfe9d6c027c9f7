"""How fast one server is asked: by its own answers, or by the user's word."""

from __future__ import annotations

from pathlib import Path

from .running import headgate
from .small_web import SmallWeb, serving

_SECONDS = 0.1
_PAGES = 21


def _crawled(out: Path, *options: str) -> SmallWeb:
    with serving(SmallWeb(_PAGES, seconds_per_page=_SECONDS)) as web:
        done = headgate("crawl", web.seed, "--out", out, "--quiet", *options)
    assert done.returncode == 0, done.stderr
    assert len(web.asked) == _PAGES + 1
    return web


def _mean_gap(web: SmallWeb) -> float:
    pages = web.asked_at[1:]  # the first was robots.txt
    return (pages[-1] - pages[0]) / (len(pages) - 1)


def test_by_default_a_server_answers_one_request_at_a_time(tmp_path: Path) -> None:
    web = _crawled(tmp_path)
    assert _mean_gap(web) >= 0.9 * _SECONDS
    assert web.most_at_once <= 2


def test_a_server_of_ones_own_answers_several(tmp_path: Path) -> None:
    assert _crawled(tmp_path / "a", "--delay", "0").most_at_once >= 4
    few = _crawled(tmp_path / "b", "--connections", "3").most_at_once
    assert 2 <= few <= 3


def test_a_delay_is_kept_from_start_to_start(tmp_path: Path) -> None:
    file = tmp_path / "sites.toml"
    with serving(SmallWeb(6)) as web:
        file.write_text(f'[site.a]\nseeds = ["{web.seed}"]\ndelay = "300ms"\n', "utf-8")
        headgate("crawl", file, "--out", tmp_path / "data", "--quiet", "--delay", "0")
    assert len(web.asked) == 7
    assert _mean_gap(web) >= 0.29


def test_a_plan_tells_of_a_deadline_that_a_polite_pace_may_not_keep(tmp_path: Path) -> None:
    site = '[budget]\nbandwidth = "2 MB/s"\n[site.a]\nseeds = ["https://example.org/"]\n'
    told = 'expect = "60 MB"\ndeadline = "1m"\n'
    file = tmp_path / "sites.toml"
    file.write_text(site + told, "utf-8")
    assert "50 pages a second" in headgate("plan", file).stderr
    file.write_text(site + told + "delay = 0\n", "utf-8")
    assert headgate("plan", file).stderr == ""
