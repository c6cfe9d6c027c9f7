"""``headgate crawl`` with a focus, as a user runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from tests.acceptance.running import headgate, headgate_here
from tests.acceptance.small_web import SmallWeb, serving

from headgate.model.run_report import FocusReport, RunReport

PAGES = 127


class TopicWeb(SmallWeb):
    """The branch under page 6 is about food safety; only the anchor that leads into it says so."""

    def body(self, path: str) -> bytes | None:
        body = super().body(path)
        if body is None or path == "/robots.txt":
            return body
        page = int(path.removeprefix("/").removesuffix(".html"))
        words = b"food safety and safe foods, " if is_about(page) else b"minutes of a meeting, "
        return body.replace(b">6</a>", b">Food safety</a>").rstrip(b".") + b"<p>" + 5 * words


def is_about(page: int) -> bool:
    while page > 6:
        page = (page - 1) // 2
    return page == 6


ABOUT = {page for page in range(PAGES) if is_about(page)}


def crawled(web: SmallWeb, out: Path, *options: str) -> tuple[list[int], RunReport]:
    """Pages in the order they were asked for, and the report."""
    web.asked.clear()
    done = headgate("crawl", web.seed, "--out", out, "--quiet", "--json", *options)
    assert done.returncode == 0, done.stderr
    report = msgspec.json.decode(done.stdout.encode(), type=RunReport)
    asked = [path.removeprefix("/").removesuffix(".html") for path in web.asked]
    return [int(name) for name in asked if name.isdigit()], report


def focus_of(report: RunReport) -> FocusReport:
    focus = report.sites[0].focus
    assert focus is not None
    return focus


def test_the_promising_come_first_and_the_report_tells(tmp_path: Path) -> None:
    with serving(TopicWeb(PAGES)) as web:
        order, report = crawled(web, tmp_path / "a", "--focus", "food safety")
        assert sorted(order) == list(range(PAGES))
        last = max(order.index(page) for page in ABOUT)
        assert last < PAGES // 2
        focus = focus_of(report)
        assert (focus.order, focus.focus) == ("topic", "food safety")
        assert (focus.pages, focus.relevant) == (PAGES, len(ABOUT))
        assert focus.curve[-1] == (PAGES, len(ABOUT))
        (table,) = (tmp_path / "a").glob("runs/*/pages.parquet")
        rows = pq.read_table(table, columns=["url", "role", "relevance"]).to_pylist()
        relevant = {row["url"] for row in rows if (row["relevance"] or 0) >= 0.5}
        assert len(relevant) == len(ABOUT)
        words = headgate("report", tmp_path / "a").stdout
        assert f"Focus: {report.sites[0].name} {len(ABOUT)} of {PAGES} pages relevant" in words

        order, report = crawled(
            web, tmp_path / "b", "--focus", "food safety", "--order", "breadth-first"
        )
        assert max(order.index(page) for page in ABOUT) > last
        assert focus_of(report).relevant == len(ABOUT)


def test_a_scorer_of_ones_own_and_one_that_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "def deep(link, page):\n"
        "    name = link.url.rpartition('/')[2].removesuffix('.html')\n"
        "    return int(name) / 127 if name.isdigit() else 0.0\n"
        "def bad(link, page):\n"
        "    raise RuntimeError('out of order')\n"
    )
    monkeypatch.chdir(tmp_path)
    with serving(SmallWeb(PAGES)) as web:
        order, report = crawled(web, tmp_path / "a", "--order", "mine:deep")
        assert sorted(order) == list(range(PAGES))
        first_leaf = next(place for place, page in enumerate(order) if page >= PAGES // 2)
        assert first_leaf < 30
        assert focus_of(report).trouble == ""
        order, report = crawled(web, tmp_path / "b", "--order", "mine:bad")
        assert sorted(order) == list(range(PAGES))
        focus = focus_of(report)
        assert focus.faults >= PAGES - 1
        assert focus.trouble == "could not score every link: RuntimeError: out of order"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--order", "toppic"], "'toppic' is no order and no installed scorer"),
        (["--order", "topic"], 'the order "topic" needs --focus or --focus-pages'),
        (["--order", "a b"], "'a b' is not an order"),
        (["--focus", "..."], "'...' has no word in it"),
        (["--focus", "the"], "there is no word in its focus to go by"),
        (["--focus-pages", "/nowhere.html"], "cannot read the example page /nowhere.html"),
        (["--focus-pages", sys.executable], "is neither HTML nor text"),
        (["--contact", "a\r\nb: c"], "cannot stand in a header"),
    ],
)
def test_mistakes_are_told_before_anything_is_fetched(
    tmp_path: Path, options: list[str], problem: str
) -> None:
    done = headgate_here("crawl", "http://127.0.0.1:9/", "--out", tmp_path / "out", *options)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_site_file_has_a_focus_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "like.html").write_text("<p>safe food, food safety rules; foods kept safe")
    with serving(TopicWeb(PAGES)) as web:
        file = tmp_path / "sites.toml"
        seeds = json.dumps([web.seed])
        file.write_text(
            f'[budget]\nbandwidth = "unlimited"\n[site.a]\nseeds = {seeds}\n'
            f'focus_pages = ["like.html"]\n[site.b]\nseeds = {seeds}\norder = "links-in"\n'
        )
        done = headgate("crawl", file, "--out", tmp_path / "out", "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    by_name = {site["name"]: site for site in json.loads(done.stdout)["sites"]}
    assert by_name["a"]["focus"]["relevant"] == len(ABOUT)
    assert by_name["b"]["focus"]["order"] == "links-in"
    assert by_name["b"]["pages"] == PAGES
