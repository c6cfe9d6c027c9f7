"""A grid whose disks are full, at either side: small file systems in memory."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.grid_on_loopback import grid_on_loopback
from tests.acceptance.small_web import SmallWeb

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def pages_in(out: Path) -> list[str]:
    """Of the indexes, robots.txt left out: who goes on may ask for it again."""
    lines = [
        json.loads(line.split(" ", 2)[2])
        for index in out.glob("runs/*/index.cdxj")
        for line in index.read_text().splitlines()
    ]
    return sorted(line["url"] for line in lines if line["url"].endswith(".html"))


def test_a_nodes_full_disk_costs_no_page(tmp_path: Path) -> None:
    """Its task goes to another, which has room."""
    web = SmallWeb(20, random_bytes=20_000, seconds_per_page=0.1)
    small = tmp_path / "small"
    with grid_on_loopback(tmp_path, [web]) as grid, small_disk(small, "300m"):
        manager = grid.manager("--once")
        full = grid.node("anna", "--spool", str(small))
        grid.wait(lambda: len(web.served) > 5)
        with contextlib.suppress(OSError), (small / "others").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 20))
        grid.node("ben")
        _, error = manager.communicate(timeout=240)
        assert manager.returncode == 0, error
        full.kill()
        _, told = full.communicate()
        assert "tasks are given back" in told, told
        assert "nothing is claimed while only" in told, told
    assert pages_in(grid.out) == sorted(web.urls)


def test_while_the_managers_disk_is_full_nothing_is_given_out_and_nothing_lost(
    tmp_path: Path,
) -> None:
    web = SmallWeb(12)
    with (
        grid_on_loopback(tmp_path, [web]) as grid,
        small_disk(grid.out, "64m"),
    ):
        manager = grid.manager("--once")
        grid.node("anna")
        grid.wait(lambda: any(node["state"] == "here" for node in grid.told("nodes")))
        assert manager.poll() is None, "it waits"
        assert not web.asked
        subprocess.run(["mount", "-o", "remount,size=2g", grid.out], check=True)
        _, error = manager.communicate(timeout=240)
        assert manager.returncode == 0, error
        assert pages_in(grid.out) == sorted(web.urls)
