"""A grid over distance: nodes on lines of 20 and 100 ms, one cut off and back; rates and pages.

Manager, NATS server and documentation sites (nginx) are in one network namespace, each node in one
of its own at the end of an emulated line, which is its only way. Checked: the set of pages and
their digests against `headgate crawl` of the same sites; each node's interface against its own
--bandwidth and all together against the manager's, in any second, also while a node is cut off;
that nodes listen nowhere. Needs root, as the bed does.

    python -m bench.grid_line --sites 20 --cache DIR [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from bench.documentation import SITES, Documentation, fetched

from headgate.lab.bed.network import missing, server_address
from headgate.lab.bed.nodes import MANAGER_ADDRESS, NodesBed

SMALL = (
    "debian-faq", "maint-guide", "libtiff-doc", "mpich-doc", "postfix-doc", "python-flask-doc",
    "libgeos-doc", "docutils-doc", "exim4-doc-html", "libcairo2-doc", "python-tornado-doc",
    "vim-doc", "octave-doc", "installation-guide-amd64", "liblog4j1.2-java-doc", "sqlite3-doc",
    "libsfml-doc", "nodejs-doc", "swi-prolog-doc", "ant-doc",
)  # fmt: skip
ROUND_TRIPS = (0.02, 0.02, 0.1, 0.1)
NODE_RATE, TOTAL_RATE = 80e3, 200e3
LEASE_SECONDS = 10
_PORT = 4222
_STEP_SECONDS = 0.1
_TOLERATED = 1.05
_AT_WORK_BYTES = 300_000
"""With so much, node 0 is in the middle of a task, and cut off."""


@dataclass(slots=True)
class Interfaces:
    """Bytes received at each node's interface, ten times a second."""

    bed: NodesBed
    nodes: int
    at: list[float] = field(default_factory=list)
    counts: list[list[int]] = field(default_factory=list)

    def look(self) -> None:
        self.at.append(time.monotonic())
        self.counts.append([self.bed.received_bytes(number) for number in range(self.nodes)])

    def worst(self, numbers: Sequence[int], seconds: float = 1.0) -> float:
        """Bytes per second in the worst window of so many seconds or a little more."""
        sums = [sum(row[number] for number in numbers) for row in self.counts]
        worst, end = 0.0, 0
        for begin, moment in enumerate(self.at):
            while end < len(self.at) and self.at[end] - moment < seconds:
                end += 1
            if end == len(self.at):
                break
            worst = max(worst, (sums[end] - sums[begin]) / (self.at[end] - moment))
        return worst


@contextmanager
def nginx(bed: NodesBed, folders: dict[str, Path]) -> Iterator[None]:
    work = bed.folder / "nginx"
    work.mkdir()
    servers = "".join(
        f"server {{ listen {server_address(number)}:80; root {root}; }}\n"
        for number, root in enumerate(folders.values())
    )
    scratch = "".join(
        f"{kind}_temp_path {work}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = work / "nginx.conf"
    config.write_text(
        f"user root;\ndaemon off;\npid {work}/pid;\nerror_log {work}/error.log;\nevents {{}}\n"
        "http {\ninclude /etc/nginx/mime.types;\naccess_log off;\nabsolute_redirect off;\n"
        f"keepalive_requests 1000000;\n{scratch}{servers}}}\n"
    )
    process = subprocess.Popen(
        bed.at_core("/usr/sbin/nginx", "-c", config, "-e", f"{work}/error.log")
    )
    try:
        time.sleep(1.0)
        yield
    finally:
        process.terminate()
        process.wait()


def site_file(path: Path, sites: Sequence[Documentation]) -> Path:
    tables = "".join(
        f'[site."{site.package}"]\nseeds = ["http://{server_address(number)}/{site.seed}"]\n'
        for number, site in enumerate(sites)
    )
    path.write_text(
        f'[budget]\nbandwidth = "{TOTAL_RATE / 1e3:.0f} KB/s"\n'
        f'[grid]\nlease = "{LEASE_SECONDS}s"\n{tables}'
    )
    return path


def pages(collection: Path) -> dict[str, bytes]:
    """Digest of each page's payload, by URL."""
    found: dict[str, bytes] = {}
    for table in (collection / "runs").glob("*/pages.parquet"):
        columns = pq.read_table(table, columns=["url", "status", "digest"]).to_pylist()
        for row in columns:
            if row["status"] == 200 and not row["url"].endswith("/robots.txt"):
                assert row["url"] not in found, f"{row['url']} is there twice"
                found[row["url"]] = row["digest"]
    return found


def headgate(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "headgate", *map(str, words)]


class Trial:
    """One crawl by all nodes."""

    def __init__(self, bed: NodesBed, folder: Path, file: Path) -> None:
        self.bed, self.folder, self.file = bed, folder, file
        self.out = folder / "grid"
        self.nodes: list[subprocess.Popen[bytes]] = []
        self.measured = Interfaces(bed, len(ROUND_TRIPS))
        self.cut_seconds = 0.0

    def run(self, cut_seconds: float) -> float:
        """Seconds that it took; a node is cut off for so long in the middle of it."""
        began = time.monotonic()
        manager = subprocess.Popen(
            self.bed.at_core(*headgate(
                "manager", self.file, "--out", self.out, "--serve-nats",
                f"{MANAGER_ADDRESS}:{_PORT}", "--host", MANAGER_ADDRESS, "--once", "--quiet",
                "--json",
            )),
            stdout=(self.folder / "manager.json").open("wb"),
        )  # fmt: skip
        try:
            self._invite()
            for number in range(len(ROUND_TRIPS)):
                self.nodes.append(self._node(number))
            self._watch(manager, cut_seconds)
        finally:
            for process in (*self.nodes, manager):
                if process.poll() is None:
                    process.terminate()
                process.wait()
        if manager.returncode:
            raise SystemExit(f"the manager ended with {manager.returncode}")
        return time.monotonic() - began

    def _invite(self) -> None:
        while not (self.out / "door" / "nats.log").exists():
            time.sleep(0.1)
        for number in range(len(ROUND_TRIPS)):
            command = self.bed.at_core(
                *headgate("manager", "invite", f"n{number}", "--out", self.out)
            )
            subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.DEVNULL)

    def _node(self, number: int) -> subprocess.Popen[bytes]:
        words = headgate(
            "node", self.folder / f"n{number}.token", "--spool", self.folder / f"n{number}",
            "--bandwidth", f"{NODE_RATE / 1e3:.0f}KB/s", "--allow-private", "--until-idle",
            "--quiet", "--json",
        )  # fmt: skip
        told = (self.folder / f"n{number}.json").open("wb")
        return subprocess.Popen(self.bed.at_node(number, *words), stdout=told)

    def _watch(self, manager: subprocess.Popen[bytes], cut_seconds: float) -> None:
        cut_at: float | None = None
        mended = not cut_seconds
        while manager.poll() is None:
            now = time.monotonic()
            if cut_at is None and not mended and self.bed.received_bytes(0) > _AT_WORK_BYTES:
                self.bed.cut(0)
                cut_at = now
            elif cut_at is not None and not mended and now >= cut_at + cut_seconds:
                self.bed.mend(0)
                mended = True
                self.cut_seconds = now - cut_at
            self.measured.look()
            for number in range(len(ROUND_TRIPS)):
                if len(self.measured.at) % 50 == 0 and self.bed.listening_ports(number):
                    raise SystemExit(f"node {number} listens for somebody")
            time.sleep(_STEP_SECONDS)


