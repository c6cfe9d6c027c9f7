"""How fast nodes are taken to be."""

from __future__ import annotations

from headgate.control.node_roll import NodeRoll
from headgate.crawling.progress import Progress


def test_a_task_that_was_taken_up_again_tells_the_speed_of_its_last_leg_only() -> None:
    """What was brought before counts among its bytes, and not in its seconds."""
    roll = NodeRoll()
    roll.heard("anna", 0.0, 0.0)
    roll.done(
        "anna",
        Progress("a", started=5000.0, ended=5010.0, wire_bytes=90_100, earlier_wire_bytes=90_000),
    )
    assert roll.rows["anna"].speed == 10.0
