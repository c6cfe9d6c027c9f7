"""A crawl that is killed loses nothing: the short form of ``bench/crash.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .small_web import SmallWeb, serving

ROOT = Path(__file__).parents[2]


def test_kills_at_random_moments_lose_nothing() -> None:
    words = [sys.executable, "-m", "bench.crash", "--kills", "6", "--pages", "80"]
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
