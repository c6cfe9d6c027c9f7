"""A collection kept fresh by nodes, as users start it: on loopback, over a real NATS server."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.changing_web import ChangingWeb, serving
from tests.acceptance.grid_on_loopback import Grid, grid_on_loopback
from tests.acceptance.running import headgate
from tests.acceptance.test_keep_command import versions

PAGES = {"/": ["/a", "/b"], "/a": ["/"], "/b": ["/"]}


@pytest.fixture
def webs() -> Iterator[list[ChangingWeb]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(serving(ChangingWeb(dict(PAGES)))) for _ in range(2)]


@pytest.fixture
def grid(tmp_path: Path, webs: list[ChangingWeb]) -> Iterator[Grid]:
    with grid_on_loopback(tmp_path, []) as running:
        sites = [
            f'[site.s{k}]\nseeds = ["{web.url()}"]\nmin_interval = "1s"\nfresh_within = "1h"\n'
            for k, web in enumerate(webs)
        ]
        running.site_file.write_text("\n".join(['[grid]\nlease = "3s"\n', *sites]))
        yield running


def ended(manager: subprocess.Popen[str]) -> str:
    """In order; what it said."""
    manager.send_signal(signal.SIGTERM)
    _, err = manager.communicate(timeout=60)
    assert manager.returncode == 0, err
    return err


def visit(grid: Grid, *sites: str) -> None:
    for site in sites:
        done = headgate("keep", "--visit", site, "--out", grid.out)
        assert done.returncode == 0, done.stderr


def known(grid: Grid) -> bool:
    """Both sites were visited, and that is stored."""
    return len(list(grid.out.glob("sites/*.pages"))) == 2


def looks(grid: Grid, web: ChangingWeb, path: str) -> list[str]:
    """What the archive has of a page: digests, one for each time that it was other than before."""
    return [found["digest"] for found in versions(grid.out, f":{web.port}{path}")]


def test_nodes_keep_sites_fresh(grid: Grid, webs: list[ChangingWeb]) -> None:
    """What changes is fetched again, what does not is asked about only; the archive is as that of
    a keeper on one machine, which goes on with it."""
    manager = grid.manager("--keep", "--quiet")
    for name in ("n1", "n2"):
        grid.node(name, "--slots", "1")
    grid.wait(lambda: known(grid))
    webs[0].links = {**PAGES, "/a": ["/", "/new"], "/new": []}
    visit(grid, "s0", "s1")
    grid.wait(lambda: webs[0].asked["/new"] > 0 and webs[1].asked["/b"] > 1)
    err = ended(manager)
    assert "n1 is here" in err
    assert len(looks(grid, webs[0], "/a")) == 2
    assert len(looks(grid, webs[1], "/a")) == 1
    assert len(looks(grid, webs[0], "/new")) == 1
    assert not [*grid.out.glob("spool/*"), *grid.out.glob("arriving/**/*~*")]
    told = grid.told("nodes")
    assert sum(node["committed"] for node in told) >= 4
    assert not sum(node["lost"] for node in told)
    webs[1].links = {**PAGES, "/b": ["/", "/late"], "/late": []}
    visit(grid, "s1")
    done = headgate("keep", grid.site_file, "--out", grid.out, "--once", "--quiet")
    assert done.returncode == 0, done.stderr
    assert len(looks(grid, webs[1], "/b")) == 2


def test_a_keeper_and_a_node_that_are_killed_lose_no_version(
    grid: Grid, webs: list[ChangingWeb]
) -> None:
    """The node's visit goes to the other; what was given out by the killed manager is brought to
    the next."""
    manager = grid.manager("--keep", "--quiet")
    doomed, _ = (grid.node(name, "--slots", "1") for name in ("n1", "n2"))
    grid.wait(lambda: known(grid))
    for web in webs:
        web.seconds_per_page = 0.7
        web.links = {**PAGES, "/a": ["/", "/b"]}
    visit(grid, "s0", "s1")
    grid.wait(lambda: all(web.asked["/"] > 1 for web in webs))
    doomed.kill()
    manager.kill()
    manager.wait()
    manager = grid.manager("--keep", "--quiet")
    visit(grid, "s0", "s1")
    for web in webs:
        web.seconds_per_page = 0.0
        web.asked.clear()
    grid.wait(lambda: all(web.asked["/b"] for web in webs))
    ended(manager)
    for web in webs:
        found = Counter(looks(grid, web, "/a"))
        assert len(found) == 2, "both versions"
        assert set(found.values()) == {1}, "each once"
    assert not [*grid.out.glob("spool/*"), *grid.out.glob("arriving/**/*~*")]


def test_what_belongs_to_keeping_needs_it(grid: Grid) -> None:
    done = headgate(
        "manager", grid.site_file, "--out", grid.out, "--serve-nats", ":1", "--policy", "nutch"
    )
    assert done.returncode == 2
    assert "add --keep" in done.stderr
