"""A run that is under way or was broken off: looked at, exported, and given up."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
from tests.machine import wait_until

from headgate.control.catalog import Outcome
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection
from headgate.storage.run_state import load_report
from headgate.storage.warc.writer import file_safe

from .reckoning import interrupted, reckon, run_leg
from .running import headgate
from .small_web import SmallWeb, serving
from .test_crash import stored

COMMAND = [sys.executable, "-m", "headgate", "crawl"]


@contextmanager
def crawling(web: SmallWeb, out: Path, *words: str, until: int) -> Iterator[subprocess.Popen[str]]:
    """A crawl of which the server has seen so many requests."""
    process = subprocess.Popen(
        [*COMMAND, web.seed, *words, "--out", str(out), "--quiet"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_until(lambda: len(web.served) >= until)
        yield process
    finally:
        process.kill()
        process.communicate()


def listing(out: Path) -> dict[str, int]:
    return {
        str(path.relative_to(out)): path.stat().st_size
        for path in out.rglob("*")
        if path.is_file()
        and not {"warc", "spool"} & set(path.parts)
        and not path.name.startswith("catalog")
    }


def test_a_run_under_way_is_shown_and_exported_and_not_disturbed(tmp_path: Path) -> None:
    with (
        serving(SmallWeb(120, seconds_per_page=0.2, held_after=60)) as web,
        crawling(web, tmp_path, until=60) as process,
    ):
        wait_until(lambda: stored(tmp_path) >= 61)  # robots.txt, no sitemap, 59 pages
        before = listing(tmp_path)
        said = headgate("report", tmp_path)
        rows = list(csv.DictReader(io.StringIO(headgate("export", tmp_path).stdout)))
        links = headgate("export", tmp_path, "--table", "links", "--as", "jsonl")
        as_json = json.loads(headgate("report", tmp_path, "--json").stdout)
        assert listing(tmp_path) == before, "nothing of the crawl's own is touched"
        assert process.poll() is None
        web.seconds_per_page, web.held_after = 0.0, None
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("Under way for ")
    assert as_json["under_way"] is True
    pages = {row["url"] for row in rows if row["role"] == "page"}
    assert pages <= web.urls
    assert 40 <= as_json["pages"] <= len(pages)
    assert 59 <= len(pages) <= len(web.served), "all that was seen before, and robots.txt"
    assert {json.loads(line)["source"] for line in links.stdout.splitlines()} <= web.urls
    assert reckon(tmp_path).pages == 120
    assert not list((tmp_path / "spool").iterdir())


def test_an_unfinished_run_can_be_looked_at_and_given_up(tmp_path: Path) -> None:
    with serving(SmallWeb(200, seconds_per_page=0.05)) as web:
        words = ("crawl", web.seed, "--deadline", "10m", "--out", tmp_path, "--quiet")
        interrupted(signal.SIGKILL, *words, web=web, after_seconds=2.5)
        said = headgate("report", tmp_path)
        assert said.stdout.startswith("Interrupted after ")
        assert "0 of 1 deadline met, 1 still open" in said.stdout
        assert "--resume" in said.stdout
        assert "--abandon" in said.stdout
        exported = headgate("export", tmp_path)
        assert "not finished" in exported.stderr
        blocked = headgate("crawl", web.seed, "--out", tmp_path)
        assert blocked.returncode == 2
        assert "--resume" in blocked.stderr
        assert "--abandon" in blocked.stderr
        given_up = run_leg("crawl", "--abandon", "--out", tmp_path)
        assert given_up.code == 0, given_up.err
        assert given_up.out.startswith("Abandoned after ")
        assert "0 of 1 deadline met" in given_up.out
        assert "still open" not in given_up.out, "what was given up is open no more"
        kept = reckon(tmp_path).pages
        assert kept > 0
        run = next(tmp_path.glob("runs/*"))
        report = json.loads((run / "report.json").read_bytes())
        assert (report["pages"], report["abandoned"]) == (kept, True)
        assert report["sites"][0]["met"] is False
        table = pq.read_table(run / "pages.parquet").to_pylist()
        assert sum(row["role"] == "page" for row in table) == kept
        assert len(list(csv.DictReader(io.StringIO(exported.stdout)))) == len(table)
        with SqliteCatalog(tmp_path / "catalog.sqlite") as catalog:
            assert [run.outcome for run in catalog.runs()] == [Outcome.ABANDONED]
            (visit,) = catalog.history(f"127.0.0.1:{web.port}")
            assert (visit.pages, visit.complete) == (kept, False)
        web.seconds_per_page = 0.0
        assert headgate("crawl", web.seed, "--out", tmp_path, "--quiet").returncode == 0
    assert reckon(tmp_path).pages == 200


def test_a_resumed_run_cuts_the_archives_of_sites_that_it_does_not_go_on_with(
    tmp_path: Path,
) -> None:
    """A kill may leave more in them than was committed."""
    with (
        serving(SmallWeb(5)) as done,
        serving(SmallWeb(50, held_after=20)) as web,
        crawling(web, tmp_path, done.seed, until=20) as process,
    ):
        name = f"127.0.0.1:{done.port}"

        def is_settled() -> bool:
            saved = load_report(Collection(tmp_path).runs()[0])
            return saved is not None and any(s.name == name and s.settled for s in saved.sites)

        wait_until(is_settled)
        process.kill()
        process.wait()
        stem = file_safe(name)
        (archive,) = tmp_path.glob(f"runs/*/warc/{stem}-00001.warc.gz")
        whole = archive.read_bytes()
        archive.write_bytes(whole + b"not committed")
        archive.with_name(f"{stem}-00002.warc.gz").write_bytes(b"not committed")
        web.held_after = None
        assert headgate("crawl", "--resume", "--out", tmp_path, "--quiet").returncode == 0
    assert archive.read_bytes() == whole
    assert len(list(archive.parent.glob(f"{stem}-*"))) == 1
    assert reckon(tmp_path).pages == 55


def test_only_what_is_unfinished_and_not_running_is_given_up(tmp_path: Path) -> None:
    nothing = headgate("crawl", "--abandon", "--out", tmp_path / "none")
    assert nothing.returncode == 2
    assert "no unfinished run" in nothing.stderr
    both = headgate("crawl", "--abandon", "--resume", "--out", tmp_path / "none")
    assert both.returncode == 2
    with (
        serving(SmallWeb(200, seconds_per_page=0.5)) as web,
        crawling(web, tmp_path / "data", until=3) as process,
    ):
        refused = headgate("crawl", "--abandon", "--out", tmp_path / "data")
        assert refused.returncode == 2
        assert "in use" in refused.stderr
        assert process.poll() is None


def test_a_bandwidth_given_with_resume_replaces_one_set_while_it_ran(tmp_path: Path) -> None:
    with serving(SmallWeb(300, page_bytes=10_000)) as web:
        with crawling(web, tmp_path, "--bandwidth", "60KB/s", until=5) as process:
            assert headgate("budget", tmp_path, "50KB/s").returncode == 0
            process.send_signal(signal.SIGINT)
            ended, _ = process.communicate(timeout=60)
        words = ("--resume", "--out", tmp_path, "--bandwidth", "20MB/s", "--quiet", "--json")
        resumed = headgate("crawl", *words)
    assert f"'headgate crawl --resume --out {tmp_path}'" in ended
    report = json.loads(resumed.stdout)
    assert report["budget_changes"][-1][1] == 20e6
    assert report["seconds"] < 30, "at 50 KB/s it would take a minute"


def test_an_unfinished_survey_is_neither_taken_over_nor_in_the_way(tmp_path: Path) -> None:
    with serving(SmallWeb(200, seconds_per_page=0.3)) as web:
        words = ("survey", web.seed, "--out", tmp_path, "--quiet")
        interrupted(signal.SIGINT, *words, web=web, after_seconds=0.5)
        blocked = headgate("crawl", web.seed, "--out", tmp_path)
        assert blocked.returncode == 2
        assert "unfinished survey" in blocked.stderr
        assert "--abandon" in blocked.stderr
        assert headgate("crawl", "--abandon", "--out", tmp_path).returncode == 0
        web.seconds_per_page = 0.0
        assert headgate("crawl", web.seed, "--out", tmp_path, "--quiet").returncode == 0
    assert reckon(tmp_path).pages == 200


def test_a_run_may_be_resumed_by_the_words_that_began_it(tmp_path: Path) -> None:
    with serving(SmallWeb(40, seconds_per_page=0.05, held_after=10)) as web:
        with crawling(web, tmp_path, "--max-queries", "7", until=10):
            pass
        web.held_after = None
        resume = ("--max-queries", "7", "--resume", "--out", tmp_path, "--quiet")
        other = headgate("crawl", "http://127.0.0.1:9/", *resume)
        assert other.returncode == 2
        assert "was asked for other sites" in other.stderr
        assert headgate("crawl", web.seed, *resume).returncode == 0
        assert {f"/{k}.html" for k in range(40)} <= set(web.asked)
