"""One site on several nodes, as users start it: on loopback, over a real NATS server."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.acceptance.grid_on_loopback import Grid, grid_on_loopback, stored_pages
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb


def write_site(grid: Grid, lease: str, *seeds: str) -> None:
    grid.site_file.write_text(
        f'[grid]\nlease = "{lease}"\n[site.large]\nseeds = {list(seeds)}\ndelay = "0s"\n'
        "nodes_at_once = 2\n"
    )


def are_here(grid: Grid, *names: str) -> bool:
    return {node["name"] for node in grid.told("nodes") if node["state"] == "here"} >= {*names}


def crawled_alone(grid: Grid) -> set[tuple[str, str]]:
    out = grid.folder / "alone"
    done = headgate("crawl", grid.site_file, "--out", out, "--quiet")
    assert done.returncode == 0, done.stderr
    return stored_pages(out)


def test_two_nodes_share_a_site_and_leave_what_one_machine_would(tmp_path: Path) -> None:
    large, small = SmallWeb(1200, held_after=100), SmallWeb(60)
    with grid_on_loopback(tmp_path, [large, small]) as grid:
        write_site(grid, "20s", large.seed, small.seed)
        manager = grid.manager("--once", "--quiet")
        nodes = [grid.node(name) for name in ("n1", "n2")]
        grid.wait(lambda: are_here(grid, "n1", "n2"))
        large.held_after = None
        _, err = manager.communicate(timeout=300)
        assert manager.returncode == 0, err
        for node in nodes:
            node.wait(60)
        assert stored_pages(grid.out) == crawled_alone(grid)
        report = grid.report()
        (site,) = report["sites"]
        assert (site["state"], site["pages"]) == ("done", 1260)
        # Who has how much is a matter of moments here, and of the simulation (test_shared_sites).
        assert {task["site"] for task in grid.told("tasks")} == {"large"}


def test_killed_in_the_middle_of_a_round_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    web = SmallWeb(1200, held_after=100)
    with grid_on_loopback(tmp_path, [web]) as grid:
        write_site(grid, "4s", web.seed)
        manager = grid.manager("--once", "--quiet")
        doomed, other = grid.node("n1"), grid.node("n2")
        grid.wait(lambda: are_here(grid, "n1", "n2"))
        web.held_after = 650
        grid.wait(lambda: len(web.served) >= 650)
        doomed.send_signal(signal.SIGKILL)
        manager.send_signal(signal.SIGKILL)
        manager.wait()
        web.held_after = None
        manager = grid.manager("--once", "--quiet")
        _, err = manager.communicate(timeout=300)
        assert manager.returncode == 0, err
        other.wait(60)
        assert stored_pages(grid.out) == crawled_alone(grid)
        assert [(site["state"], site["pages"]) for site in grid.report()["sites"]] == [
            ("done", 1200)
        ]
