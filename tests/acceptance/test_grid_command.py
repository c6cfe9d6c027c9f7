"""Many machines, one collection, as users start it: on loopback, over a real NATS server."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from bench.postgres import Postgres
from tests.acceptance.grid_on_loopback import grid_on_loopback, stored_pages
from tests.acceptance.running import headgate, headgate_here
from tests.acceptance.small_web import SmallWeb

from headgate.storage.catalog.sqlite import SqliteCatalog


@pytest.fixture
def crawled_alone(tmp_path: Path) -> Path:
    return tmp_path / "alone"


def ended(node: subprocess.Popen[str]) -> int:
    """By its owner, if it has not ended by itself: one that is about to has no ear for signals."""
    try:
        return node.wait(10)
    except subprocess.TimeoutExpired:
        node.send_signal(signal.SIGTERM)
        return node.wait(60)


def test_two_nodes_leave_what_one_machine_would(tmp_path: Path, crawled_alone: Path) -> None:
    webs = [SmallWeb(pages) for pages in (12, 20, 7)]
    with grid_on_loopback(tmp_path, webs) as grid:
        manager = grid.manager("--once", "--json")
        nodes = [grid.node(name) for name in ("n1", "n2")]
        out, err = manager.communicate(timeout=120)
        assert manager.returncode == 0, err
        assert '"state":"done"' in out
        assert ended(nodes[0]) == 0
        done = headgate("crawl", grid.site_file, "--out", crawled_alone, "--quiet")
        assert done.returncode == 0, done.stderr
        assert stored_pages(grid.out) == stored_pages(crawled_alone)
        report = grid.report()
        assert [(site["state"], site["pages"]) for site in report["sites"]] == [
            ("done", 12), ("done", 20), ("done", 7),
        ]  # fmt: skip
        told = report["grid"]
        assert sum(node["tasks"] for node in told["nodes"]) == 3
        assert sum(node["pages"] for node in told["nodes"]) == 39
        assert told["leases"] == 3
        assert not list(grid.folder.glob("headgate-node-*/**/*.warc.gz")), "deleted once brought"
        assert not list(grid.out.glob("spool/*")), "the run is finished"
        nodes_told = grid.told("nodes")
        assert {node["name"] for node in nodes_told} == {"n1", "n2"}
        assert sum(node["committed"] for node in nodes_told) == 3
        assert {task["state"] for task in grid.told("tasks")} == {"done"}
        with SqliteCatalog(grid.out / "catalog.sqlite") as catalog:
            assert [catalog.history(f"s{k}")[0].pages for k in range(3)] == [12, 20, 7]


@pytest.mark.skipif(shutil.which("faketime") is None, reason="needs faketime")
def test_nodes_with_wrong_clocks_leave_what_one_machine_would(
    tmp_path: Path, crawled_alone: Path
) -> None:
    """Over TLS, whose certificates have dates: a clock of last year, and one of the day after
    tomorrow."""
    webs = [SmallWeb(pages, seconds_per_page=0.05) for pages in (12, 20, 7)]
    with grid_on_loopback(tmp_path, webs) as grid:
        manager = grid.manager("--once", "--quiet")
        clocks = {"n1": "-1y", "n2": "+2d"}
        nodes = [
            grid.node(name, "--slots", "1", under=["faketime", "--exclude-monotonic", "-f", clock])
            for name, clock in clocks.items()
        ]
        _, err = manager.communicate(timeout=120)
        assert manager.returncode == 0, err
        assert [ended(node) for node in nodes] == [0, 0]
        headgate("crawl", grid.site_file, "--out", crawled_alone, "--quiet")
        assert stored_pages(grid.out) == stored_pages(crawled_alone)
        told = grid.report()["grid"]
        assert told["leases"] == 3, "none of them ran out"
        assert all(node["tasks"] for node in told["nodes"])


def test_a_killed_node_and_a_killed_manager_cost_nothing_but_time(
    tmp_path: Path, crawled_alone: Path, postgres: Postgres
) -> None:
    webs = [SmallWeb(40, held_after=9), SmallWeb(10, held_after=4), SmallWeb(15, held_after=4)]
    with grid_on_loopback(tmp_path, webs, postgres.new_catalog()) as grid:
        manager = grid.manager("--once", "--quiet")
        doomed = grid.node("n1")
        grid.wait(lambda: any(task["state"] == "leased" for task in grid.told("tasks")))
        doomed.send_signal(signal.SIGKILL)
        manager.send_signal(signal.SIGKILL)
        manager.wait()
        for web in webs:
            web.held_after = None
        manager = grid.manager("--once", "--quiet")
        node = grid.node("n2")
        out, err = manager.communicate(timeout=120)
        assert manager.returncode == 0, err
        assert "2 nodes" in out or "1 node" in out
        assert ended(node) == 0
        headgate("crawl", grid.site_file, "--out", crawled_alone, "--quiet")
        assert stored_pages(grid.out) == stored_pages(crawled_alone)
        assert [site["state"] for site in grid.report()["sites"]] == ["done"] * 3


def test_a_killed_nats_server_costs_nothing_but_time(tmp_path: Path, crawled_alone: Path) -> None:
    webs = [SmallWeb(12, held_after=5), SmallWeb(7, held_after=3)]
    with grid_on_loopback(tmp_path, webs) as grid:
        manager = grid.manager("--once", "--quiet")
        node = grid.node("n1")
        grid.wait(lambda: any(task["state"] == "leased" for task in grid.told("tasks")))
        (server,) = children(manager.pid, "nats-server")
        os.kill(server, signal.SIGKILL)
        for web in webs:
            web.held_after = None
        _, err = manager.communicate(timeout=120)
        assert manager.returncode == 0, err
        assert "starting it again" in err
        assert ended(node) == 0
        headgate("crawl", grid.site_file, "--out", crawled_alone, "--quiet")
        assert stored_pages(grid.out) == stored_pages(crawled_alone)


def children(parent: int, name: str) -> list[int]:
    """Processes of this name that a process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            number, _, rest = path.read_text().partition(f" ({name}) ")
            if rest and int(rest.split()[1]) == parent:
                found.append(int(number))
    return found


