"""How fast nodes are taken to be, and how much they may tell."""

from __future__ import annotations

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.progress import Progress
from headgate.features.grid.protocol import Beat
from headgate.features.grid.scheduler.node_registry import NodeRegistry


def test_a_task_that_was_taken_up_again_tells_the_speed_of_its_last_leg_only() -> None:
    """What was brought before counts among its bytes, and not in its seconds."""
    registry = NodeRegistry()
    registry.heard("anna", 0.0, 0.0)
    registry.done(
        "anna",
        Progress("a", started=5000.0, ended=5010.0, wire_bytes=90_100, earlier_wire_bytes=90_000),
    )
    assert registry.rows["anna"].speed == 10.0


def test_a_node_tells_of_as_many_servers_as_its_tasks_may_have() -> None:
    registry = NodeRegistry()
    registry.heard("anna", 0.0, 0.0)
    for number in range(20):
        more = {f"10.{number}.0.{k}": ServerTally({f"{k}.test"}, requests=1) for k in range(250)}
        registry.beat("anna", Beat(life=1, number=number, servers=more), 0.0)
    few = len(registry.servers)
    assert 0 < few <= 1000
    registry.gave("anna", "a.test")
    again = {"10.0.0.0": ServerTally({"0.test"}, requests=5), "::1": ServerTally({"x"}, requests=1)}
    registry.beat("anna", Beat(life=1, number=30, servers=again), 0.0)
    assert registry.servers["10.0.0.0"].requests == 6, "of known ones as often as it likes"
    assert len(registry.servers) == few + 1
    hosts = {f"{k}.example" for k in range(10_000)}
    lie = {"10.0.0.0": ServerTally(hosts, requests=1)}
    registry.beat("anna", Beat(life=1, number=31, servers=lie), 0.0)
    assert len(registry.servers["10.0.0.0"].hosts) == 1
