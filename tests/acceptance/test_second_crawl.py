"""Nothing is lost between runs: what a second crawl into the same folder must do."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headgate.storage.collection import Collection
from headgate.storage.memory.site import SiteMemory

from .changing_web import ChangingWeb, serving
from .reckoning import interrupted
from .running import headgate
from .small_web import SmallWeb
from .small_web import serving as serving_small

TREE = {
    "/": ["/a", "/b"],
    "/a": ["/a/1", "/a/2"],
    "/b": ["/b/1", "/"],
    "/a/1": ["/a/1/x"],
    "/a/2": [],
    "/b/1": ["/a/1/x", "/a"],
    "/a/1/x": [],
}


def crawl(out: Path, web: ChangingWeb, *lines: str) -> Any:
    """The report of a crawl of the site, with these lines in its site file."""
    file = out.with_suffix(".toml")
    site = [f'[site.site]\nseeds = ["{web.url()}"]', *lines]
    file.write_text("\n".join(site), encoding="utf-8")
    web.asked.clear()
    done = headgate("crawl", file, "--out", out, "--json", "--quiet")
    assert done.returncode in (0, 3), done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def newest(out: Path, table: str) -> list[dict[str, Any]]:
    run = Collection(out).runs()[0]
    return list(pq.read_table(run.path / f"{table}.parquet").to_pylist())


def answered(out: Path, web: ChangingWeb) -> set[str]:
    """Paths of the pages that the newest run has with 200 or 304."""
    rows = [row for row in newest(out, "pages") if row["role"] == "page"]
    return {row["url"].removeprefix(web.url("")) for row in rows if row["status"] in (200, 304)}


@pytest.mark.parametrize("validators", [True, False])
def test_what_a_deadline_left_to_do_comes_with_the_next_crawl(
    tmp_path: Path, validators: bool
) -> None:
    """Also from a server that cannot say "not modified", where asking again is as dear as asking
    for what is new: what is new goes first."""
    wide = {"/": [f"/{k}" for k in range(30)]}
    wide |= {f"/{k}": [f"/{k}/{m}" for m in range(6)] for k in range(30)}
    wide |= {f"/{k}/{m}": [] for k in range(30) for m in range(6)}
    stop = ('deadline = "2s"', 'on_deadline = "stop"')
    out = tmp_path / "data"
    with serving(ChangingWeb(wide, validators=validators, seconds_per_page=0.1)) as web:
        crawl(out, web, *stop)
        first = set(web.asked)
        assert 10 < len(first) < 180
        crawl(out, web, *stop)
        new = set(web.asked) - first
        assert len(new) > 0.5 * len(first), "the second did as much as the first, of the rest"
        web.seconds_per_page = 0.0
        assert crawl(out, web)["pages"] == len(wide)


def test_pages_that_failed_once_are_asked_for_again(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with serving(ChangingWeb(TREE, {"/a": 500})) as web:
        crawl(out, web)
        assert answered(out, web) == {"/", "/b", "/b/1", "/a/1/x"}
        web.answers = {}
        crawl(out, web)
        assert answered(out, web) == set(TREE)
        web.answers = {"/": 500, "/b": 500}
        crawl(out, web)
        assert answered(out, web) == set(TREE) - {"/", "/b"}, "nothing leads to them today"
        web.answers = {}
        crawl(out, web)
        assert answered(out, web) == set(TREE)


def test_wider_bounds_find_what_they_let_in(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with serving(ChangingWeb(TREE)) as web:
        crawl(out, web, "depth = 1", "include = ['/a']")
        assert answered(out, web) == {"/", "/a"}
        crawl(out, web, "depth = 2", "include = ['/a']")
        assert answered(out, web) == {"/", "/a", "/a/1", "/a/2"}
        crawl(out, web, "depth = 2")
        assert answered(out, web) == set(TREE) - {"/a/1/x"}
        crawl(out, web, "exclude = ['/a/1']")
        assert answered(out, web) == {"/", "/a", "/b", "/a/2", "/b/1"}
        assert not [path for path in web.asked if path.startswith("/a/1")]
        crawl(out, web)
        assert answered(out, web) == set(TREE)


def test_a_page_that_was_missing_is_found_when_it_is_there(tmp_path: Path) -> None:
    out = tmp_path / "data"
    later = {path: links for path, links in TREE.items() if path != "/a/2"}
    with serving(ChangingWeb(later)) as web:
        crawl(out, web)
        assert answered(out, web) == set(later)
        web.links = TREE
        crawl(out, web)
        assert answered(out, web) == set(TREE)


def test_a_page_nothing_leads_to_is_kept_until_it_is_missing_twice(tmp_path: Path) -> None:
    out = tmp_path / "data"
    alone = TREE | {"/a": ["/a/1"]}
    with serving(ChangingWeb(TREE)) as web:
        crawl(out, web)
        web.links = alone
        crawl(out, web)
        assert web.asked["/a/2"] == 1
        assert answered(out, web) == set(TREE)
        web.links = {path: links for path, links in alone.items() if path != "/a/2"}
        for times in (1, 1, 0):
            crawl(out, web)
            assert web.asked["/a/2"] == times


def test_an_unchanged_page_has_its_links_and_its_title(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with serving(ChangingWeb(TREE)) as web:
        first = crawl(out, web)
        links = newest(out, "links")
        titles = {row["url"]: row["title"] for row in newest(out, "pages")}
        second = crawl(out, web)
        assert len(links) == 9
        assert sorted(map(repr, newest(out, "links"))) == sorted(map(repr, links))
        assert {row["url"]: row["title"] for row in newest(out, "pages")} == titles
    statuses = [row["status"] for row in newest(out, "pages") if row["role"] == "page"]
    assert statuses == [304] * len(TREE)
    assert first["pages"] == second["pages"] == len(TREE)


@pytest.mark.parametrize("validators", [True, False])
@pytest.mark.parametrize("processes", [1, 2])
def test_the_summary_says_how_many_pages_are_unchanged(
    tmp_path: Path, validators: bool, processes: int
) -> None:
    """Whether the server says so, or sends the same once more."""
    out, words = tmp_path / "data", ("--quiet", "--processes", str(processes))
    with serving(ChangingWeb(TREE, validators=validators)) as web:
        first = headgate("crawl", web.url(), "--out", out, *words)
        assert "1 site, 7 pages, " in first.stdout
        assert "unchanged" not in first.stdout
        web.links = TREE | {"/a/2": ["/a/1", "/a/3"], "/a/3": []}
        second = headgate("crawl", web.url(), "--out", out, *words)
        assert "1 site, 8 pages, 6 of them unchanged, " in second.stdout
        report = json.loads(headgate("report", out, "--json").stdout)
        assert (report["unchanged"], report["sites"][0]["unchanged"]) == (6, 6)
        page = Collection(out).runs()[0].path / "report.html"
        assert "8 pages, 6 of them unchanged" in page.read_text(encoding="utf-8")
        third = headgate("crawl", web.url(), "--out", out, *words)
        assert "1 site, 8 pages, all of them unchanged, " in third.stdout


def test_unchanged_pages_are_counted_over_an_interruption(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with serving_small(SmallWeb(60)) as web:
        words = ("crawl", web.seed, "--out", out, "--quiet")
        assert headgate(*words).returncode == 0
        web.seconds_per_page = 0.1
        interrupted(signal.SIGKILL, *words, web=web, after_seconds=2.0)
        so_far = json.loads(headgate("report", out, "--json").stdout)
        assert 0 < so_far["unchanged"] == so_far["pages"] < 60
        web.seconds_per_page = 0.0
        resumed = headgate("crawl", "--resume", "--out", out, "--quiet")
    assert "1 site, 60 pages, all of them unchanged, " in resumed.stdout


def test_an_archive_that_was_moved_away_is_fetched_anew(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with serving(ChangingWeb(TREE)) as web:
        crawl(out, web)
        shutil.rmtree(Collection(out).runs()[0].path)
        crawl(out, web)
        rows = [row for row in newest(out, "pages") if row["role"] == "page"]
        assert {row["status"] for row in rows} == {200}
        assert not [row for row in rows if row["original_url"]], "nothing refers to what is gone"
        file = next(Collection(out).runs()[0].warc.iterdir())
        file.write_bytes(b"\0" * file.stat().st_size)
        crawl(out, web)
        assert answered(out, web) == set(TREE)
        assert set(web.asked.values()) == {2, 1}, "asked on condition, then for the whole"
        rows = [row for row in newest(out, "pages") if row["role"] == "page"]
        assert not [row for row in rows if row["original_url"]]


@pytest.mark.parametrize("damage", ["lost", "flipped"])
def test_a_memory_that_is_damaged_is_made_again_with_a_word(tmp_path: Path, damage: str) -> None:
    out = tmp_path / "data"
    with serving(ChangingWeb(TREE)) as web:
        crawl(out, web)
        web.links = TREE | {"/a": ["/a/1"]}
        crawl(out, web)
        memory = Collection(out).memory("site")
        data = memory.read_bytes()
        spoil(memory, damage)
        file = out.with_suffix(".toml")
        done = headgate("crawl", file, "--out", out, "--quiet")
        assert done.returncode == 0, done.stderr
        said = [line for line in done.stderr.splitlines() if "known of site" in line]
        assert len(said) == 1, done.stderr
        assert "7 pages" in said[0]
        assert web.asked["/a/2"] == 2, "nothing leads to it but what was known"
        assert abs(len(memory.read_bytes()) - len(data)) < 200
    with SiteMemory.checked(memory, "site") as known:
        assert {page.looks for page in known} == {3}


def spoil(memory: Path, how: str) -> None:
    data = bytearray(memory.read_bytes())
    if how == "lost":
        memory.unlink()
        return
    if how == "cut":
        data = data[:-7]
    elif how == "flipped":
        data[len(data) // 2] ^= 4
    elif how == "empty":
        data = bytearray()
    else:
        data = bytearray(b"something else\n" * 99)
    memory.write_bytes(data)


OPENING = """
import sys, time
from datetime import UTC, datetime
from pathlib import Path

