"""What takes long to load is there before a run begins: its deadlines would pay for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CRAWL = """
import asyncio, sys
from pathlib import Path
from headgate.features.crawl.job import CrawlJob, crawl
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.watcher import Watcher
from headgate.engine.real_parts import real_parts
from headgate.model.budget import Budget
from headgate.model.site import Site

class Opened(Watcher):
    def on_open(self):
        planning = ("order_repair", "deadline_guard")
        weighing = {*(f"headgate.scheduling.{name}" for name in planning), "numpy"}
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
