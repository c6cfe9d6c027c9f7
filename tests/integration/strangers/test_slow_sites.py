"""Hundreds of slow sites at once: a small form of ``bench.slow_sites``, which has thousands."""

from __future__ import annotations

from pathlib import Path

import uvloop
from bench.slow_sites import HEARD_SECONDS, crawl
from tests.machine import Machine

SITES = 300
MOST_BYTES_PER_SITE = 180_000
"""What it was once; the bench has the present figure."""


def test_ctrl_c_is_heard_while_hundreds_answer_slowly(tmp_path: Path, machine: Machine) -> None:
    (tmp_path / "one").mkdir()
    one = uvloop.run(crawl(1, 0.1, 0.0, tmp_path / "one"))
    (tmp_path / "many").mkdir()
    many = uvloop.run(crawl(SITES, 2.0, 1.0, tmp_path / "many"))
    assert many.exit_code == 130
    assert many.asked == SITES
    heard = (many.interrupted, many.interrupted + many.deaf_seconds)
    assert machine.own_seconds(*heard) <= HEARD_SECONDS
    assert many.peak_bytes < one.peak_bytes + SITES * MOST_BYTES_PER_SITE