from headgate.engine.forecasts import forecast_sites
from headgate.engine.session import mend_crawl_memories
from headgate.engine.runs import JobKind, open_run
from headgate.model.budget import Budget
from headgate.model.site import Site
from headgate.storage.collection import Collection
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.catalog.sqlite import SqliteCatalog

began, now = time.process_time(), datetime.now(UTC)
collection, sites = Collection(Path(sys.argv[1])), [Site("site", ("http://127.0.0.1/",))]
with collection.lock(), SqliteCatalog(collection.catalog) as catalog:
    run = open_run(collection, JobKind.CRAWL, b"{}", now, resume=False)
    mend_crawl_memories(collection, run, catalog, sites)
    forecast_sites(sites, Budget(1e6), catalog, collection, now)
    known = KnownPages(collection, "site")
    print(time.process_time() - began, sum(len(urls) for _, urls in known.pages()))
"""
"""All that a crawl does before its first byte, in seconds of CPU; and the pages it knows."""


def with_few_files(*words: str | Path) -> subprocess.CompletedProcess[bytes]:
    """No more than 64 may be open at once, those of Python itself included."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True, check=False, timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_two_thousand_runs_are_no_burden(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with serving(ChangingWeb(TREE)) as web:
        crawl(out, web)
        (run,) = Collection(out).runs()
        with closing(sqlite3.connect(out / "catalog.sqlite")) as catalog, catalog:
            tables = ("runs", "visits")
            rows = {table: catalog.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
            for day in range(2000):
                stamp = f"2025-01-{day % 28 + 1:02d}T00-00-00-{day + 2}"
                copy = run.path.parent / stamp
                copy.mkdir()
                for file in filter(Path.is_file, run.path.iterdir()):
                    (copy / file.name).hardlink_to(file)
                for table, found in rows.items():
                    (row,) = found
                    again = [stamp if value == run.stamp else value for value in row]
                    marks = ", ".join("?" * len(again))
                    catalog.execute(f"INSERT INTO {table} VALUES ({marks})", again)
        words = ("-m", "headgate", "crawl", "--out", out, "--json", "--quiet")
        done = with_few_files(*words, out.with_suffix(".toml"))
        assert json.loads(done.stdout)["pages"] == len(TREE)
        seconds, pages = with_few_files("-c", OPENING, out).stdout.split()
    assert int(pages) == len(TREE)
    assert float(seconds) < 1.0
