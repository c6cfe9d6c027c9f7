"""``headgate survey --serve-nats``: nodes ask, and the tables are those of one machine."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.acceptance.grid_on_loopback import Grid, grid_on_loopback
from tests.acceptance.running import headgate
from tests.threaded_server import QuietHandler, answering

QUICK = ("--delay", "0s", "--quiet")


@dataclass
class Ring:
    """Servers at 127.3.0.1, .2, …: a page links to the next two of its server, and to the server
    that follows; some are behind robots.txt, one is not there."""

    servers: int
    pages: int = 6
    seconds_per_page: float = 0.0
    filler: bytes = b""
    """Of every page."""
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    sent: list[tuple[float, int]] = field(default_factory=list)
    """When, and how many bytes of a body."""
    port: int = 0

    def start(self, number: int) -> str:
        return f"http://127.3.0.{number}:{self.port}/"

    def body(self, host: str, path: str) -> bytes | None:
        name = path.strip("/") or "0"
        if path == "/robots.txt":
            return b"User-agent: *\nDisallow: /3\n"
        if not name.isdigit() or int(name) >= self.pages:
            return None
        number = int(host.rpartition(".")[2])
        links = [f"/{k}" for k in (2 * int(name) + 1, 2 * int(name) + 2)]
        links.append(self.start(number % self.servers + 1))
        links.append(f"http://only-{number}-{name}.example/")
        return "".join(f'<a href="{link}">x</a>' for link in links).encode() + self.filler


@contextlib.contextmanager
def serving_ring(ring: Ring) -> Iterator[Ring]:
    lock = threading.Lock()

    class Handler(QuietHandler):
        def answer(self) -> None:
            host = (self.headers.get("host") or "").partition(":")[0]
            with lock:
                ring.asked[host, self.path] += 1
            time.sleep(ring.seconds_per_page)
            body = ring.body(host, self.path)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)
            ring.sent.append((time.monotonic(), len(body)))

    with answering(Handler, "0.0.0.0") as port:
        ring.port = port
        yield ring


def told(run: Path) -> tuple[Any, Any, Any]:
    """What the tables say but for times, and for robots.txt asked again after a lease."""
    servers = pq.read_table(
        run / "servers.parquet", columns=["server", "round", "state", "reason", "pages"]
    )
    links = pq.read_table(run / "links.parquet", columns=["server", "host", "links", "pages"])
    hosts = sum(pq.read_table(run / "depths.parquet").column("new_hosts").to_pylist())

    def rows(table: Any) -> list[Any]:
        return sorted(table.to_pylist(), key=str)

    return rows(servers), rows(links), hosts


def only_run(out: Path) -> Path:
    (run,) = (out / "runs").iterdir()
    return run


def surveying(grid: Grid, *words: str) -> subprocess.Popen[str]:
    """`headgate survey` with a door for nodes."""
    budget = grid.folder / "terms.toml"
    budget.write_text('[grid]\nlease = "6s"\n')
    grid.wait(grid.port_is_free)
    where = ("--serve-nats", f"127.0.0.1:{grid.port}", "--host", "127.0.0.1")
    common = ("--out", str(grid.out), "--budget", str(budget), *QUICK, *where)
    return grid.start("survey", *common, *words)


def test_two_nodes_find_what_one_machine_finds(tmp_path: Path) -> None:
    with serving_ring(Ring(8)) as ring:
        starts = [ring.start(number) for number in range(1, 9)]
        alone = headgate("survey", *starts, "--out", tmp_path / "alone", *QUICK)
        assert alone.returncode == 0, alone.stderr
        before, ring.asked = ring.asked, Counter()
        with grid_on_loopback(tmp_path, []) as grid:
            manager = surveying(grid, *starts)
            for name in ("anna", "ben"):
                grid.node(name)
            out, error = manager.communicate(timeout=240)
            assert manager.returncode == 0, error
        assert ring.asked.keys() == before.keys()
    assert told(only_run(grid.out)) == told(only_run(tmp_path / "alone"))
    assert "ended: finished" in out
    assert "nodes: " in out
    report = json.loads((only_run(grid.out) / "report.json").read_text())
    assert {node["name"] for node in report["grid"]["nodes"]} <= {"anna", "ben"}


def test_servers_that_are_found_become_tasks_round_by_round(tmp_path: Path) -> None:
    with serving_ring(Ring(5)) as ring, grid_on_loopback(tmp_path, []) as grid:
        manager = surveying(grid, ring.start(1), "--scope", "1,2,3,4,5", "--rounds", "3")
        grid.node("anna")
        _, error = manager.communicate(timeout=240)
        assert manager.returncode == 0, error
    servers, *_ = told(only_run(grid.out))
    assert [(row["server"], row["round"], row["state"]) for row in servers] == [
        (f"127.3.0.{number}", number - 1, "done") for number in range(1, 5)
    ]


def test_manager_and_node_are_killed_and_nothing_is_missing(tmp_path: Path) -> None:
    with serving_ring(Ring(3)) as ring:
        starts = [ring.start(number) for number in range(1, 4)]
        alone = headgate("survey", *starts, "--out", tmp_path / "alone", *QUICK)
        assert alone.returncode == 0, alone.stderr
        ring.asked.clear()
        ring.seconds_per_page = 0.4
        with grid_on_loopback(tmp_path, []) as grid:
            manager = surveying(grid, *starts)
            node = grid.node("anna", "--slots", "2")
            grid.wait(lambda: len(ring.asked) > 2)
            for process in (manager, node):
                process.send_signal(signal.SIGKILL)
                process.communicate()
            refused = headgate("survey", "--resume", "--out", grid.out, *QUICK)
            assert refused.returncode == 2
            assert "say again how they connect" in refused.stderr
            ring.seconds_per_page = 0.0
            manager = surveying(grid, "--resume")
            grid.node("ben")
            _, error = manager.communicate(timeout=240)
            assert manager.returncode == 0, error
    assert told(only_run(grid.out)) == told(only_run(tmp_path / "alone"))


@pytest.mark.parametrize(
    ("option", "ending"),
    [
        (("--until", "0.5"), "50% of the hosts found"),
        (("--yield", "0.6"), "nothing promises enough"),
    ],
)
def test_nodes_stop_where_one_machine_would(
    tmp_path: Path, option: tuple[str, str], ending: str
) -> None:
    with serving_ring(Ring(48)) as ring, grid_on_loopback(tmp_path, []) as grid:
        starts = [ring.start(number) for number in range(1, 49)]
        manager = surveying(grid, *starts, *option)
        grid.node("anna", "--slots", "1")
        out, error = manager.communicate(timeout=240)
        assert manager.returncode == 0, error
    assert f"ended: {ending}" in out
    asked = sum(path != "/robots.txt" for _, path in ring.asked)
    assert 0 < asked < 48 * 10, "something was asked for, and not all"


def test_nodes_keep_to_one_budget(tmp_path: Path) -> None:
    rate = 60e3
    with (
        serving_ring(Ring(8, filler=b"." * 10_000)) as ring,
        grid_on_loopback(tmp_path, []) as grid,
    ):
        starts = [ring.start(number) for number in range(1, 9)]
        manager = surveying(grid, *starts, "--bandwidth", "60 KB/s")
        for name in ("anna", "ben"):
            grid.node(name)
        _, error = manager.communicate(timeout=240)
        assert manager.returncode == 0, error
    came = sum(size for _, size in ring.sent)
    (began, _), (ended, _) = min(ring.sent), max(ring.sent)
    assert came > 8 * 5 * 10_000
    assert came <= rate * (ended - began) * 1.05 + 8 * 10_000, "but for a page of each at the start"


def test_options_of_a_door_without_one_are_a_mistake(tmp_path: Path) -> None:
    done = headgate("survey", "http://127.0.0.1/", "--out", tmp_path, "--plain")
    assert done.returncode == 2
    assert "--serve-nats" in done.stderr
