"""A grid over distance: nodes on lines of 20 and 100 ms, one cut off and back; rates and pages.

    python -m bench.grid_line [--leases 2,10,30] [--cache DIR] [--quick]

Manager, NATS server and twenty documentation sites (nginx) are in one network namespace, each of
four nodes in one of its own, behind a NAT box at the end of an emulated line, which is its only
way. Each node has --bandwidth, and the manager a budget for all that is less than their sum. The
node that is the first to have 600 KB is in the midst of its tasks, and is cut off for two leases
and 5 s; nodes have more slots than there are sites, so that others can take its tasks at once.
There is a crawl for each length of a lease. Needs root, nginx-light and nftables. Checked:

- pages and their digests are those of `headgate crawl` of the same sites;
- in no second more than 105 % of its bandwidth reached a node's interface, nor of the budget all of
  them together, by what the meter counted there; also while a node was cut off. Printed are the
  worst seconds of all, and of those that do not begin in a stall of the machine of more than 20 ms
  or in the round trip after it: what was on the emulated line then arrives together. The latter are
  checked;
- the tasks of the node that was cut off were given to others within the lease and 3 s, and of each
  task one result counted;
- nodes listen nowhere, and no route leads to them.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from bench.arguments import parser
from bench.documentation import SITES, Documentation, fetched

from headgate_lab.bed.network import server_address
from headgate_lab.bed.nodes import MANAGER_ADDRESS, NodesBed, nodes_bed_misses
from headgate_lab.bed.readings import Bins, Readings, windows

SMALL = (
    "maint-guide", "debian-faq", "libcairo2-doc", "ant-doc", "debian-reference-en", "docutils-doc",
    "doxygen-doc", "python-flask-doc", "libtiff-doc", "erlang-doc", "postfix-doc", "bind9-doc",
    "swi-prolog-doc", "liblog4j1.2-java-doc", "python-tornado-doc", "exim4-doc-html",
    "mit-scheme-doc", "sphinx-doc", "libsfml-doc", "git-doc",
)  # fmt: skip
ROUND_TRIPS = (0.02, 0.02, 0.1, 0.1)
NODE_RATE, TOTAL_RATE = 300e3, 800e3
SLOTS = 10
_PORT = 4222
_STEP_SECONDS = 0.1
_STALL_SECONDS = 0.02
_TOLERATED = 1.05
_AT_WORK_BYTES = 600_000
"""Whoever has so much is in the middle of its tasks."""
_TAKEN_OVER_SECONDS = 3.0
"""After a lease has ended."""


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


def site_file(path: Path, sites: Sequence[Documentation], lease: float) -> Path:
    tables = "".join(
        f'[site."{site.package}"]\nseeds = ["http://{server_address(number)}/{site.seed}"]\n'
        for number, site in enumerate(sites)
    )
    path.write_text(
        f'[budget]\nbandwidth = "{TOTAL_RATE / 1e3:.0f} KB/s"\n'
        f'[grid]\nlease = "{lease:g}s"\n{tables}'
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


@dataclass(frozen=True, slots=True)
class LeaseGiven:
    """As the catalog has it, by the wall's clock."""

    task: int
    node: str
    given: float
    ended: float | None
    how: str | None


