"""What no node here can do waits for another, and says for which."""

from __future__ import annotations

from headgate.features.grid.protocol import Inability
from headgate.features.grid.scheduler.inabilities import Inabilities, WaitForNodes
from headgate.features.grid.scheduler.records import BoardTask


def task(number: int, site: str) -> BoardTask:
    return BoardTask(
        number, site, host=site, value=0.0, due=None, expected_bytes=0.0, expected_seconds=0.0,
        nodes_at_once=1, audit_of=None, not_group=None,
    )  # fmt: skip


def told() -> Inabilities:
    inabilities = Inabilities()
    inabilities.note(1, "desktop", Inability.PRIVATE_ADDRESS, "10.0.0.1 is private")
    return inabilities


def test_a_node_does_not_get_again_what_it_cannot_do() -> None:
    assert told().of("desktop") == {1}
    assert told().of("server") == set()


def test_a_run_waits_for_a_node_and_says_for_which() -> None:
    wait, inabilities, tasks = WaitForNodes(600.0), told(), [task(1, "intranet")]
    (remark,) = wait.look(0.0, tasks, inabilities, {"desktop"})
    assert remark.startswith("intranet waits for a node that may reach its private address")
    assert "desktop says: 10.0.0.1 is private" in remark
    assert wait.look(1.0, tasks, inabilities, {"desktop"}) == [], "once"
    assert not wait.is_over(599.0)
    assert wait.is_over(600.0)


def test_the_time_begins_anew_when_something_was_done_or_a_node_came() -> None:
    wait, inabilities, tasks = WaitForNodes(600.0), told(), [task(1, "intranet")]
    wait.look(0.0, tasks, inabilities, {"desktop"})
    wait.busy()
    assert not wait.is_over(600.0)
    wait.look(600.0, tasks, inabilities, {"desktop"})
    assert wait.look(700.0, tasks, inabilities, {"desktop", "server"}) == []
    assert not wait.is_over(1200.0), "the server may do it"
    inabilities.note(1, "server", Inability.HOST, "not allowed")
    wait.look(1200.0, tasks, inabilities, {"desktop", "server"})
    assert wait.is_over(1800.0)


def test_without_anything_said_a_run_waits_for_nodes_for_ever() -> None:
    wait, inabilities = WaitForNodes(600.0), told()
    wait.look(0.0, [task(1, "intranet"), task(2, "open")], inabilities, {"desktop"})
    assert not wait.is_over(1e9)
