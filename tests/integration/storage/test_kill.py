"""kill -9 at random moments: nothing reported stored is lost, nothing is stored twice."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from itertools import takewhile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from tests.unit.storage.making import make_url
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

REPOSITORY = Path(__file__).parents[3]


def start(folder: Path, pages: int, seed: int) -> subprocess.Popen[str]:
    module = "tests.integration.storage.crawl_child"
    return subprocess.Popen(
        [sys.executable, "-m", module, str(folder), str(pages), str(seed)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )


def stored(lines: list[str]) -> list[str]:
    """What the child reported; a line cut off by the kill was not reported."""
    whole = [line for line in lines if line.endswith("\n")]
    return [line.split()[1] for line in whole if line.startswith("stored ")]


def kill_after(child: subprocess.Popen[str], line: str, seconds: float) -> list[str]:
    """Wait for a line, let the child live a little longer, kill it; tells what it reported."""
    assert child.stdout is not None
    with child.stdout:
        before = list(takewhile(lambda said: said != line, child.stdout))
        time.sleep(seconds)
        child.kill()
        reported = stored(before + child.stdout.readlines())
    assert child.wait() == -9, "the child came to its end before it could be killed"
    return reported


def finish(child: subprocess.Popen[str]) -> list[str]:
    lines, _ = child.communicate(timeout=120)
    assert child.returncode == 0
    assert lines.endswith("sealing\nfinished\n")
    return stored(lines.splitlines(keepends=True))


def archived(run: Path) -> Counter[str]:
    """Responses per URL in all files; warcio raises on anything that is not whole."""
    urls: Counter[str] = Counter()
    for file in sorted((run / "warc").iterdir()):
        with file.open("rb") as opened:
            for record in ArchiveIterator(opened, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type == "response":
                    urls[record.rec_headers.get_header("WARC-Target-URI")] += 1
    return urls


def check_run(folder: Path, pages: int) -> None:
    """Every page is there once, wherever one looks."""
    everything = Counter(make_url(number) for number in range(pages))
    (run,) = (folder / "runs").iterdir()
    assert archived(run) == everything
    index = (run / "index.cdxj").read_text().splitlines()
    assert Counter(json.loads(line.split(" ", 2)[2])["url"] for line in index) == everything
    assert Counter(pq.read_table(run / "pages.parquet")["url"].to_pylist()) == everything
    assert pq.read_table(run / "links.parquet").num_rows == 3 * pages
    assert list((folder / "spool").iterdir()) == []


def test_killed_while_crawling(tmp_path: Path) -> None:
    pages, kills = 8000, 20
    chance = np.random.default_rng(20261115)
    reported: Counter[str] = Counter()
    for kill in range(kills):
        child = start(tmp_path, pages, seed=kill)
        reported.update(kill_after(child, "crawling\n", chance.uniform(0, 0.12)))
    assert 100 < len(reported) < pages, "the kills did not fall into the crawl"
    reported.update(finish(start(tmp_path, pages, seed=kills)))
    assert max(reported.values()) == 1, "a page was fetched again after it was reported stored"
    check_run(tmp_path, pages)
    assert reported.keys() <= {make_url(number) for number in range(pages)}


def test_killed_while_sealing(tmp_path: Path) -> None:
    """At the moment each file appears, so that it and the ones before it are there already."""
    pages = 300
    kill_after(start(tmp_path, pages, seed=0), "sealing\n", seconds=0)
    (run,) = (tmp_path / "runs").iterdir()
    for name in ("index.cdxj", "pages.parquet"):
        for product in run.glob("*.*"):
            product.unlink()
        child = start(tmp_path, pages, seed=1)
        while not (run / name).exists():
            assert child.poll() is None
            time.sleep(0.001)
        kill_after(child, "sealing\n", seconds=0)
    finish(start(tmp_path, pages, seed=2))
    check_run(tmp_path, pages)
