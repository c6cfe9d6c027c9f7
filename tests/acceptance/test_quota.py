"""A crawl under a byte quota: pauses, says until when, and remembers what was used, also killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from headgate.storage.catalog.sqlite import SqliteCatalog

from .running import headgate
from .small_web import SmallWeb, serving

QUOTA = 300_000


def until_paused(*words: str | Path) -> str:
    """Run a crawl until it says that it pauses, and kill it; what it said."""
    command = [sys.executable, "-m", "headgate", "crawl", *map(str, words), "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = next((line for line in process.stderr if "used up" in line), "")
        process.kill()
    return said


def test_a_pause_is_shown_as_one(tmp_path: Path) -> None:
    """It was "194 of 0 B/s; ends in 2d 22h"."""
    command = [sys.executable, "-m", "headgate", "crawl", "--quota", "300 KB/month"]
    with serving(SmallWeb(60, page_bytes=12_000, random_bytes=5_500)) as web:
        words = [*command, web.seed, "--bandwidth", "1MB/s", "--out", str(tmp_path)]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            until = next(line for line in process.stderr if "used up; going on at" in line)
            shown = next(line for line in process.stderr if "ended, " in line)
            process.kill()
    day = until.partition("going on at ")[2][5:16]
    assert f"paused until {day}: the quota is used up" in shown
    assert "ends in" not in shown
    assert "of 0 B/s" not in shown


def used(out: Path) -> int:
    with SqliteCatalog(out / "catalog.sqlite") as catalog:
        return sum(catalog.line_use(0).values())


def test_a_quota_pauses_the_crawl_and_outlives_a_kill(tmp_path: Path) -> None:
    with serving(SmallWeb(60, page_bytes=12_000, random_bytes=5_500)) as web:
        said = until_paused(web.seed, "--quota", "300 KB/month", "--out", tmp_path)
        assert "the quota of 300 KB per month is used up; going on at" in said
        assert "-01 00:00 UTC" in said
        first = used(tmp_path)
        assert 0.8 * QUOTA < first <= QUOTA
        fetched = len(web.asked)
        said = until_paused("--resume", "--out", tmp_path)
        assert "used up" in said, "what was used before the kill is not forgotten"
        assert used(tmp_path) <= QUOTA
        assert len(web.asked) <= fetched + 6, "pages under way, no more"
        done = headgate("crawl", "--resume", "--quota", "1 GB/month", "--out", tmp_path, "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["pages"] == 60
        assert report["quota"]["used"] > QUOTA
        assert report["quota"]["left"] == 1e9 - report["quota"]["used"]
