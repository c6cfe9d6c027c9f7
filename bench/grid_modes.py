"""Each mode and each placement of a grid drives a real crawl: pages, round trips, balance.

    python -m bench.grid_modes [--cache DIR] [--only batch,can] [--slots 5] [--reference]

Twenty documentation sites (nginx) in one namespace, four nodes in others, at the ends of emulated
lines. Sites and nodes stand on a ring of four places: 20 ms to a site of the own place, 70 to the
next, 120 to the one opposite, 50 to the manager. Nodes have 0.3, 0.6, 0.9 and 1.2 MB/s. First one
machine crawls all, which tells what there is and how large; then each node asks each site for one
page, so that connect times are known. From there each mode and placement begins anew. With
``--reference`` the nodes have also fetched the largest page of all, by which they are compared.

Told for each: whether the pages are those of one machine; the mean round trip from a page's node to
its site; how long the longest node needs for its bytes at its bandwidth, against the mean of all
(1: even); and the time from the first task to the last result. Needs root, nginx-light and
nftables.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from statistics import fmean
from typing import IO

import pyarrow.parquet as pq
from bench.arguments import parser
from bench.documentation import SITES, Documentation, fetched
from bench.grid_line import SMALL, headgate, nginx, pages

from headgate_lab.bed.network import server_address
from headgate_lab.bed.nodes import MANAGER_ADDRESS, NodesBed, nodes_bed_misses

BANDWIDTHS = (0.3e6, 0.6e6, 0.9e6, 1.2e6)
NODES = len(BANDWIDTHS)
TO_MANAGER, NEAR, FARTHER = 0.05, 0.02, 0.05
WAYS = {
    "pull, measured": 'mode = "pull"\nplacement = "measured"',
    "pull, coordinates": 'mode = "pull"\nplacement = "coordinates"',
    "pull, can": 'mode = "pull"\nplacement = "can"',
    "batch": 'mode = "batch"',
    "paper-1": 'mode = "paper-1"',
    "paper-2": 'mode = "paper-2"',
    "round-robin": 'mode = "round-robin"',
}
_PORT = 4222
_PATIENCE_SECONDS = 900.0


def round_trip(node: int, site: int) -> float:
    """On the ring.

    >>> [round(round_trip(0, site), 2) for site in range(5)]
    [0.02, 0.07, 0.12, 0.07, 0.02]
    """
    apart = abs(node - site % NODES)
    return NEAR + FARTHER * min(apart, NODES - apart)


@dataclass(frozen=True, slots=True)
class Web:
    sites: Sequence[Documentation]

    def file(self, path: Path, grid: str, keys: Mapping[str, str]) -> Path:
        """``keys`` are lines of a site's own."""
        tables = "".join(
            f'[site."{site.package}"]\nseeds = ["http://{server_address(number)}/{site.seed}"]\n'
            f"{keys.get(site.package, '')}\n"
            for number, site in enumerate(self.sites)
        )
        path.write_text(f"[grid]\n{grid}\n{tables}")
        return path

    def number(self, package: str) -> int:
        return [site.package for site in self.sites].index(package)


@dataclass(slots=True)
class Grid:
    """Crawls by a manager and some of the nodes, one after another."""

    bed: NodesBed
    folder: Path
    out: Path
    slots: int
    """Of a node."""

    def crawl(self, file: Path, nodes: Sequence[int]) -> None:
        with (self.folder / "manager.json").open("wb") as told:
            manager = subprocess.Popen(
                self.bed.at_core(*headgate(
                    "manager", file, "--out", self.out, "--serve-nats",
                    f"{MANAGER_ADDRESS}:{_PORT}", "--host", MANAGER_ADDRESS, "--once", "--quiet",
                    "--json",
                )),
                stdout=told, stderr=self._log(),
            )  # fmt: skip
        workers: list[subprocess.Popen[bytes]] = []
        try:
            self._invite(nodes)
            workers += [
                subprocess.Popen(self._node(number), stderr=self._log()) for number in nodes
            ]
            manager.wait(_PATIENCE_SECONDS)
        finally:
            for process in (*workers, manager):
                if process.poll() is None:
                    process.terminate()
                process.wait()
        if manager.returncode:
            raise SystemExit(f"the manager ended with {manager.returncode}")

    def _log(self) -> IO[bytes]:
        return (self.folder / "log").open("ab")

    def _invite(self, nodes: Sequence[int]) -> None:
        until = time.monotonic() + _PATIENCE_SECONDS
        while not (self.out / "door" / "nats.log").exists():
            assert time.monotonic() < until, "the manager opens no door"
            time.sleep(0.1)
        for number in nodes:
            invite = headgate("manager", "invite", f"n{number}", "--out", self.out)
            subprocess.run(
                self.bed.at_core(*invite), check=True, cwd=self.folder, stdout=subprocess.DEVNULL
            )

    def _node(self, number: int) -> list[str]:
        return self.bed.at_node(number, *headgate(
            "node", self.folder / f"n{number}.token", "--spool", self.folder / f"n{number}",
            "--bandwidth", f"{BANDWIDTHS[number] / 1e3:.0f}KB/s", "--allow-private",
            "--slots", str(self.slots), "--until-idle", "--quiet",
        ))  # fmt: skip

    def nodes_of_sites(self) -> dict[str, int]:
        """Of the last run, whose result counts."""
        words = headgate("manager", "tasks", "--out", self.out, "--json")
        tasks = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
        run = max(task["run"] for task in tasks)
        return {
            task["site"]: int(task["nodes"][-1].removeprefix("n"))
            for task in tasks
            if task["run"] == run
        }

    def forget_pages(self) -> None:
        """What is known of nodes and of their ways to the sites stays."""
        for name in ("sites", "runs", "spool"):
            shutil.rmtree(self.out / name, ignore_errors=True)


