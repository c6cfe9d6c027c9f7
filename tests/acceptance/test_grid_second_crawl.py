"""A second crawl by nodes transfers what changed, and leaves what one on one machine would."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
from tests.acceptance.changing_web import ChangingWeb, serving
from tests.acceptance.grid_on_loopback import grid_on_loopback
from tests.acceptance.running import headgate

PAGES = {"/": ["/a", "/b", "/c"], "/a": ["/", "/d"], "/b": ["/a"], "/c": [], "/d": ["/c"]}


def last_run(out: Path) -> Path:
    return max((out / "runs").iterdir())


def rows(out: Path, table: str, *columns: str) -> list[tuple[object, ...]]:
    found = pq.read_table(last_run(out) / f"{table}.parquet", columns=list(columns))
    return sorted(tuple(row[name] for name in columns) for row in found.to_pylist())


def test_only_what_changed_is_sent_again(tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    with serving(ChangingWeb(dict(PAGES))) as web, grid_on_loopback(tmp_path, []) as grid:
        grid.site_file.write_text(f'[grid]\nlease = "3s"\n[site.s]\nseeds = ["{web.url()}"]\n')
        done = headgate("crawl", grid.site_file, "--out", grid.out, "--quiet")
        assert done.returncode == 0, done.stderr
        shutil.copytree(grid.out, alone)
        web.links = {**PAGES, "/b": ["/a", "/new"], "/new": ["/"]}
        web.asked.clear()
        manager = grid.manager("--once", "--quiet")
        grid.node("n1")
        _, err = manager.communicate(timeout=120)
        assert manager.returncode == 0, err
        asked = {path: count for path, count in web.asked.items() if path != "/robots.txt"}
        assert asked == dict.fromkeys(web.links, 1)
        done = headgate("crawl", grid.site_file, "--out", alone, "--quiet")
        assert done.returncode == 0, done.stderr
    columns = ("url", "status", "title", "digest", "original_url")
    assert rows(grid.out, "pages", *columns) == rows(alone, "pages", *columns)
    assert {url: status for url, status, *_ in rows(grid.out, "pages", *columns)
            if str(url).endswith(("/a", "/b", "/new"))} == {
        web.url("/a"): 304, web.url("/b"): 200, web.url("/new"): 200,
    }  # fmt: skip
    assert rows(grid.out, "links", "source", "target") == rows(alone, "links", "source", "target")
    report = json.loads((last_run(grid.out) / "report.json").read_text())
    assert report["sites"][0]["state"] == "done"
