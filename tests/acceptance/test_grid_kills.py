"""A grid whose parts are killed: the short form of `bench/grid_kills.py`."""

from __future__ import annotations

from pathlib import Path

from bench.grid_kills import kill_and_crawl


def test_kills_lose_no_page_and_store_none_twice(tmp_path: Path) -> None:
    done = kill_and_crawl(tmp_path, nodes=5, tasks=60, kills=10, seed=3, lease=3.0, away=4.0)
    assert done.problems == []
    assert sum(done.kills.values()) > 0
    assert done.pages > 60
