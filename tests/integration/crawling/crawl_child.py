"""A whole crawl in a process of its own, with short time-outs; tells its report and peak memory.

Reads ``{"out": DIR, "sites": [...]}`` from stdin, where a site is ``{"name": ..., "seeds": [...]}``
with whatever else a `Site` takes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import uvloop
from tests.machine import peak_bytes

from headgate.engine.real_parts import real_parts
from headgate.features.crawl.job import CrawlJob, CrawlWatcher, crawl
from headgate.fetching.client import FetcherSettings
from headgate.fetching.limits import Limits
from headgate.model.budget import Budget
from headgate.model.site import Site
from headgate.model.units import UNLIMITED

LIMITS = Limits(connect_seconds=3.0, first_byte_seconds=1.5, stall_seconds=1.0, total_seconds=4.0)


class Nobody(CrawlWatcher):
    def on_messages(self, words: Sequence[str]) -> None: ...


def main() -> None:
    asked: dict[str, Any] = json.load(sys.stdin)
    sites = tuple(msgspec.convert(site, Site) for site in asked["sites"])
    named = frozenset(
        (site.name, urlsplit(seed).hostname or "") for site in sites for seed in site.seeds
    )
    settings = FetcherSettings("tests", LIMITS, named_for=named)
    job = CrawlJob(sites, Budget(UNLIMITED, crawlers=100), Path(asked["out"]), settings)
    report = uvloop.run(crawl(job, real_parts(), Nobody()))
    told = {"report": report, "peak_bytes": peak_bytes()}
    sys.stdout.buffer.write(msgspec.json.encode(told))


if __name__ == "__main__":
    main()