def report(trial: Trial, seconds: float, alone: dict[str, bytes]) -> bool:
    found = pages(trial.out)
    same = found == alone
    print(f"pages: {len(found)}, as one machine crawls: {'the same' if same else 'NOT the same'}")
    if not same:
        missed, more = alone.keys() - found.keys(), found.keys() - alone.keys()
        print(f"  missing {len(missed)} {sorted(missed)[:3]}, more {len(more)} {sorted(more)[:3]}")
    held = True
    for number, trip in enumerate(ROUND_TRIPS):
        worst = trial.measured.worst([number])
        held = held and worst <= _TOLERATED * NODE_RATE
        told = json.loads((trial.folder / f"n{number}.json").read_bytes() or b"{}")
        print(
            f"node {number} ({1000 * trip:.0f} ms): {told.get('committed', '?')} results, "
            f"{told.get('pages', '?')} pages, worst second {worst / NODE_RATE:.3f} of its bandwidth"
        )
    worst = trial.measured.worst(range(len(ROUND_TRIPS)))
    print(f"node 0 was cut off for {trial.cut_seconds:.0f} s in the middle of a task")
    print(f"all nodes: worst second {worst / TOTAL_RATE:.3f} of the budget; {seconds:.0f} s in all")
    return same and held and worst <= _TOLERATED * TOTAL_RATE


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "headgate-docs")
    parser.add_argument("--quick", action="store_true", help="five sites")
    parser.add_argument("--cut", type=float, default=2.0 * LEASE_SECONDS, metavar="SECONDS")
    arguments = parser.parse_args()
    reason = missing()
    if reason is not None:
        raise SystemExit(f"no bed: {reason}")
    names = SMALL[: 5 if arguments.quick else arguments.sites]
    sites = [site for name in names for site in SITES if site.package == name]
    folders = fetched(arguments.cache, sites)
    os.environ.pop("PYTHONWARNINGS", None)
    with (
        tempfile.TemporaryDirectory(prefix="headgate-") as name,
        NodesBed(ROUND_TRIPS, len(sites)) as bed,
        nginx(bed, folders),
    ):
        folder = Path(name)
        file = site_file(folder / "sites.toml", sites)
        crawl = headgate(
            "crawl", file, "--out", folder / "alone", "--bandwidth", "20MB/s", "--quiet"
        )
        subprocess.run(bed.at_core(*crawl), check=True, stdout=subprocess.DEVNULL)
        trial = Trial(bed, folder, file)
        seconds = trial.run(arguments.cut)
        good = report(trial, seconds, pages(folder / "alone"))
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
