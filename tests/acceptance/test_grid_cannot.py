"""A site that none of the nodes can reach stays open, and is crawled when one comes that can."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.grid_on_loopback import grid_on_loopback
from tests.acceptance.small_web import SmallWeb

pytest.importorskip("nats")


def test_a_site_at_a_private_address_waits_for_a_node_that_may_ask_it(tmp_path: Path) -> None:
    with grid_on_loopback(tmp_path, [SmallWeb(7)]) as grid:
        manager = grid.manager("--once", "--wait-for-nodes", "3s")
        grid.wait(lambda: grid.invite("desktop").returncode == 0)
        desktop = grid.start("node", grid.folder / "desktop.token")
        _, words = manager.communicate(timeout=60)
        assert manager.returncode != 0, words
        assert "s0 waits for a node that may reach its private address" in words
        assert "desktop says: 127.0.0.1:" in words
        desktop.terminate()
        _, own_words = desktop.communicate(timeout=30)
        assert "s0 is given back: 127.0.0.1:" in own_words
        assert not grid.webs[0].asked

        manager = grid.manager("--once")
        server = grid.node("server")
        _, words = manager.communicate(timeout=60)
        assert manager.returncode == 0, words
        assert server.wait(60) == 0
        assert grid.report()["sites"][0]["pages"] == 7
