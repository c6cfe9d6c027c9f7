"""One crawl over all misbehaviour: it ends by itself, keeps what is good and names the rest."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import uvloop
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from .hostile_web import CASES, hostile_web

CHILD = Path(__file__).with_name("crawl_child.py")


@dataclass(frozen=True)
class Crawled:
    sites: Mapping[str, Any]
    """Their reports, by name."""
    pages: Mapping[str, Sequence[str]]
    """Paths stored with status 200, by site."""
    peak_bytes: int
    seconds: float
    out: Path


async def _crawl_all(out: Path) -> Crawled:
    async with hostile_web() as servers:
        sites = [{"name": name, "seeds": [server.url()]} for name, server in servers.items()]
        began = time.monotonic()
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            str(CHILD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        asked = json.dumps({"out": str(out), "sites": sites}).encode()
        said, _ = await asyncio.wait_for(child.communicate(asked), 60)
        seconds = time.monotonic() - began
    assert child.returncode == 0
    told = json.loads(said)
    names = {server.port: name for name, server in servers.items()}
    pages = defaultdict(list)
    (table,) = out.glob("runs/*/pages.parquet")
    for row in pq.read_table(table).to_pylist():
        if row["role"] == "page" and row["status"] == 200:
            place = urlsplit(row["url"])
            pages[names[place.port or 0]].append(place.path)
    reports = {site["name"]: site for site in told["report"]["sites"]}
    return Crawled(reports, pages, told["peak_bytes"], seconds, out)


def test_the_good_is_kept_and_the_bad_is_named(tmp_path: Path) -> None:
    crawled = uvloop.run(_crawl_all(tmp_path / "data"))
    came = {name: _ending(crawled, name) for name in CASES}
    assert came == {
        name: ("done", dict(case.errors), sorted(case.pages), len(case.pages), bool(case.given_up))
        for name, case in CASES.items()
    }
    for name, case in CASES.items():
        assert case.given_up in " ".join(crawled.sites[name]["given_up"].values())
    assert crawled.seconds < 45
    assert crawled.peak_bytes < 500e6
    assert _archived(crawled.out) > 3 * len(CASES)


def _ending(crawled: Crawled, name: str) -> tuple[str, dict[str, int], list[str], int, bool]:
    site = crawled.sites[name]
    pages = sorted(crawled.pages[name])
    return site["state"], site["errors"], pages, site["pages"], bool(site["given_up"])


def _archived(out: Path) -> int:
    """Records of the archive, all of them whole."""
    records = 0
    for path in out.glob("runs/*/warc/*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                records += 1
    return records
