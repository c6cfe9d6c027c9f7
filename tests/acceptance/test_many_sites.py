"""A thousand small sites in one crawl, by two processes: all done, each told of once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from bench.many_sites import served, site_file

HEADGATE = [sys.executable, "-m", "headgate"]
CRAWL = ["crawl", "sites.toml", "--delay", "0"]
SITES = 1000
IMPATIENT = """
import sys
from headgate.cli.main import main
from headgate.engine import workers
workers._SILENT_SECONDS = 3.0
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


def test_a_thousand_sites_in_two_processes(tmp_path: Path) -> None:
    with served() as (port, seen):
        (tmp_path / "sites.toml").write_text(site_file(SITES, port, crawlers=20))
        crawl = subprocess.run(
            [*HEADGATE, *CRAWL, "--processes", "2", "--json", "--quiet"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        requests = seen.take()[0]
    assert crawl.returncode == 0, crawl.stderr[-2000:]
    report = json.loads(crawl.stdout)
    assert Counter(site["state"] for site in report["sites"]) == {"done": SITES}
    assert {site["pages"] for site in report["sites"]} == {3}
    assert sum(sum(point["bytes"].values()) for point in report["timeline"]) == report["wire_bytes"]
    (run,) = (tmp_path / "headgate-data" / "runs").iterdir()
    pages = pq.ParquetFile(run / "pages.parquet")
    assert pages.metadata.num_rows == requests
    assert pages.metadata.num_row_groups == 1
    assert pq.ParquetFile(run / "links.parquet").metadata.num_row_groups == 1
    assert len(list((tmp_path / "headgate-data" / "sites").iterdir())) == SITES


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_process_that_stands_still_is_given_up(tmp_path: Path) -> None:
    """It would be waited for without end; what is stored is stored, and the run can be resumed."""
    with served() as (port, _):
        (tmp_path / "sites.toml").write_text(site_file(SITES, port, crawlers=1))
        crawl = subprocess.Popen(
            [sys.executable, "-c", IMPATIENT, *CRAWL, "--processes", "2"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.kill(_worker_of(crawl.pid), signal.SIGSTOP)
        _, errors = crawl.communicate(timeout=120)
    assert crawl.returncode == 1, errors[-2000:]
    assert "does not answer" in errors
    assert "--resume goes on" in errors


def _worker_of(pid: int) -> int:
    """A crawling process of a crawl, as soon as there is one."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for child in children:
            if b"engine.crawling_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        time.sleep(0.1)
    raise AssertionError("no process was started")
