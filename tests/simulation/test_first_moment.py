"""What takes long to load is there before a run begins: its deadlines would pay for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CRAWL = """
import asyncio, sys
from pathlib import Path
from headgate.jobs.crawl import CrawlJob, crawl
from headgate.jobs.fetcher_settings import fetcher_settings
from headgate.jobs.nobody import Nobody
from headgate.jobs.real_parts import real_parts
from headgate.model.budget import Budget
from headgate.model.site import Site

class Opened(Nobody):
    def opened(self):
        weighing = {"headgate.planning.mending", "headgate.planning.guarding", "numpy"}
        print(len(weighing & sys.modules.keys()))
        sys.exit()

count = int(sys.argv[2])
sites = tuple(Site(f"s{k}", ("http://127.0.0.1:1/",), deadline=9.0) for k in range(count))
budget = Budget(float(sys.argv[3]))
job = CrawlJob(sites, budget, Path(sys.argv[1]), fetcher_settings(sites, "test"))
asyncio.run(crawl(job, real_parts(), Opened()))
"""


@pytest.mark.parametrize(
    ("sites", "bandwidth", "loaded"), [("2", "1e6", "3"), ("1", "1e6", "3"), ("2", "inf", "0")]
)
def test_what_weighs_sites_is_there_when_the_run_begins(
    tmp_path: Path, sites: str, bandwidth: str, loaded: str
) -> None:
    asked = [sys.executable, "-c", CRAWL, str(tmp_path / "data"), sites, bandwidth]
    found = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [loaded]