def test_drain_ends_a_manager_and_its_run_goes_on_later(tmp_path: Path) -> None:
    webs = [SmallWeb(9, held_after=3) for _ in range(3)]
    with grid_on_loopback(tmp_path, webs) as grid:
        grid.write_sites(lease="60s")
        manager = grid.manager("--once", "--quiet")
        node = grid.node("n1", "--slots", "1")
        grid.wait(lambda: any(task["state"] == "leased" for task in grid.told("tasks")))
        assert headgate("manager", "drain", "--out", grid.out).returncode == 0
        time.sleep(3.0)  # it looks every two seconds
        for web in webs:
            web.held_after = None
        manager.communicate(timeout=120)
        assert manager.returncode == 130
        states = sorted(task["state"] for task in grid.told("tasks"))
        assert states.count("done") == 1
        assert states.count("ready") == 2
        assert ended(node) == 0
        manager = grid.manager("--once", "--quiet")
        grid.node("n1")
        _, err = manager.communicate(timeout=120)
        assert manager.returncode == 0, err
        assert [site["state"] for site in grid.report()["sites"]] == ["done"] * 3


def test_a_manager_goes_on_after_a_run_that_was_given_up(tmp_path: Path) -> None:
    web = SmallWeb(12, held_after=5)
    with grid_on_loopback(tmp_path, [web]) as grid:
        grid.manager("--once", "--quiet")
        grid.node("n1")
        grid.wait(lambda: any(task["state"] == "leased" for task in grid.told("tasks")))
        for process in grid.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = headgate("crawl", "--abandon", "--out", grid.out, "--quiet")
        assert done.returncode == 0, done.stderr
        web.held_after = None
        manager = grid.manager("--once", "--quiet")
        node = grid.node("n2")
        _, err = manager.communicate(timeout=120)
        assert manager.returncode == 0, err
        assert ended(node) == 0
        assert [task["nodes"] for task in grid.told("tasks")] == [["n2"], []]


