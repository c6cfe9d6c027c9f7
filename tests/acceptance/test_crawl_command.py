"""``headgate crawl`` as a user runs it, against a real server on loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.machine import wait_until
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from headgate.storage.catalog.sqlite import SqliteCatalog

from .running import headgate_here
from .small_web import SmallWeb, serving

COMMAND = [sys.executable, "-m", "headgate"]


def headgate(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr + done.stdout
    return done


def stored_pages(out: Path) -> list[str]:
    """URLs of the newest run's pages, by its table."""
    table = pq.read_table(sorted(out.glob("runs/*/pages.parquet"))[-1])
    rows = zip(*(table[name].to_pylist() for name in ("url", "status", "role")), strict=True)
    return sorted(url for url, status, role in rows if role == "page" and status in (200, 304))


def archived(out: Path) -> list[tuple[str, str]]:
    """(record type, URL) of every record of every WARC file, but of sitemaps looked for in vain."""
    records = []
    for path in sorted(out.glob("runs/*/warc/*.warc.gz")):
        with path.open("rb") as file:
            records += [
                (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"))
                for record in ArchiveIterator(file, check_digests="raise")
            ]
    return [(kind, url) for kind, url in records if not (url or "").endswith("/sitemap.xml")]


def test_every_page_is_crawled_once_and_archived(tmp_path: Path) -> None:
    with serving(SmallWeb(60)) as web:
        done = headgate("crawl", web.seed, "--out", tmp_path / "data")
    assert "60 pages" in done.stdout
    assert set(stored_pages(tmp_path / "data")) == web.urls
    assert all(count == 1 for count in web.asked.values())
    assert "/private/x.html" not in web.asked
    responses = [url for kind, url in archived(tmp_path / "data") if kind == "response"]
    assert set(responses) - {f"http://127.0.0.1:{web.port}/robots.txt"} == web.urls
    assert (next(tmp_path.glob("data/runs/*")) / "report.html").stat().st_size > 1000


def test_python_leaves_the_files_that_the_command_leaves(tmp_path: Path) -> None:
    script = (
        "import sys, headgate\n"
        "site = headgate.Site('small', seeds=(sys.argv[1],))\n"
        "headgate.crawl([site], headgate.Budget(1e6), sys.argv[2])\n"
    )
    with serving(SmallWeb(12)) as web:
        site_file = tmp_path / "sites.toml"
        site_file.write_text(
            f'[budget]\nbandwidth = "1 MB/s"\n[site.small]\nseeds = ["{web.seed}"]'
        )
        headgate("crawl", site_file, "--bandwidth", "1MB/s", "--out", tmp_path / "command")
        words = [sys.executable, "-c", script, web.seed, str(tmp_path / "python")]
        subprocess.run(words, check=True, timeout=60)
    of_command, of_python = (_files_of_the_run(tmp_path / name) for name in ("command", "python"))
    assert of_python == of_command
    assert "report.html" in of_python


def _files_of_the_run(out: Path) -> set[str]:
    (run,) = out.glob("runs/*")
    return {
        str(path.relative_to(run)).replace(run.name, "STAMP")
        for path in run.rglob("*")
        if path.is_file()
    }


def test_two_processes_find_the_same_pages(tmp_path: Path) -> None:
    with serving(SmallWeb(30)) as one, serving(SmallWeb(40)) as two:
        headgate("crawl", one.seed, two.seed, "--processes", 2, "--out", tmp_path)
    assert set(stored_pages(tmp_path)) == one.urls | two.urls


def test_a_second_run_transfers_only_what_changed(tmp_path: Path) -> None:
    with serving(SmallWeb(40, page_bytes=20_000)) as web:
        first = json.loads(headgate("crawl", web.seed, "--out", tmp_path, "--json").stdout)
        second = json.loads(headgate("crawl", web.seed, "--out", tmp_path, "--json").stdout)
    assert first["pages"] == second["pages"] == 40
    assert second["wire_bytes"] < 0.1 * first["wire_bytes"]
    assert set(stored_pages(tmp_path)) == web.urls
    assert sum(kind == "revisit" for kind, _ in archived(tmp_path)) == 40


def test_the_budget_is_held_and_the_report_says_so(tmp_path: Path) -> None:
    with serving(SmallWeb(60, page_bytes=10_000)) as web:
        words = ("crawl", web.seed, "--bandwidth", "150KB/s", "--deadline", "30s", "--json")
        report = json.loads(headgate(*words, "--out", tmp_path).stdout)
    assert report["seconds"] >= 3.5
    assert report["mean_rate"] <= 150e3 * 1.05
    assert report["peak_rate_1s"] <= 150e3 * 1.25
    assert report["sites"][0]["met"] is True


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_broken_off_crawl_goes_on(tmp_path: Path, ending: signal.Signals) -> None:
    out = tmp_path / "data"
    with serving(SmallWeb(120, seconds_per_page=0.05, held_after=70)) as web:
        crawl = subprocess.Popen(
            [*COMMAND, "crawl", web.seed, "--out", str(out), "--quiet"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: len(web.served) >= 70)
        crawl.send_signal(ending)
        assert crawl.wait(timeout=60) == (-signal.SIGKILL if ending is signal.SIGKILL else 130)
        refused = headgate("crawl", web.seed, "--out", out, code=2)
        assert "--resume" in refused.stderr
        web.seconds_per_page, web.held_after = 0.0, None
        headgate("crawl", "--resume", "--out", out, "--quiet")
    assert stored_pages(out) == sorted(web.urls)
    responses = [url for kind, url in archived(out) if kind == "response" and "robots" not in url]
    assert sorted(responses) == sorted(web.urls), "none lost, none twice"
    asked_again = sum(count > 1 for path, count in web.asked.items() if path != "/robots.txt")
    assert asked_again < 70, "what was stored is not fetched again"


def test_the_budget_can_be_changed_while_it_runs(tmp_path: Path) -> None:
    with serving(SmallWeb(400, page_bytes=10_000)) as web:
        crawl = subprocess.Popen(
            [
                *COMMAND,
                "crawl",
                web.seed,
                "--bandwidth",
                "60KB/s",
                "--out",
                str(tmp_path),
                "--json",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: web.asked.total() >= 10)
        headgate("budget", tmp_path, "2MB/s")
        output, _ = crawl.communicate(timeout=60)
    report = json.loads(output)
    assert report["seconds"] < 30, "at 60 KB/s it would take a minute"
    assert [rate for _, rate in report["budget_changes"]][-1] == 2e6


def test_a_site_that_wants_to_stops_at_its_deadline(tmp_path: Path) -> None:
    sites = tmp_path / "sites.toml"
    with serving(SmallWeb(400, page_bytes=10_000)) as web:
        sites.write_text(
            '[budget]\nbandwidth = "200 KB/s"\n[site.web]\n'
            f'seeds = ["{web.seed}"]\ndeadline = "4s"\non_deadline = "stop"\nexpect = "4 MB"\n'
        )
        done = headgate("crawl", sites, "--out", tmp_path / "data", "--json", "--strict", code=3)
    report = json.loads(done.stdout)
    (site,) = report["sites"]
    assert (site["state"], site["reason"], site["met"]) == ("stopped", "deadline", False)
    assert 4 <= report["seconds"] < 15, "all of it would take 20 s"
    assert 0 < site["pages"] < 120


def test_two_crawls_on_one_folder_are_refused(tmp_path: Path) -> None:
    with serving(SmallWeb(200, seconds_per_page=1.0)) as web:
        first = subprocess.Popen(
            [*COMMAND, "crawl", web.seed, "--out", str(tmp_path), "--quiet"],
            stdout=subprocess.DEVNULL,
        )
        wait_until(lambda: web.asked)
        refused = headgate("crawl", web.seed, "--out", tmp_path, code=2)
        first.kill()
        first.wait()
    assert "in use by another crawl" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "say what to crawl"),
        (["ftp://example.org/"], "not a URL of http"),
        (["no-such-file.toml"], "no such file"),
        (["http://127.0.0.1:1/", "--bandwidth", "fast"], "not a rate"),
        (["http://127.0.0.1:1/", "--deadline", "0s"], "longer than 0"),
        (["http://127.0.0.1:1/", "--deadline=-5m"], "not a duration"),
        (["http://127.0.0.1:1/", "--bandwidth", "0"], "more than 0"),
        (["http://127.0.0.1:1/", "--crawlers", "0"], "not a whole number from 1"),
        (["http://127.0.0.1:1/", "--crawlers", "-3"], "not a whole number from 1"),
        (["http://127.0.0.1:1/", "--processes", "none"], "not a whole number from 1"),
        (["http://127.0.0.1:0/"], "port 0"),
        (["http://me:secret@127.0.0.1:1/"], "a URL is no place for a password"),
        (["http://[::1"], "not a URL of http"),
        ([""], "say what to crawl"),
        (["/tmp"], "this is a folder"),
        (["/dev/null"], "the file is empty"),
        (["/dev/null", "http://127.0.0.1:1/"], "one site file, or URLs"),
        (["--resume"], "no unfinished run"),
    ],
)
def test_mistakes_are_one_line_and_code_two(tmp_path: Path, words: list[str], problem: str) -> None:
    done = headgate_here("crawl", *words, "--out", tmp_path / "data")
    assert done.returncode == 2
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_a_bandwidth_there_is_no_limit_and_a_word_about_it(tmp_path: Path) -> None:
    sites = tmp_path / "sites.toml"
    with serving(SmallWeb(3)) as web:
        shouted = web.seed.replace("http://", "HTTP://").replace("/0.html", "/./0.html")
        sites.write_text(f'[site.web]\nseeds = ["{shouted}"]\n')
        for number, what in enumerate((web.seed, sites)):
            done = headgate("crawl", what, "--out", tmp_path / f"data{number}")
            assert "no bandwidth limits this crawl" in done.stderr.splitlines()[0]
            assert set(stored_pages(tmp_path / f"data{number}")) == web.urls
        done = headgate("crawl", sites, "--out", tmp_path / "quick", "--bandwidth", "9MB/s")
        assert "no bandwidth" not in done.stderr


def test_an_unwritable_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = headgate("crawl", "http://127.0.0.1:1/", "--out", tmp_path / "file" / "data", code=2)
    assert len(done.stderr.splitlines()) == 1


def test_a_dead_site_is_reported_not_raised(tmp_path: Path) -> None:
    report = json.loads(
        headgate("crawl", "http://127.0.0.1:1/", "--out", tmp_path, "--json", code=4).stdout
    )
    assert report["pages"] == 0
    (site,) = report["sites"]
    assert site["errors"] == {"refused": 1}
    why = "robots.txt is unavailable: 127.0.0.1: Connection refused"
    assert site["given_up"] == {"127.0.0.1:1": why}
    with SqliteCatalog(tmp_path / "catalog.sqlite") as catalog:
        (visit,) = catalog.history("127.0.0.1:1")
    assert not visit.complete, "a visit that saw nothing says nothing about the site's size"