def leases(collection: Path) -> list[LeaseGiven]:
    with closing(sqlite3.connect(collection / "catalog.sqlite")) as catalog:
        rows = catalog.execute(
            "SELECT task, node, given, ended, how FROM leases ORDER BY task, epoch"
        )
        return [LeaseGiven(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class CutOff:
    """Which node was, and when, on the wall's clock."""

    number: int
    begin: float
    end: float


class Trial:
    """One crawl by all nodes, of which one is cut off."""

    def __init__(self, bed: NodesBed, folder: Path, file: Path, lease: float) -> None:
        self.bed, self.folder, self.file, self.lease = bed, folder, file, lease
        self.out = folder / "grid"
        self.nodes: list[subprocess.Popen[bytes]] = []
        self._before = self._received()
        """By earlier crawls."""

    def run(self) -> CutOff:
        manager = subprocess.Popen(
            self.bed.at_core(*headgate(
                "manager", self.file, "--out", self.out, "--serve-nats",
                f"{MANAGER_ADDRESS}:{_PORT}", "--host", MANAGER_ADDRESS, "--once", "--quiet",
            )),
            stdout=subprocess.DEVNULL, stderr=(self.folder / "manager.log").open("wb"),
        )  # fmt: skip
        try:
            self._invite()
            with self._metered():
                self.nodes += map(self._node, range(len(ROUND_TRIPS)))
                return self._watch(manager)
        finally:
            for process in (*self.nodes, manager):
                if process.poll() is None:
                    process.terminate()
                process.wait()

    def readings(self, number: int) -> Readings:
        return Readings(self.folder / f"records-{number}", self.folder / "pauses")

    @contextmanager
    def _metered(self) -> Iterator[None]:
        with ExitStack() as files:
            watch = self.bed.start_watch(files.enter_context((self.folder / "pauses").open("wb")))
            meters = [
                self.bed.start_meter_of(
                    number,
                    files.enter_context((self.folder / f"records-{number}").open("wb")),
                )
                for number in range(len(ROUND_TRIPS))
            ]
            yield
            for meter in meters:
                self.bed.stop_meter(meter)
            watch.communicate()

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
            "--bandwidth", f"{NODE_RATE / 1e3:.0f}KB/s", "--slots", str(SLOTS), "--allow-private",
            "--until-idle", "--quiet",
        )  # fmt: skip
        log = (self.folder / f"n{number}.log").open("wb")
        return subprocess.Popen(self.bed.at_node(number, *words), stdout=log, stderr=log)

    def _watch(self, manager: subprocess.Popen[bytes]) -> CutOff:
        cut, begin, end, looked = -1, 0.0, 0.0, 0.0
        while manager.poll() is None:
            now = time.time()
            if cut < 0:
                cut = self._at_work()
                if cut >= 0:
                    self.bed.cut(cut)
                    begin = time.time()
            elif not end and now >= begin + 2 * self.lease + 5.0:
                self.bed.mend(cut)
                end = time.time()
            if now > looked + 5.0:
                looked = now
                for number in range(len(ROUND_TRIPS)):
                    if self.bed.listening_ports(number):
                        raise SystemExit(f"node {number} listens for somebody")
            time.sleep(_STEP_SECONDS)
        if manager.returncode:
            raise SystemExit(f"the manager ended with {manager.returncode}")
        if not end:
            raise SystemExit("the crawl was over before the node that was cut off came back")
        return CutOff(cut, begin, end)

    def _at_work(self) -> int:
        """The node that has the most, if that is enough; else -1."""
        more = [now - before for now, before in zip(self._received(), self._before, strict=True)]
        return more.index(max(more)) if max(more) > _AT_WORK_BYTES else -1

    def _received(self) -> list[int]:
        return [self.bed.received_bytes(number) for number in range(len(ROUND_TRIPS))]


def report(trial: Trial, cut: CutOff, alone: dict[str, bytes]) -> bool:
    held = [_same_pages(trial, alone), _taken_over(trial, cut), _within_rates(trial, cut)]
    return all(held)


def _same_pages(trial: Trial, alone: dict[str, bytes]) -> bool:
    found = pages(trial.out)
    if found == alone:
        print(f"  {len(found)} pages, the same as one machine's")
        return True
    missed, more = alone.keys() - found.keys(), found.keys() - alone.keys()
    print(f"  {len(found)} pages, NOT the same as one machine's {len(alone)}:"
          f" missing {sorted(missed)[:3]}, more {sorted(more)[:3]}")  # fmt: skip
    return False


def _taken_over(trial: Trial, cut: CutOff) -> bool:
    given = leases(trial.out)
    name = f"n{cut.number}"
    held = {
        lease.task
        for lease in given
        if lease.node == name and lease.given < cut.begin < (lease.ended or cut.end)
    }
    others = {
        task: [
            lease.given - cut.begin
            for lease in given
            if lease.task == task and lease.node != name and lease.given > cut.begin
        ]
        for task in held
    }
    waits = sorted(found[0] for found in others.values() if found)
    counted = Counter(lease.task for lease in given if lease.how == "committed")
    allowed = trial.lease + _TAKEN_OVER_SECONDS
    told = f"after {waits[0]:.1f} to {waits[-1]:.1f} s" if waits else "none"
    print(
        f"  node {cut.number} was cut off for {cut.end - cut.begin:.0f} s with {len(held)} tasks;"
        f" elsewhere {len(waits)}, {told} ({allowed:.0f} allowed); of {len(counted)} tasks one"
        f" result counted, of {sum(count > 1 for count in counted.values())} more;"
        f" {len(given)} leases"
    )
    return (
        bool(held)
        and len(waits) == len(held)
        and waits[-1] <= allowed
        and (set(counted.values()) == {1})
    )


def _within_rates(trial: Trial, cut: CutOff) -> bool:
    readings = [trial.readings(number) for number in range(len(ROUND_TRIPS))]
    spans = [one.span() for one in readings]
    begin, end = min(first for first, _ in spans), max(last for _, last in spans)
    received = [one.received(begin, end) for one in readings]
    total: Bins = sum(received[1:], start=received[0])
    calm = readings[0].calm(begin, end, _STALL_SECONDS, max(ROUND_TRIPS))
    worst = [_worst(bins) / NODE_RATE for bins in received]
    worst_calm = [_worst(bins, calm) / NODE_RATE for bins in received]
    talk = [_worst(one.received(begin, end, MANAGER_ADDRESS)) / NODE_RATE for one in readings]
    of_all, of_all_calm = _worst(total) / TOTAL_RATE, _worst(total, calm) / TOTAL_RATE
    used = total.sum() / (end - begin) / TOTAL_RATE
    meanwhile = sum(one.received(cut.begin, cut.end).sum() for one in readings)
    used_meanwhile = meanwhile / (cut.end - cut.begin) / TOTAL_RATE
    print(
        f"  worst second of each node {_listed(worst)} of its bandwidth (from the manager alone"
        f" {_listed(talk)}), of all together {of_all:.3f} of the budget; not from a stall on"
        f" {_listed(worst_calm)} and {of_all_calm:.3f}; used {used:.2f} of it in"
        f" {end - begin:.0f} s, {used_meanwhile:.2f} while one was cut off; longest stall of the"
        f" machine {readings[0].longest_pause(begin, end):.2f} s, and {1 - calm.mean():.1%} of the"
        " time in or just after stalls",
        flush=True,
    )
    return max(*worst_calm, of_all_calm) <= _TOLERATED


def _listed(parts: Sequence[float]) -> str:
    return ", ".join(f"{part:.3f}" for part in parts)


def _worst(bins: Bins, calm: npt.NDArray[np.bool_] | None = None) -> float:
    found = windows(bins, 1.0)
    return float((found if calm is None else found[calm[: len(found)]]).max())


def main() -> int:
    words = parser(__doc__)
    words.add_argument("--leases", default="2,10,30", help="seconds, a crawl for each")
    words.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "headgate-documentation"
    )
    words.add_argument("--quick", action="store_true", help="five sites")
    asked = words.parse_args()
    reason = nodes_bed_misses()
    if reason is not None:
        raise SystemExit(f"no bed: {reason}")
    names = SMALL[:5] if asked.quick else SMALL
    sites = [site for name in names for site in SITES if site.package == name]
    folders = fetched(asked.cache, sites)
    os.environ.pop("PYTHONWARNINGS", None)
    good = True
    with (
        tempfile.TemporaryDirectory(prefix="headgate-") as name,
        NodesBed(ROUND_TRIPS, len(sites)) as bed,
        nginx(bed, folders),
    ):
        if bed.is_reachable():
            raise SystemExit("a route leads to nodes behind their NAT boxes")
        folder = Path(name)
        file = site_file(folder / "sites.toml", sites, lease=60.0)
        crawl = headgate(
            "crawl", file, "--out", folder / "alone", "--bandwidth", "20MB/s", "--quiet"
        )
        subprocess.run(bed.at_core(*crawl), check=True, stdout=subprocess.DEVNULL)
        alone = pages(folder / "alone")
        for lease in map(float, asked.leases.split(",")):
            print(f"{len(sites)} sites, leases of {lease:g} s", flush=True)
            place = folder / f"{lease:g}"
            place.mkdir()
            trial = Trial(bed, place, site_file(place / "sites.toml", sites, lease), lease)
            good = report(trial, trial.run(), alone) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
