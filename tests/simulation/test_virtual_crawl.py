"""A whole crawl in virtual time, with a timetable and a quota: the same to the byte."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from bench.virtual_crawl import AFTERNOON, TABLE, ZONE, crawl_virtually

from headgate.model.budget import Quota
from headgate.testing.simulated_web import Line

SEED, SITES, QUOTA = 1, 5, "8 MB/day"
LATE = AFTERNOON + 9.7 * 3600
"""Eighteen minutes before midnight."""


def by_day(line: Line) -> Counter[int]:
    days: Counter[int] = Counter()
    for at, amount in line.arrivals:
        days[int((LATE + at) // 86400 - LATE // 86400)] += amount
    return days


def test_a_timetable_and_a_quota_are_kept_and_all_is_the_same_again(tmp_path: Path) -> None:
    """The second time in a process of its own, where hashes are others."""
    crawled = crawl_virtually(tmp_path / "first", SEED, SITES, QUOTA, LATE)
    report, most = crawled.report, Quota.parse(QUOTA, ZONE).bytes
    assert all(site.state == "done" for site in report.sites)
    assert report.wire_bytes == crawled.line.wire_bytes
    days = by_day(crawled.line)
    assert 0.95 * most < days[0] <= most
    assert days[1] > 0
    rate = max(float(entry.split()[1]) * 1e3 for entry in TABLE)
    seconds = Counter[int]()
    for at, amount in crawled.line.arrivals:
        seconds[int(at)] += amount
    burst, last_piece = 0.03 * rate, 3 * 1514
    assert max(seconds.values()) <= rate + burst + last_piece

    code = (
        "import sys; from pathlib import Path; from bench.virtual_crawl import crawl_virtually;"
        f"done = crawl_virtually(Path(sys.argv[1]), {SEED}, {SITES}, {QUOTA!r}, {LATE});"
        "sys.stdout.buffer.write(done.saved)"
    )
    again = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "second")],
        env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, check=True,
    )  # fmt: skip
    assert again.stdout == crawled.saved
