"""Cases of a web, crawled in a process of its own: what was reported, stored and used."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import uvloop
from tests.integration.fetching.scripted import Server

from .hostile_web import Case, web_of

__all__ = ["Crawled", "crawl_cases", "crawl_sites"]

CHILD = "tests.integration.crawling.crawl_child"
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Crawled:
    sites: Mapping[str, Any]
    """Their reports, by name."""
    pages: Mapping[str, Sequence[str]]
    """Paths stored with status 200, by site."""
    servers: Mapping[str, Server]
    peak_bytes: int
    out: Path


def crawl_cases(out: Path, cases: Mapping[str, Case]) -> Crawled:
    """A crawl of all of them at once."""

    async def session() -> Crawled:
        async with web_of(cases) as servers:
            seeds = {name: server.url() for name, server in servers.items()}
            told = await crawl_sites(out, seeds)
        reports = {site["name"]: site for site in told["report"]["sites"]}
        pages = _pages(out, {server.port: name for name, server in servers.items()})
        return Crawled(reports, pages, servers, told["peak_bytes"], out)

    return uvloop.run(session())


async def crawl_sites(out: Path, seeds: Mapping[str, str], **environment: str) -> Any:
    """What `crawl_child` tells of a crawl of these sites."""
    sites = [{"name": name, "seeds": [seed]} for name, seed in seeds.items()]
    asked = json.dumps({"out": str(out), "sites": sites})
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", CHILD, stdin=PIPE, stdout=PIPE, cwd=ROOT,
        env={**os.environ, **environment},
    )  # fmt: skip
    said, _ = await asyncio.wait_for(child.communicate(asked.encode()), 180)
    assert child.returncode == 0
    return json.loads(said)


def _pages(out: Path, names: Mapping[int, str]) -> dict[str, list[str]]:
    pages = defaultdict(list)
    (table,) = out.glob("runs/*/pages.parquet")
    for row in pq.read_table(table).to_pylist():
        if row["role"] == "page" and row["status"] == 200:
            place = urlsplit(row["url"])
            pages[names[place.port or 0]].append(place.path)
    return pages
