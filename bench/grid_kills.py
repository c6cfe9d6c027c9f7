"""A grid whose nodes, managers, NATS and database are killed loses no page and stores none twice.

    python -m bench.grid_kills [--nodes 20] [--tasks 500] [--kills 60] [--seeds 1,2,3]
                               [--catalog sqlite,postgresql] [--lease 5] [--away 12]
                               [--slots 3] [--page-seconds 0.02] [--keep DIR] [--shared 2]
    python -m bench.grid_kills --slots 60 --page-seconds 5 --away 60 --two-leases 100

Sites of a few pages, each a host of its own on loopback (127.1.x.y), a real NATS server, `headgate
manager` and `headgate node` as processes. At random moments one is ended with SIGKILL: a node most
of the time, which comes back after 0.2 to ``away`` seconds; else the manager, the NATS server or
PostgreSQL, which are started again at once. In the end all run in peace until the manager ends by
itself. Then: every page of every site is in the index once, with the bytes that were sent; no host
was asked by two nodes at the same time; who heard that all is done has nothing left on its disk.

A task whose node is away goes to another only when nothing else waits. So with few slots most nodes
are back before that, and hardly a task is fetched under two leases. With so many slots that those
of half of the nodes are more than the tasks, all that a killed node held goes to others as soon as
its leases end. ``--two-leases`` of these are wanted then, and pages that are fetched twice are no
fault.

``--shared`` sites more are large (`SHARED_PAGES` pages) and allow `AT_ONCE` nodes, so that they are
cut into parts: then at most so many may ask their hosts at the same time.

Needs Debian's PostgreSQL (apt-get install postgresql-15), but for ``--catalog sqlite``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.arguments import parser
from bench.ended_with_us import ended_with_us
from bench.postgres import Postgres, installed, serving_postgres

from headgate.crawling.page_writer import GroupCommit
from headgate.features.grid.transport.nats_server import find_server

_PATIENCE_SECONDS = 1800.0
_FIRST_PAGE_SECONDS = 60.0
SHARED_PAGES = 2_000
AT_ONCE = 4


@dataclass(slots=True)
class _Connection:
    ends: str
    """As Linux lists them."""
    owner: int = 0


@dataclass(slots=True)
class ManyHosts:
    """One server for all sites. Page k of a site links to the next ones; each answer is noted with
    who asked, by the connection's other end."""

    small: int
    shared: int = 0
    """Large ones, after the small."""
    seconds_per_page: float = 0.02
    port: int = 0
    asked: list[tuple[str, str, float, float, int]] = field(default_factory=list)
    """Host, path, from and until, and the node's process."""
    nodes: dict[int, str] = field(default_factory=dict)
    """By process, also of those that were killed."""
    _owners: GroupCommit[_Connection] = field(init=False)

    def __post_init__(self) -> None:
        self._owners = GroupCommit(self._find_owners)

    @property
    def sites(self) -> int:
        return self.small + self.shared

    def is_shared(self, site: int) -> bool:
        return site >= self.small

    def pages(self, site: int) -> int:
        return SHARED_PAGES if self.is_shared(site) else 3 + site * 7 % 9

    def links(self, site: int, page: int) -> range:
        if self.is_shared(site):
            return range(10 * page + 1, min(10 * page + 11, SHARED_PAGES))
        return range(self.pages(site))

    def host(self, site: int) -> str:
        return f"127.1.{site // 250}.{site % 250 + 1}:{self.port}"

    def site(self, host: str) -> int:
        high, low = map(int, host.rpartition(":")[0].split(".")[2:])
        return high * 250 + low - 1

    def body(self, site: int, page: int) -> bytes:
        links = "".join(f'<a href="/{other}">{other}</a>' for other in self.links(site, page))
        return f"<title>{page} of {site}</title>{links}{site * 1000 + page}".encode().ljust(
            3000, b"."
        )

    def expected(self) -> dict[str, str]:
        """Digest by URL, as the index has it."""
        return {
            f"http://{self.host(site)}/{page}": _digest(self.body(site, page))
            for site in range(self.sites)
            for page in range(self.pages(site))
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        owner: int | None = None
        try:
            while line := await reader.readline():
                host = ""
                while (header := await reader.readline()) not in (b"\r\n", b""):
                    if header.lower().startswith(b"host:"):
                        host = header[5:].strip().decode()
                path = line.split()[1].decode()
                began = time.monotonic()
                if owner is None:
                    owner = await self._owner(writer)
                await asyncio.sleep(self.seconds_per_page)
                writer.write(self._answer(host, path))
                await writer.drain()
                if path.strip("/").isdigit():
                    self.asked.append((host, path, began, time.monotonic(), owner))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _answer(self, host: str, path: str) -> bytes:
        name, site = path.strip("/"), self.site(host)
        if not name.isdigit() or int(name) >= self.pages(site):
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        body = self.body(site, int(name))
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    async def _owner(self, writer: asyncio.StreamWriter) -> int:
        """The process at the other end of a connection; 0: it is gone."""
        ends = [writer.get_extra_info(end) for end in ("peername", "sockname")]
        connection = _Connection(" ".join(map(_in_hex, ends)))
        await self._owners.commit(connection)
        return connection.owner

    def _find_owners(self, connections: Sequence[_Connection]) -> Callable[[], None]:
        """Of all that came meanwhile, in one look at what processes have open."""
        return partial(_find_owners, connections, list(self.nodes))

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        loop = asyncio.new_event_loop()
        server = loop.run_until_complete(asyncio.start_server(self.serve, "0.0.0.0", 0))
        self.port = server.sockets[0].getsockname()[1]
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            server.close()
            loop.run_until_complete(_end_all_others())
            loop.close()


async def _end_all_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _in_hex(end: tuple[str, int]) -> str:
    """As Linux lists it."""
    return f"{bytes(map(int, reversed(end[0].split('.')))).hex().upper()}:{end[1]:04X}"


def _find_owners(connections: Sequence[_Connection], pids: list[int]) -> None:
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sockets = {" ".join(fields[1:3]): f"socket:[{fields[9]}]" for fields in lines}
    owners = {name: pid for pid in pids for name in _open_files(pid)}
    for connection in connections:
        connection.owner = owners.get(sockets.get(connection.ends, ""), 0)


def _open_files(pid: int) -> set[str]:
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - names are all that is wanted
            with contextlib.suppress(OSError):
                found.add(str(Path(f"/proc/{pid}/fd/{number}").readlink()))
    return found


@dataclass(slots=True)
class Outcome:
    problems: list[str]
    kills: Counter[str]
    leases: int
    lost: int
    pages: int
    fetched_twice: int
    two_leases: int
    """Sites that are not shared and that more than one node fetched."""
    seconds: float


@dataclass(slots=True)
class _Grid:
    folder: Path
    web: ManyHosts
    lease: float
    catalog: str
    nats_port: int
    slots: int = 3
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def out(self) -> Path:
        return self.folder / "collection"

    def prepare(self, nodes: list[str]) -> None:
        sites = [
            f'[site.s{site}]\nseeds = ["http://{self.web.host(site)}/0"]\ndelay = "0s"\n'
            f"nodes_at_once = {AT_ONCE if self.web.is_shared(site) else 1}\n"
            for site in range(self.web.sites)
        ]
        grid = f'[grid]\nlease = "{self.lease}s"\n'
        (self.folder / "sites.toml").write_text(grid + "\n".join(sites))
        for node in nodes:
            self._run("manager", "invite", node, "--nats", self.url, *self._where())
        self.start("manager")
        until = time.monotonic() + 300
        while not (self.out / "door" / "nats.conf").exists():
            assert time.monotonic() < until, "the manager wrote no configuration"
            time.sleep(0.1)
        self.start("nats")

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.nats_port}"

    def start(self, name: str) -> None:
        if name == "nats":
            command = [find_server(), "-c", str(self.out / "door" / "nats.conf")]
        elif name == "manager":
            command = [*HEADGATE, "manager", "sites.toml", "--once", "--quiet", "--nats", self.url]
            command += self._where()
        else:
            options = ["--allow-private", "--until-idle", "--quiet", "--slots", str(self.slots)]
            command = [*HEADGATE, "node", f"{name}.token", *options]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                ended_with_us(command),
                cwd=self.folder,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        if name.startswith("n") and name != "nats":
            self.web.nodes[self.processes[name].pid] = name

    def kill(self, name: str) -> None:
        process = self.processes[name]
        process.send_signal(signal.SIGKILL)
        process.wait()

    def leases(self, node: str) -> list[Path]:
        """What a node has on its disk of each."""
        return list((self.folder / f"headgate-node-{node}" / "leases").glob("*"))

    def ended(self, name: str) -> int | None:
        return self.processes[name].poll()

    def end_all(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()

    def _where(self) -> list[str]:
        return ["--out", "collection", *(["--catalog", self.catalog] if self.catalog else [])]

    def _run(self, *arguments: str) -> None:
        subprocess.run([*HEADGATE, *arguments], cwd=self.folder, check=True, capture_output=True)


HEADGATE = [sys.executable, "-m", "headgate"]
_SHARES = {"node": 60, "manager": 16, "nats": 14, "postgres": 8}


def kill_and_crawl(
    folder: Path, nodes: int, tasks: int, kills: int, seed: int,
    lease: float = 5.0, away: float = 12.0, postgres: Postgres | None = None,
    slots: int = 3, page_seconds: float = 0.02, shared: int = 0,
) -> Outcome:  # fmt: skip
    rng = random.Random(seed)
    web = ManyHosts(tasks, shared, page_seconds)
    catalog = "" if postgres is None else postgres.new_catalog()
    names = [f"n{number}" for number in range(nodes)]
    began = time.monotonic()
    with web.serving():
        grid = _Grid(folder, web, lease=lease, catalog=catalog, nats_port=free_port(), slots=slots)
        try:
            grid.prepare(names)
            for name in names:
                grid.start(name)
            done, back = _killing(grid, names, kills=kills, away=away, rng=rng, postgres=postgres)
            _in_peace(grid, names, back)
        finally:
            grid.end_all()
    return _judged(grid, done, time.monotonic() - began)


def _killing(
    grid: _Grid, names: list[str], kills: int, away: float, rng: random.Random,
    postgres: Postgres | None,
) -> tuple[Counter[str], list[tuple[float, str]]]:  # fmt: skip
    """How often whom, and when those who were killed last come back. Ends with the run: a manager
    that is killed while it tells nodes so, and started again, would begin another one."""
    done: Counter[str] = Counter()
    back: list[tuple[float, str]] = []
    until = time.monotonic() + _FIRST_PAGE_SECONDS
    while not grid.web.asked and time.monotonic() < until:
        time.sleep(0.1)
    left = kinds_of_kills(kills, with_postgres=postgres is not None)
    rng.shuffle(left)
    while left and grid.ended("manager") != 0:
        time.sleep(rng.uniform(0.1, 1.5))
        _revive(grid, back)
        if any(grid.out.glob("runs/*/report.json")):
            break
        kind = left[-1]
        if kind == "postgres":
            assert postgres is not None
            postgres.kill()
            postgres.start()
        else:
            alive = [name for name in names if grid.ended(name) is None]
            name = kind if kind != "node" else rng.choice(alive) if alive else ""
            if not name or grid.ended(name) is not None:
                continue
            grid.kill(name)
            absence = rng.uniform(0.2, away) if kind == "node" else 0.0
            back.append((time.monotonic() + absence, name))
        done[left.pop()] += 1
    return done, back


def kinds_of_kills(kills: int, *, with_postgres: bool) -> list[str]:
    """By their shares, rounded; nodes get the rest.

    >>> sorted(Counter(kinds_of_kills(60, with_postgres=True)).items())
    [('manager', 10), ('nats', 9), ('node', 36), ('postgres', 5)]
    """
    shares = {kind: share for kind, share in _SHARES.items() if with_postgres or kind != "postgres"}
    whole = sum(shares.values())
    others = [
        kind
        for kind, share in shares.items()
        if kind != "node"
        for _ in range(round(kills * share / whole))
    ]
    return ["node"] * (kills - len(others)) + others


def _revive(grid: _Grid, back: list[tuple[float, str]]) -> None:
    now = time.monotonic()
    for when, name in list(back):
        if when <= now:
            back.remove((when, name))
            grid.start(name)
    if grid.ended("manager") not in (None, 0) and not any(n == "manager" for _, n in back):
        grid.start("manager")  # as its supervisor would: the database was away


def _in_peace(grid: _Grid, names: list[str], back: list[tuple[float, str]]) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while grid.ended("manager") != 0:
        assert time.monotonic() < until, "it does not come to its end"
        _revive(grid, back)
        away = {name for _, name in back}
        for name in ("nats", "manager", *names):
            if grid.ended(name) not in (None, 0) and name not in away:
                grid.start(name)
        time.sleep(0.5)


def _judged(grid: _Grid, kills: Counter[str], seconds: float) -> Outcome:
    web = grid.web
    expected = web.expected()
    found = indexed(grid.out)
    problems = [f"lost: {url}" for url in expected if url not in found]
    problems += [f"stored {len(what)} times: {url}" for url, what in found.items() if len(what) > 1]
    problems += [
        f"other bytes: {url}" for url, what in found.items() if expected.get(url) not in what
    ]
    problems += [f"too many nodes at {host}" for host in too_many_at_once(web)]
    problems += [f"left at a node: {folder}" for folder in left_behind(grid)]
    (path,) = grid.out.glob("runs/*/report.json")
    report = json.loads(path.read_text())
    told = report["grid"]
    pages = Counter((host, path) for host, path, *_ in web.asked)
    by_host: dict[str, set[str]] = {}
    for host, _, _, _, pid in web.asked:
        by_host.setdefault(host, set()).add(web.nodes.get(pid, ""))
    return Outcome(
        problems,
        kills,
        leases=told["leases"],
        lost=sum(node["lost"] for node in told["nodes"]),
        pages=len(expected),
        fetched_twice=sum(pages.values()) - len(pages),
        two_leases=sum(
            len(nodes - {""}) > 1
            for host, nodes in by_host.items()
            if not web.is_shared(web.site(host))
        ),
        seconds=seconds,
    )


def indexed(out: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for index in out.glob("runs/*/index.cdxj"):
        for line in index.read_text().splitlines():
            fields = json.loads(line.split(" ", 2)[2])
            if fields.get("status") == "200":
                found.setdefault(fields["url"], []).append(fields["digest"].removeprefix("sha1:"))
    return found


def too_many_at_once(web: ManyHosts) -> list[str]:
    """Hosts that more processes asked at the same time than their sites allow."""
    by_host: dict[str, list[tuple[float, float, int]]] = {}
    for host, _, began, ended, pid in web.asked:
        if pid:
            by_host.setdefault(host, []).append((began, ended, pid))
    return [
        host
        for host, fetches in by_host.items()
        if most_at_once(fetches) > (AT_ONCE if web.is_shared(web.site(host)) else 1)
    ]


def most_at_once(fetches: list[tuple[float, float, int]]) -> int:
    """Processes, by when each of their fetches began and ended.

    >>> most_at_once([(0, 2, 7), (1, 3, 7), (2, 4, 8), (3, 5, 9)])
    2
    """
    most, under_way = 0, Counter[int]()
    moments = [(began, 1, pid) for began, _, pid in fetches]
    moments += [(ended, -1, pid) for _, ended, pid in fetches]
    for _, change, pid in sorted(moments):
        under_way[pid] += change
        most = max(most, sum(count > 0 for count in under_way.values()))
    return most


def left_behind(grid: _Grid) -> list[Path]:
    """Of leases, at nodes that ended by themselves."""
    nodes = [name for name in grid.web.nodes.values() if grid.ended(name) == 0]
    return [found for name in set(nodes) for found in grid.leases(name)]


def _digest(body: bytes) -> str:
    return base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    words = parser(__doc__)
    words.add_argument("--nodes", type=int, default=20)
    words.add_argument("--tasks", type=int, default=500)
    words.add_argument("--kills", type=int, default=60)
    words.add_argument("--seeds", default="1")
    words.add_argument("--catalog", default="sqlite,postgresql")
    words.add_argument("--lease", type=float, default=5.0)
    words.add_argument("--away", type=float, default=12.0)
    words.add_argument("--slots", type=int, default=3, help="of each node")
    words.add_argument("--page-seconds", type=float, default=0.02, help="that a page takes")
    words.add_argument("--shared", type=int, default=0, help="large sites, cut into parts")
    words.add_argument(
        "--two-leases", type=int, default=0, help="tasks that must have been fetched by two nodes"
    )
    words.add_argument("--keep", type=Path, help="leave all that was made in this folder")
    asked = words.parse_args()
    if asked.catalog != "sqlite" and not installed():
        print("bench.grid_kills: apt-get install postgresql-15 first, or --catalog sqlite")
        return 2
    failed = False
    for catalog in asked.catalog.split(","):
        for seed in map(int, asked.seeds.split(",")):
            with contextlib.ExitStack() as stack:
                if asked.keep is None:
                    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                else:
                    folder = asked.keep / f"{catalog}-{seed}"
                    folder.mkdir(parents=True)
                postgres = stack.enter_context(serving_postgres()) if catalog != "sqlite" else None
                done = kill_and_crawl(
                    folder,
                    asked.nodes,
                    tasks=asked.tasks,
                    kills=asked.kills,
                    seed=seed,
                    lease=asked.lease,
                    away=asked.away,
                    postgres=postgres,
                    slots=asked.slots,
                    page_seconds=asked.page_seconds,
                    shared=asked.shared,
                )
            kills = ", ".join(f"{count} × {what}" for what, count in sorted(done.kills.items()))
            print(
                f"{catalog} seed {seed}: {asked.tasks} tasks, {done.pages} pages in"
                f" {done.seconds:.0f} s; killed {kills}; leases {done.leases}, lost {done.lost};"
                f" fetched under two leases {done.two_leases} tasks, pages fetched twice"
                f" {done.fetched_twice} ({done.fetched_twice / done.pages:.1%});"
                f" {len(done.problems)} problems"
            )
            for problem in done.problems[:10]:
                print(f"  {problem}")
            failed = failed or bool(done.problems) or done.two_leases < asked.two_leases
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