def sizes(collection: Path) -> dict[str, float]:
    """Bytes on the line, by site, as the report has them."""
    (path,) = collection.glob("runs/*/report.json")
    report = json.loads(path.read_text())
    return {site["name"]: float(site["wire_bytes"]) for site in report["sites"]}


def largest_page(collection: Path) -> str:
    (table,) = collection.glob("runs/*/pages.parquet")
    rows = pq.read_table(table, columns=["url", "status", "bytes"]).to_pylist()
    return str(max((row["bytes"], row["url"]) for row in rows if row["status"] == HTTPStatus.OK)[1])


def told(way: str, grid: Grid, web: Web, alone: dict[str, bytes], known: dict[str, float]) -> bool:
    found = pages(grid.out)
    by_site = grid.nodes_of_sites()
    hosts = {server_address(number): site.package for number, site in enumerate(web.sites)}
    trips = [
        round_trip(by_site[site], web.number(site))
        for site in (hosts[url.split("/")[2]] for url in found)
    ]
    loads = [0.0] * NODES
    for site, node in by_site.items():
        loads[node] += known[site] / BANDWIDTHS[node]
    report = json.loads((grid.folder / "manager.json").read_bytes())
    same = "the same" if found == alone else f"NOT the same: {len(alone)}"
    print(
        f"{way:<18} {len(found):>6} pages, {same}; mean round trip {1000 * fmean(trips):>4.0f} ms;"
        f" longest node {max(loads) / fmean(loads):.2f} of the mean, {max(loads):.0f} s;"
        f" {report['seconds']:.0f} s in all, {report['grid']['leases']} leases",
        flush=True,
    )
    return found == alone


def main() -> int:
    words = parser(__doc__)
    words.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "headgate-documentation"
    )
    words.add_argument("--only", default="", help="ways, by a part of their names")
    words.add_argument("--slots", type=int, default=5, help="sites that a node crawls at once")
    words.add_argument("--reference", action="store_true", help="nodes are compared by a page")
    asked = words.parse_args()
    reason = nodes_bed_misses()
    if reason is not None:
        raise SystemExit(f"no bed: {reason}")
    chosen = [way for way in WAYS if any(part in way for part in asked.only.split(","))]
    sites = [site for name in SMALL for site in SITES if site.package == name]
    folders, web = fetched(asked.cache, sites), Web(sites)
    with (
        tempfile.TemporaryDirectory(prefix="headgate-") as name,
        NodesBed([TO_MANAGER] * NODES, len(sites), round_trip) as bed,
        nginx(bed, folders),
    ):
        folder = Path(name)
        file = web.file(folder / "alone.toml", "", {})
        crawl = headgate("crawl", file, "--out", folder / "alone", "--quiet")
        subprocess.run(bed.at_core(*crawl), check=True, stdout=subprocess.DEVNULL)
        alone, known = pages(folder / "alone"), sizes(folder / "alone")
        even = sum(known.values()) / sum(BANDWIDTHS)
        print(
            f"{len(sites)} sites, {len(alone)} pages, {sum(known.values()) / 1e6:.1f} MB:"
            f" {even:.0f} s at least for all nodes together",
            flush=True,
        )
        reference = f'reference = "{largest_page(folder / "alone")}"' if asked.reference else ""
        one_page = web.file(
            folder / "look.toml",
            f'lease = "3s"\n{reference}',
            dict.fromkeys((site.package for site in sites), "max_pages = 1"),
        )
        first = Grid(bed, folder, folder / "grid", asked.slots)
        for number in range(NODES):
            first.crawl(one_page, [number])
            first.forget_pages()
        expected = {site: f'expect = "{size:.0f} B"' for site, size in known.items()}
        good = True
        for way in chosen:
            grid = Grid(bed, folder, folder / way.replace(", ", "-"), asked.slots)
            shutil.copytree(first.out, grid.out)
            (grid.out / "door" / "nats.log").unlink()
            terms = f"{WAYS[way]}\n{reference}"
            grid.crawl(web.file(folder / "sites.toml", terms, expected), range(NODES))
            good = told(way, grid, web, alone, known) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