def test_a_revoked_node_is_cut_off_and_its_task_goes_to_another(tmp_path: Path) -> None:
    web = SmallWeb(20, held_after=5)
    with grid_on_loopback(tmp_path, [web]) as grid:
        grid.write_sites(lease="8s")
        manager = grid.manager("--once", "--quiet")
        evil = grid.node("evil")
        grid.wait(lambda: any(task["state"] == "leased" for task in grid.told("tasks")))
        assert headgate("manager", "revoke", "evil", "--out", grid.out).returncode == 0
        assert evil.wait(60) == 2
        assert "revoked" in evil.stderr.read()  # type: ignore[union-attr]
        web.held_after = None
        grid.node("good")
        _, err = manager.communicate(timeout=120)
        assert manager.returncode == 0, err
        assert {node["name"]: node["state"] for node in grid.told("nodes")}["evil"] == "revoked"
        again = grid.invite("evil")
        assert (again.returncode, again.stderr.count("\n")) == (2, 1)
        assert "another name" in again.stderr
        (task,) = grid.told("tasks")
        assert task["nodes"] == ["good"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sites.toml"], "--serve-nats"),
        (["sites.toml", "--serve-nats", "nowhere"], "no place to listen"),
        (["sites.toml", "--serve-nats", ":1", "--nats", "nats://x"], "--serve-nats"),
        (["no-such.toml", "--serve-nats", ":4222"], "no-such.toml"),
        (["invite"], "say which node"),
        (["invite", "Bad Name", "--nats", "nats://x"], "cannot name a node"),
        (["invite", "n1"], "start it first"),
        (["nodes"], "no manager was there yet"),
        (["revoke", "n1"], "no manager was there yet"),
        (["drain"], "no manager's run"),
        (["nodes", "--catalog", "postgresql://?x=1"], "is not understood"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sites.toml").write_text('[site.a]\nseeds = ["http://127.0.0.1:9/"]\n')
    done = headgate_here("manager", *arguments, "--out", "col")
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_port_in_use_is_told_before_a_run_begins(tmp_path: Path) -> None:
    sites = tmp_path / "sites.toml"
    sites.write_text('[site.a]\nseeds = ["http://127.0.0.1:9/"]\n')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        done = headgate_here("manager", sites, "--serve-nats", place, "--out", tmp_path / "col")
    assert done.returncode == 2, done.stderr
    assert "the port is in use" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "col").exists(), "no unfinished run keeps others out"


def test_with_postgresql_another_manager_takes_over_and_its_absence_is_waited_for(
    tmp_path: Path, postgres: Postgres
) -> None:
    web = SmallWeb(12, held_after=4)
    with grid_on_loopback(tmp_path, [web], postgres.new_catalog()) as grid:
        grid.write_sites(lease="60s")
        first = grid.manager("--once", "--quiet")
        grid.node("n1")
        grid.wait(lambda: any(task["state"] == "leased" for task in grid.told("tasks")))
        second = grid.manager("--once", "--quiet", beside=True)
        assert second.stderr is not None
        assert "another manager has this catalog" in second.stderr.readline()
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert "here" in second.stderr.readline(), "it answers the node now"
        postgres.kill()
        time.sleep(1.0)
        postgres.start()
        web.held_after = None
        _, err = second.communicate(timeout=120)
        assert second.returncode == 0, err
        assert "trying again" in err
        report = grid.report()
        assert [(site["state"], site["pages"]) for site in report["sites"]] == [("done", 12)]
