"""kill -9 at random moments: nothing reported stored is lost, nothing is stored twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice, takewhile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from tests.unit.storage.warc.making import make_url
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

REPOSITORY = Path(__file__).parents[3]


MOST_SECONDS = 120.0


@contextmanager
def life(folder: Path, pages: int, seed: int, stop: str = "-") -> Iterator[subprocess.Popen[str]]:
    """Of a child, that does not outlive the test whatever becomes of it."""
    module = "tests.integration.storage.crawl_child"
    with subprocess.Popen(
        [sys.executable, "-m", module, str(folder), str(pages), str(seed), stop],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def stored(lines: Iterable[str]) -> list[str]:
    """What the child reported; a line cut off by the kill was not reported."""
    whole = [line for line in lines if line.endswith("\n")]
    return [line.split()[1] for line in whole if line.startswith("stored ")]


def killed_at(child: subprocess.Popen[str], lines: int, seconds: float) -> list[str]:
    """So long after it said so many lines since it began to crawl; tells what it reported."""
    assert child.stdout is not None
    said = takewhile(lambda line: line != "crawling\n", child.stdout)
    before = [*said, *islice(child.stdout, lines)]
    time.sleep(seconds)
    child.kill()
    reported = stored([*before, *child.stdout])
    assert child.wait(MOST_SECONDS) == -signal.SIGKILL, "it came to its end before the kill"
    return reported


def killed_where_it_waits(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    assert "waiting\n" in child.stdout, "it came to its end without the place to wait at"
    child.kill()
    assert child.wait(MOST_SECONDS) == -signal.SIGKILL


def finish(folder: Path, pages: int, seed: int) -> list[str]:
    with life(folder, pages, seed) as child:
        lines, _ = child.communicate(timeout=MOST_SECONDS)
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
    """No life is long enough for all that is left, however late its kill comes."""
    pages, kills, most = 8000, 20, 390
    chance = np.random.default_rng(20261115)
    reported: Counter[str] = Counter()
    for kill in range(kills):
        lines = int(chance.integers(0, most // 2))
        with life(tmp_path, pages, seed=kill, stop=str(most)) as child:
            reported.update(killed_at(child, lines, chance.uniform(0, 0.02)))
    assert 100 < len(reported) < pages, "the kills did not fall into the crawl"
    reported.update(finish(tmp_path, pages, seed=kills))
    assert max(reported.values()) == 1, "a page was fetched again after it was reported stored"
    check_run(tmp_path, pages)
    assert reported.keys() <= {make_url(number) for number in range(pages)}


def test_killed_while_sealing(tmp_path: Path) -> None:
    """At the moment each file came to its place, so that it and those before it are there, and
    no other."""
    pages, names = 300, ("tree.pages", "links.parquet", "pages.parquet", "index.cdxj")
    for seed, name in enumerate(names):
        with life(tmp_path, pages, seed, stop=name) as child:
            killed_where_it_waits(child)
        (run,) = (tmp_path / "runs").iterdir()
        there = {file.name for file in run.glob("*.*")}
        assert there >= set(names[1 : seed + 1])
        assert there.isdisjoint(names[seed + 1 :])
        for product in run.glob("*.*"):
            product.unlink()
    finish(tmp_path, pages, seed=9)
    check_run(tmp_path, pages)
