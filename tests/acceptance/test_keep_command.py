"""`headgate keep` as users run it: a small web that changes meanwhile, over loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.acceptance.changing_web import ChangingWeb, serving
from tests.acceptance.running import headgate, headgate_here

PAGES = {"/": ["/a", "/b"], "/a": ["/"], "/b": ["/"]}


@pytest.fixture
def web() -> Iterator[ChangingWeb]:
    with serving(ChangingWeb(dict(PAGES))) as running:
        yield running


@pytest.fixture
def site_file(tmp_path: Path, web: ChangingWeb) -> Path:
    path = tmp_path / "sites.toml"
    path.write_text(
        f'[site.wiki]\nseeds = ["{web.url()}"]\nmin_interval = "1s"\nfresh_within = "10s"\n'
    )
    return path


def versions(out: Path, path: str) -> list[dict[str, str]]:
    """Of a page, all that the indexes of the collection list."""
    lines = [
        line.split(" ", 2)
        for index in sorted((out / "runs").glob("*/index.cdxj"))
        for line in index.read_text().splitlines()
    ]
    found = [(stamp, json.loads(fields)) for _, stamp, fields in lines]
    return [fields for _, fields in sorted(found, key=lambda one: one[0]) if
            fields["url"].endswith(path)]  # fmt: skip


@contextmanager
def keeping(site_file: Path, out: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "headgate", "keep", str(site_file), "--out", str(out), *options],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONWARNINGS": "error", "PYTHONUTF8": "1"},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until(what: Callable[[], object], process: subprocess.Popen[str]) -> None:
    for _ in range(600):
        if what():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    raise AssertionError("it never came to it")


def ended(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    return process.returncode


def test_a_page_that_changes_is_archived_in_every_version(
    web: ChangingWeb, site_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "kept"
    with keeping(site_file, out) as process:
        until(lambda: web.asked["/b"] >= 1, process)
        web.links = {**PAGES, "/a": ["/", "/new"], "/new": []}
        until(lambda: web.asked["/new"] >= 1, process)
        looks = web.asked["/b"]
        until(lambda: web.asked["/b"] > looks + 1, process)
        assert headgate("keep", "--status", out, "--json").returncode == 0
        assert "in use" in headgate("keep", site_file, "--out", out).stderr, "one keeper at a time"
        assert ended(process) == 0
    assert len(versions(out, "/a")) == 2, "each version once"
    assert len(versions(out, "/b")) == len(versions(out, "/new")) == 1
    assert web.asked["/robots.txt"] == 1, "it is good for a day"
    status = json.loads(headgate("keep", "--status", out, "--json").stdout)
    assert (status["running"], status["sites"], status["pages"]) == (False, 1, 4)
    assert status["last_day"]["changed"] >= 1
    changes = headgate("changes", out, "--format", "jsonl")
    assert changes.returncode == 0, changes.stderr
    assert headgate("report", out).returncode == 0


def test_once_looks_at_what_is_due_and_ends(
    web: ChangingWeb, site_file: Path, tmp_path: Path
) -> None:
    site_file.write_text(f'[site.wiki]\nseeds = ["{web.url()}"]\n')
    out = tmp_path / "kept"
    done = headgate("keep", site_file, "--out", out, "--once", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pages"] == 3
    web.asked.clear()
    assert headgate("keep", site_file, "--out", out, "--once").returncode == 0
    assert not web.asked, "nothing is due within the hour"
    visited = headgate("keep", "--visit", "wiki", "--out", out)
    assert visited.returncode == 0, visited.stderr
    assert headgate("keep", site_file, "--out", out, "--once").returncode == 0
    assert web.asked["/a"] == web.asked["/b"] == 1


def test_a_changed_file_is_taken_up_and_a_broken_one_is_not(
    web: ChangingWeb, site_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "kept"
    with serving(ChangingWeb(dict(PAGES))) as other, keeping(site_file, out) as process:
        until(lambda: web.asked["/b"] >= 1, process)
        good = site_file.read_text()
        site_file.write_text("[site.wiki\n")
        process.send_signal(signal.SIGHUP)
        looks = web.asked["/b"]
        until(lambda: web.asked["/b"] > looks + 1, process)
        site_file.write_text(f'{good}\n[site.other]\nseeds = ["{other.url()}"]\n')
        until(lambda: other.asked["/b"] >= 1, process)
        site_file.write_text(site_file.read_text().partition("[site.other]")[2].join(
            ["[site.other]", ""]))  # fmt: skip
        time.sleep(4)
        web.asked.clear()
        time.sleep(3)
        assert not web.asked, "a site that was removed is not asked any more"
        assert ended(process) == 0


def test_a_file_is_read_when_its_user_says_so_however_it_looks(
    web: ChangingWeb, site_file: Path, tmp_path: Path
) -> None:
    """A copy that keeps times, of the same length, looks as the file before."""
    with (
        serving(ChangingWeb(dict(PAGES))) as other,
        keeping(site_file, tmp_path / "kept") as process,
    ):
        until(lambda: web.asked["/b"] >= 1, process)
        before = site_file.stat()
        text = site_file.read_text().replace(web.url(), other.url())
        site_file.write_text(text.replace("site.wiki", "site.docs"))
        os.utime(site_file, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = site_file.stat()
        assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
        process.send_signal(signal.SIGHUP)
        until(lambda: other.asked["/b"] >= 1, process)
        assert ended(process) == 0


def test_a_seed_that_is_added_to_a_site_is_asked_for(
    web: ChangingWeb, site_file: Path, tmp_path: Path
) -> None:
    """Here or on another host; what is known of the site leads to neither."""
    web.links = {**PAGES, "/island": []}
    with (
        serving(ChangingWeb(dict(PAGES))) as other,
        keeping(site_file, tmp_path / "kept") as process,
    ):
        until(lambda: web.asked["/b"] >= 1, process)
        seeds = f'"{web.url()}", "{web.url("/island")}", "{other.url("/a")}"'
        site_file.write_text(site_file.read_text().replace(f'"{web.url()}"', seeds))
        until(lambda: web.asked["/island"] and other.asked["/b"], process)
        assert ended(process) == 0


def test_what_a_crawl_made_is_gone_on_with_and_wishes_are_obeyed(
    web: ChangingWeb, site_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "kept"
    site_file.write_text(f'[site.wiki]\nseeds = ["{web.url()}"]\n')
    crawled = headgate("crawl", site_file, "--out", out, "--bandwidth", "1MB/s")
    assert crawled.returncode == 0, crawled.stderr
    web.asked.clear()
    once = ("keep", site_file, "--out", out, "--once", "--json")
    done = headgate(*once)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pages"] == 3
    assert not web.asked, "nothing is due within the hour"
    assert headgate("keep", "--pause", "wiki", "2d", "--out", out).returncode == 0
    assert headgate(*once).returncode == 0
    rebuilt = headgate("keep", "--rebuild", "wiki", "--out", out)
    assert rebuilt.returncode == 0
    assert "was made again from its runs: 3 pages" in rebuilt.stdout
    assert headgate("keep", "--visit", "wiki", "--out", out).returncode == 0
    web.links = {**PAGES, "/a": ["/", "/b", "/new"], "/new": []}
    assert headgate(*once).returncode == 0
    assert web.asked["/new"] == 1, "a user's word ends the waiting"
    assert len(versions(out, "/a")) == 2, "of the crawl, and of the keeper"


def test_a_site_can_be_paused_during_its_first_visit(
    web: ChangingWeb, site_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "kept"
    site_file.write_text(site_file.read_text() + 'delay = "2m"\n')
    with keeping(site_file, out) as process:
        until(lambda: web.asked["/"], process)
        pause = ("keep", "--pause", "wiki", "2d", "--out", out)
        until(lambda: headgate(*pause).returncode == 0, process)
        until(lambda: json.loads((out / "keep.json").read_text())["paused"], process)
        assert headgate("keep", "--pause", "nobody", "2d", "--out", out).returncode == 2
        assert ended(process) == 0
    assert not web.asked["/b"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say what to keep"),
        (("--status", "nowhere"), "nothing is kept there"),
        (("--visit", "wiki", "--out", "nowhere"), "nothing is kept there"),
        (("sites.toml", "--status"), "say one thing"),
        (("sites.toml", "--bandwidth", "0"), "must be more than 0"),
        (("--pause", "wiki", "99999999d"), "at most 3650 days"),
    ],
)
def test_mistakes_are_told_in_a_line(arguments: tuple[str, ...], words: str) -> None:
    done = headgate_here("keep", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
