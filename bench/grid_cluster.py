"""Three NATS servers and PostgreSQL: the one that matters most is killed, in turn, amid a crawl.

    python -m bench.grid_cluster [--sites 24] [--nodes 4] [--kills 6] [--seed 1] [--lease 15]

A cluster of three NATS servers on loopback, a catalog in PostgreSQL, `headgate manager` and nodes
as processes that know all three. In turn are killed with SIGKILL: the NATS server that the manager
is connected to, which is started again ten seconds later, and PostgreSQL, which is started again at
once. In the end every page is in the index once with the bytes that were sent, as after
`headgate crawl`; the pauses are the longest times in which no site was asked for anything. Needs
Debian's PostgreSQL (apt-get install postgresql-15).
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.arguments import parser
from bench.grid_kills import (
    HEADGATE,
    ManyHosts,
    free_port,
    indexed,
    too_many_at_once,
)
from bench.postgres import Postgres, installed, serving_postgres

from headgate.features.grid.transport.nats_server import find_server

_PATIENCE_SECONDS = 900.0
_AWAY_SECONDS = 10.0
_BETWEEN_SECONDS = 8.0


class LargerHosts(ManyHosts):
    """With so many pages that the crawl lasts through most kills."""

    def pages(self, site: int) -> int:
        return 60 + site * 7 % 60


@dataclass(slots=True)
class Cluster:
    """Three NATS servers that know each other."""

    folder: Path
    door: Path
    ports: list[int]
    routes: list[int]
    servers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, number: int) -> None:
        """With what the manager wrote for one server, and routes to the others."""
        others = [f"nats://127.0.0.1:{port}" for port in self.routes]
        own = (self.door / "nats.conf").read_text()
        lines = [
            line for line in own.splitlines() if not line.startswith(("listen", "server_name"))
        ]
        cluster = (
            f"listen: 127.0.0.1:{self.ports[number]}\nserver_name: nats-{number}\n"
            f"cluster {{ name: grid, listen: 127.0.0.1:{self.routes[number]}, routes: {others} }}\n"
        )
        config = self.folder / f"nats-{number}.conf"
        config.write_text("\n".join(lines) + "\n" + cluster.replace("'", '"'))
        with (self.folder / f"nats-{number}.log").open("ab") as log:
            self.servers[number] = subprocess.Popen(
                [find_server(), "-c", config], stdout=log, stderr=log
            )

    def of_process(self, pid: int) -> int:
        """Which server a process is connected to; -1: none."""
        found = subprocess.run(
            ["ss", "-Htnp", "state", "established"], capture_output=True, text=True, check=True
        ).stdout
        for line in found.splitlines():
            if f"pid={pid}," in line:
                port = int(line.split()[3].rpartition(":")[2])
                if port in self.ports:
                    return self.ports.index(port)
        return -1

    def kill(self, number: int) -> None:
        self.servers[number].send_signal(signal.SIGKILL)
        self.servers[number].wait()

    def end(self) -> None:
        for server in self.servers.values():
            server.kill()
            server.wait()


@dataclass(slots=True)
class Grid:
    folder: Path
    web: ManyHosts
    catalog: str
    urls: list[str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def run(self, name: str, *words: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*HEADGATE, *words], cwd=self.folder, stdout=log, stderr=log
            )

    def manager(self) -> None:
        nats = [word for url in self.urls for word in ("--nats", url)]
        where = ["--out", "collection", "--catalog", self.catalog]
        self.run("manager", "manager", "sites.toml", "--once", "--quiet", *nats, *where)

    def node(self, name: str) -> None:
        nats = [word for url in self.urls for word in ("--nats", url)]
        where = ["--out", "collection", "--catalog", self.catalog]
        subprocess.run(
            [*HEADGATE, "manager", "invite", name, *nats, *where],
            cwd=self.folder, check=True, capture_output=True,
        )  # fmt: skip
        options = ["--allow-private", "--until-idle", "--quiet", "--slots", "3"]
        self.run(name, "node", f"{name}.token", *options)
        self.web.nodes[self.processes[name].pid] = name

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@contextlib.contextmanager
def running(folder: Path, web: ManyHosts, postgres: Postgres, nodes: int, lease: float) -> Iterator[
    tuple[Grid, Cluster]
]:  # fmt: skip
    ports, routes = [free_port() for _ in range(3)], [free_port() for _ in range(3)]
    urls = [f"nats://127.0.0.1:{port}" for port in ports]
    grid = Grid(folder, web, postgres.new_catalog(), urls)
    cluster = Cluster(folder, folder / "collection" / "door", ports, routes)
    sites = [
        f'[site.s{site}]\nseeds = ["http://{web.host(site)}/0"]\ndelay = "0.1s"\n'
        for site in range(web.sites)
    ]
    head = f'[grid]\nlease = "{lease:g}s"\n'
    (folder / "sites.toml").write_text(head + "\n".join(sites))
    try:
        grid.manager()
        until = time.monotonic() + 60.0
        while not (cluster.door / "nats.conf").exists():
            assert time.monotonic() < until, (folder / "manager.log").read_text()
            time.sleep(0.1)
        for number in range(3):
            cluster.start(number)
        for number in range(nodes):
            grid.node(f"n{number}")
        yield grid, cluster
    finally:
        grid.end()
        cluster.end()


def crawl(asked: argparse.Namespace, folder: Path) -> int:
    rng = random.Random(asked.seed)
    sites, nodes, kills = asked.sites, asked.nodes, asked.kills
    web = LargerHosts(sites)
    killed: list[tuple[str, float]] = []
    with serving_postgres() as postgres, web.serving():
        with running(folder, web, postgres, nodes, asked.lease) as (grid, cluster):
            manager = grid.processes["manager"]
            _until(lambda: len(web.asked) > sites)
            began = time.monotonic()
            for turn in range(kills):
                time.sleep(rng.uniform(0.5, 1.0) * _BETWEEN_SECONDS)
                if manager.poll() is not None:
                    break
                killed.append((_kill(turn, grid, cluster, postgres), time.monotonic()))
            _until(lambda: manager.poll() is not None)
            ended = time.monotonic()
        problems = _problems(web, folder / "collection", manager.returncode)
    moments = sorted(begun for _, _, begun, _, _ in web.asked)
    print(f"{sites} sites, {len(web.expected())} pages, {nodes} nodes, {ended - began:.0f} s")
    for what, when in killed:
        pause = max(
            (after - before for before, after in itertools.pairwise(moments)
             if before <= when + _AWAY_SECONDS and after >= when),
            default=0.0,
        )  # fmt: skip
        print(
            f"  {what} killed after {when - began:.0f} s: nothing asked for {pause:.1f} s at most"
        )
    if len(killed) < kills:
        print(f"  {len(killed)} of {kills} kills: the crawl ended before the others (--sites)")
    print(f"  {len(problems)} problems")
    for problem in problems[:10]:
        print(f"    {problem}")
    return int(bool(problems))


def _kill(turn: int, grid: Grid, cluster: Cluster, postgres: Postgres) -> str:
    if turn % 2:
        postgres.kill()
        postgres.start()
        return "PostgreSQL"
    for number, server in cluster.servers.items():
        if server.poll() is not None:
            cluster.start(number)  # the one before is back before the next goes
    number = cluster.of_process(grid.processes["manager"].pid)
    if number < 0:
        number = turn // 2 % 3
    cluster.kill(number)
    return f"NATS server {number + 1}, the manager's,"


def _problems(web: ManyHosts, out: Path, code: int) -> list[str]:
    expected, found = web.expected(), indexed(out)
    problems = [f"lost: {url}" for url in expected if url not in found]
    problems += [f"stored {len(what)} times: {url}" for url, what in found.items() if len(what) > 1]
    problems += [
        f"other bytes: {url}" for url in expected if expected[url] not in found.get(url, ())
    ]
    problems += [f"too many nodes at {host}" for host in too_many_at_once(web)]
    return [*problems, *([f"the manager ended with {code}"] if code else [])]


def _until(condition: object) -> None:
    assert callable(condition)
    until = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until, "it does not come to its end"
        time.sleep(0.2)


def main() -> int:
    words = parser(__doc__)
    words.add_argument("--sites", type=int, default=24)
    words.add_argument("--nodes", type=int, default=4)
    words.add_argument("--kills", type=int, default=6)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--lease", type=float, default=15.0)
    asked = words.parse_args()
    if not installed():
        print("bench.grid_cluster: apt-get install postgresql-15 first")
        return 2
    with tempfile.TemporaryDirectory(prefix="headgate-") as folder:
        return crawl(asked, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
