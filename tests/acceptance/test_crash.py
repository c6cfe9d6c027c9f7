"""A crawl that is killed loses nothing: the short form of ``bench/crash.py``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.machine import wait_until

from headgate.storage.journals.journal import read_pages

from .small_web import SmallWeb, serving

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", [[], ["--kind", "many sites"]])
def test_kills_at_random_moments_lose_nothing(kind: list[str]) -> None:
    words = [sys.executable, "-m", "bench.crash", "--kills", "6", "--pages", "80", *kind]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 kills" in done.stdout
    assert not done.stderr, "processes that lose their parent end quietly"


def test_a_run_killed_at_its_birth_is_in_nobodys_way(tmp_path: Path) -> None:
    """Its folders are there, but not yet what it was asked for: there is nothing to resume."""
    stamp = "2026-01-01T00-00-00"
    (tmp_path / "runs" / stamp / "warc").mkdir(parents=True)
    (tmp_path / "spool" / stamp).mkdir(parents=True)
    with serving(SmallWeb(5)) as web:
        words = [sys.executable, "-m", "headgate", "crawl", web.seed, "--out", str(tmp_path)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "5 pages" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only there, processes can be tied together")
def test_no_process_outlives_its_crawl(tmp_path: Path) -> None:
    """One that did could write to the journal that the resumed crawl writes to."""
    command = [sys.executable, "-m", "headgate", "crawl", "--out", str(tmp_path), "--quiet"]
    with serving(SmallWeb(400, seconds_per_page=0.02, held_after=200)) as web:
        other = web.seed.replace("127.0.0.1", "localhost")  # a process has a site to itself
        first = subprocess.Popen([*command, "--processes", "2", web.seed, other])
        wait_until(lambda: len(begun(tmp_path)) == 2)
        children = crawling_children(first.pid)
        for child in children:
            os.kill(int(child), signal.SIGSTOP)
        first.kill()
        first.wait()
        alive = [child for child in children if runs(child)]
        for child in alive:
            os.kill(int(child), signal.SIGKILL)
    assert len(children) == 2, "both were crawling"
    assert not alive


@pytest.mark.skipif(sys.platform != "linux", reason="its children are found in /proc")
def test_a_process_that_is_killed_costs_its_sites_a_restart_and_not_the_crawl(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "headgate", "crawl", "--out", str(tmp_path)]
    with serving(SmallWeb(150, seconds_per_page=0.02, held_after=100)) as web:
        other = web.seed.replace("127.0.0.1", "localhost")  # a process has a site to itself
        crawl = subprocess.Popen(
            [*command, "--processes", "2", web.seed, other],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        wait_until(lambda: stored(tmp_path) >= 20)
        killed = crawling_children(crawl.pid)[0]
        os.kill(int(killed), signal.SIGKILL)
        web.held_after = None
        out, errors = crawl.communicate(timeout=100)
    assert crawl.returncode == 0, errors
    assert "300 pages" in out
    assert "Process died, site went on from what was stored: " in out
    (table,) = tmp_path.glob("runs/*/pages.parquet")
    rows = pq.read_table(table).to_pylist()
    pages = [row["url"] for row in rows if row["role"] == "page"]
    assert len(pages) == len(set(pages)) == 300, "none is lost, and none is there twice"
    (saved,) = tmp_path.glob("runs/*/report.json")
    sites = json.loads(saved.read_text())["sites"]
    assert sorted(site["restarts"] for site in sites) == [0, 1]
    assert all(site["state"] == "done" for site in sites)


def begun(out: Path) -> list[Path]:
    """Journals of sites that have stored something."""
    return [path for path in out.glob("spool/*/*.journal") if any(read_pages(path))]


def stored(out: Path) -> int:
    """Pages that the journals hold."""
    return sum(len(rows) for path in out.glob("spool/*/*.journal") for rows in read_pages(path))


def crawling_children(pid: int) -> list[str]:
    """Without those that make plans and tables."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    kind = b"headgate.engine.crawling_process"
    return [c for c in children if kind in Path(f"/proc/{c}/cmdline").read_bytes()]


def runs(pid: str) -> bool:
    """Whether a process is there and will ever do anything again; waits a little for its end."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state in "XZ":
            return False
        time.sleep(0.05)
    return True
