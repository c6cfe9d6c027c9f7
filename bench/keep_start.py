"""How a keeper starts that knows a million pages in ten thousand sites, and what it holds.

    python -m bench.keep_start [--sites 10000] [--pages 100]

Memories of all sites and the catalog are made first, as keepers before would have left them. Then
`headgate keep` is started on them, with nothing due, until it has written its first state: time
and CPU that it took until then, and memory that it holds after a while. How long a decision
takes is measured at the same desk, in this process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

import numpy as np

from headgate.features.keep.job import KeepRequest
from headgate.features.keep.recrawl.policies import keep_policy
from headgate.features.keep.visit_planner import VisitPlanner
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection
from headgate.storage.memory.merging import Files, merge
from headgate.storage.memory.page import PageLook, Sighting
from headgate.storage.memory.site import SiteMemory

_DAY = 86_400.0
_LOOKS = 3
_DECISIONS = 200
_MOST_START, _MOST_MEMORY, _MOST_DECISION = 5.0, 300.0, 5.0


def _write_file(path: Path, sites: int) -> None:
    """Hosts of loopback, one for each site; nobody answers there, and nobody asks."""
    path.write_text("".join(
        f'[site.s{number:05d}]\nseeds = ["http://127.{1 + number // 250}.{number % 250}.1:9/"]\n'
        for number in range(sites)
    ))  # fmt: skip


def _remember(collection: Collection, site: str, pages: int, now: float) -> None:
    path = collection.memory(site)
    rng = np.random.default_rng(int(site[1:]))
    for run in range(_LOOKS):
        changed = rng.random(pages) < 0.3
        at = now - (_LOOKS - 1 - run) * 5 * _DAY

        def met(files: Files, changed: np.ndarray = changed, at: float = at) -> Iterator[Sighting]:
            file = files.number("runs/2026-11-01T00-00-00/warc/a-00001.warc.gz")
            for number in range(pages):
                word = f"{site} {number} {at if changed[number] else 0}".encode()
                digest = sha1(word, usedforsecurity=False).digest()
                look = PageLook(
                    at,
                    200,
                    error="",
                    size_bytes=9_000,
                    etag=f'"{digest.hex()[:12]}"',
                    last_modified="",
                    digest=digest,
                    content=digest[:16],
                    original_url="",
                    original_at=at,
                    file=file,
                    offset=3000 * number,
                )
                yield Sighting(f"http://{site}.example/part/{number:04d}.html", 2, at, look)

        with SiteMemory.checked(path, site) as old:
            merge(path, old, f"2026-11-{run + 1:02d}T00-00-00", met, soon=True, visit=run + 1)


def _made(folder: Path, sites: int, pages: int) -> None:
    file, out = folder / "sites.toml", folder / "kept"
    _write_file(file, sites)
    job = KeepRequest(file, lambda path: path.read_text()).job(out)
    collection, now = Collection(out), time.time()
    out.mkdir()
    collection.memory("x").parent.mkdir(exist_ok=True)
    for site in job.sites:
        _remember(collection, site.name, pages, now)
    with SqliteCatalog(collection.catalog) as catalog:
        VisitPlanner(collection, catalog, keep_policy("index")).set_sites(job.sites, now)


def _decisions(folder: Path) -> tuple[float, float]:
    """Milliseconds of CPU, median and worst, a month later."""
    job = KeepRequest(folder / "sites.toml", lambda path: path.read_text()).job(folder / "kept")
    collection, spent = Collection(job.out), []
    with SqliteCatalog(collection.catalog) as catalog:
        desk = VisitPlanner(collection, catalog, job.policy)
        now = time.time() + 30 * _DAY
        desk.set_sites(job.sites, now)
        for number in range(_DECISIONS):
            began = time.process_time()
            task = desk.board.next_task(now + number)
            spent.append(1e3 * (time.process_time() - began))
            assert task is not None, "all is due"
    return float(np.median(spent)), max(spent)


def _started(folder: Path) -> tuple[float, float, float]:
    """Seconds by the clock and of CPU until the first state was written, and megabytes held after
    that."""
    state = folder / "kept" / "keep.json"
    command = ["keep", str(folder / "sites.toml"), "--out", str(folder / "kept"), "--quiet"]
    began = time.monotonic()
    keeper = subprocess.Popen([sys.executable, "-m", "headgate", *command])
    try:
        while not state.exists():
            if keeper.poll() is not None:
                raise SystemExit(f"the keeper ended with {keeper.returncode}")
            time.sleep(0.02)
        seconds, cpu = time.monotonic() - began, _cpu_seconds(keeper.pid)
        time.sleep(5.0)
        words = Path(f"/proc/{keeper.pid}/status").read_text().split()
        held = int(words[words.index("VmHWM:") + 1]) / 1e3
    finally:
        keeper.terminate()
        keeper.wait()
    return seconds, cpu, held


def _cpu_seconds(process: int) -> float:
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sites", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=100, help="of each site")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _made(folder, args.sites, args.pages)
        median, worst = _decisions(folder)
        seconds, cpu, held = _started(folder)
    print(f"{args.sites:,} sites with {args.sites * args.pages:,} pages")
    print(
        f"start: {seconds:.2f} s until the first state, {cpu:.2f} s of CPU"
        f" (of that at most {_MOST_START:g}: others may be busy)"
    )
    print(f"resident: {held:.0f} MB at the most (at most {_MOST_MEMORY:g})")
    print(f"next task: median {median:.2f} ms, worst {worst:.2f} ms of CPU (at most 5)")
    return not (cpu <= _MOST_START and held <= _MOST_MEMORY and median <= _MOST_DECISION)


if __name__ == "__main__":
    sys.exit(main())
