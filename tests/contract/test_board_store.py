"""What the board of a grid relies on wherever it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from headgate.control.catalog import Outcome
from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.protocol import Lease
from headgate.features.grid.scheduler.records import (
    Audit,
    BoardState,
    BoardTask,
    Changes,
    LeaseEnding,
    LeaseRow,
    NewTask,
    NodeFigures,
    NodeRow,
)
from headgate.model.errors import HeadgateError
from headgate.storage.catalog.postgres import PostgresCatalog
from headgate.storage.catalog.sql_catalog import SqlCatalog
from headgate.storage.catalog.sqlite import SqliteCatalog

RUN = "2026-01-01T00-00-00"
Reopen = Callable[[], SqlBoard]
"""The same board as whoever opens it next finds it."""


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    url = ""
    if request.param == "PostgreSQL":
        url = request.getfixturevalue("postgres").new_catalog()
    with ExitStack() as opened:

        def again() -> SqlBoard:
            opened.close()
            catalog: SqlCatalog = (
                PostgresCatalog(url) if url else SqliteCatalog(tmp_path / "catalog.sqlite")
            )
            opened.enter_context(catalog)
            catalog.begin_run(RUN, 1.0, "{}")
            return SqlBoard(catalog.database)

        yield again


def new_task(site: str, **changes: object) -> NewTask:
    values = {
        "run": RUN, "site": site, "host": f"{site}.test", "spec": f'"{site}"'.encode(),
        "value": 5.0, "due": 99.5, "expected_bytes": 1e6, "expected_seconds": 60.0,
    }  # fmt: skip
    return NewTask(**{**values, **changes})  # type: ignore[arg-type]


def given(board: SqlBoard, task: BoardTask, node: str, place: int = 0) -> LeaseRow:
    """A lease as the board gives and stores it."""
    before, task.epoch, task.state = task.epoch, task.epoch + 1, BoardState.LEASED
    row = LeaseRow(
        Lease(task.id, task.epoch),
        node,
        claim=f"c{task.id}.{task.epoch}",
        host=task.host,
        place=place,
        given=10.0,
    )
    board.save(Changes({task.id: task}, {task.id: before}, {row.lease: row}))
    return row


def test_of_tasks_never_given_out_the_order_is_read_first(reopen: Reopen) -> None:
    board = reopen()
    one, two, three = board.add_tasks([
        new_task("a"), new_task("b", due=None), new_task("c", due=None, value=7.0)
    ])  # fmt: skip
    (audit,) = board.add_tasks([new_task("a", audit_of=one.id, not_group="home")])
    given(board, two, "n")
    board = reopen()
    assert board.begun_tasks(RUN) == [two, audit]
    assert sorted(board.waiting(RUN)) == [(0, 39.5, one.id), (1, -7.0, three.id)]
    assert board.tasks_of([three.id, one.id]) == [three, one]


def test_tasks_are_there_for_the_next_manager_and_once(reopen: Reopen) -> None:
    board = reopen()
    one, two = board.add_tasks([new_task("a"), new_task("b", due=None, nodes_at_once=2)])
    assert board.add_tasks([new_task("a", value=7.0)]) == [one], "it is there already"
    audit = board.add_tasks([new_task("a", audit_of=one.id, not_group="home")])
    board = reopen()
    assert board.tasks(RUN) == [one, two, *audit]
    assert (one.site, one.host, one.due, one.expected_bytes) == ("a", "a.test", 99.5, 1e6)
    assert (two.due, two.nodes_at_once, two.state) == (None, 2, BoardState.READY)
    assert (audit[0].audit_of, audit[0].not_group) == (one.id, "home")
    assert board.spec(two.id) == b'"b"'
    assert board.tasks("another run") == []
    assert board.count(RUN) == {BoardState.READY: 3}


def test_leases_that_are_open_are_found_again(reopen: Reopen) -> None:
    board = reopen()
    one, two = board.add_tasks([new_task("a"), new_task("b")])
    row, over = given(board, one, "n1"), given(board, two, "n2")
    over.ended, over.how, over.wire_bytes = 20.0, LeaseEnding.EXPIRED, 300
    board.save(Changes(leases={over.lease: over}))
    board = reopen()
    assert board.open_leases(RUN) == [row]
    assert board.lease(over.lease) == over
    assert board.lease(Lease(one.id, 99)) is None
    assert [task.epoch for task in board.tasks(RUN)] == [1, 1]


def test_how_long_tasks_were_held_outlives_the_manager(reopen: Reopen) -> None:
    board = reopen()
    assert board.losses(RUN) == (0, 0.0)
    one, two = board.add_tasks([new_task("a"), new_task("b")])
    one.lost, one.held_seconds = 2, 70.5
    two.held_seconds, two.state = 1000.0, BoardState.DONE
    board.save(Changes({one.id: one, two.id: two}, {one.id: 0, two.id: 0}))
    board = reopen()
    assert board.tasks(RUN) == [one]
    assert board.losses(RUN) == (2, 1070.5), "also of those that are done"
    assert board.losses("another run") == (0, 0.0)


def test_a_host_has_as_many_leases_as_places_whatever_a_manager_thinks(reopen: Reopen) -> None:
    board = reopen()
    one, two = board.add_tasks([new_task("a"), new_task("b", host="a.test")])
    given(board, one, "n1")
    with pytest.raises(HeadgateError):
        given(board, two, "n2")
    board = reopen()
    assert len(board.open_leases(RUN)) == 1
    assert [task.epoch for task in board.tasks(RUN)] == [1, 0], "all or nothing"


def test_leases_of_other_runs_give_way_to_the_run_that_is_opened(reopen: Reopen) -> None:
    board = reopen()
    earlier, over = board.add_tasks([new_task("a"), new_task("b")])
    left, ended = given(board, earlier, "n1"), given(board, over, "n1")
    ended.ended, ended.how = 11.0, LeaseEnding.EXPIRED
    board.save(Changes(leases={ended.lease: ended}))
    later = "2026-01-02T00-00-00"
    SqlCatalog(board.database).begin_run(later, 2.0, "{}")
    (task,) = board.add_tasks([new_task("a", run=later)])
    own = given(board, task, "n2", place=1)
    left.ended, left.how = 12.0, LeaseEnding.LEFT
    assert board.end_others(later, 12.0) == [left]
    assert board.end_others(later, 13.0) == [], "they have ended"
    (again,) = board.add_tasks([new_task("a", run=later, visit=1)])
    taken = given(board, again, "n2")
    board = reopen()
    assert board.open_leases(later) == [own, taken]
    assert board.open_leases(RUN) == []
    assert board.lease(left.lease) == left, "it was given: a late result counts"
    assert board.lease(ended.lease) == ended


def test_results_are_awaited_while_their_run_goes_on(reopen: Reopen) -> None:
    board = reopen()
    (task,) = board.add_tasks([new_task("a")])
    first, second = given(board, task, "n1"), given(board, task, "n2", place=1)
    assert board.is_awaited(first.lease)
    task.state, task.winner = BoardState.RECEIVED, second.lease.epoch
    board.save(Changes({task.id: task}, {task.id: task.epoch}))
    assert [board.is_awaited(row.lease) for row in (first, second)] == [False, True]
    SqlCatalog(board.database).end_run(RUN, 2.0, Outcome.FINISHED)
    assert not board.is_awaited(second.lease)


def test_of_two_managers_the_later_is_told(reopen: Reopen) -> None:
    board = reopen()
    (mine,) = board.add_tasks([new_task("a")])
    (theirs,) = board.tasks(RUN)
    row = given(board, theirs, "n2")
    row.ended = 11.0
    board.save(Changes(leases={row.lease: row}))
    with pytest.raises(HeadgateError, match="another manager"):
        given(board, mine, "n1")
    assert board.open_leases(RUN) == []


def test_a_result_counts_for_the_node_that_brought_it(reopen: Reopen) -> None:
    board = reopen()
    one, two = board.add_tasks([new_task("a"), new_task("b")])
    won, lost = given(board, one, "n1"), given(board, two, "n2")
    won.ended, won.how, won.pages, won.wire_bytes = 30.0, LeaseEnding.COMMITTED, 7, 7000
    lost.ended, lost.how, lost.wire_bytes = 30.0, LeaseEnding.EXPIRED, 50
    one.state, one.winner = BoardState.DONE, 1
    changes = Changes(
        {one.id: one}, {one.id: 1}, {won.lease: won, lost.lease: lost}, {one.id: b"m"}
    )
    board.save(changes)
    again = given(board, two, "n1")
    board = reopen()
    assert board.count(RUN) == {BoardState.DONE: 1, BoardState.LEASED: 1}
    assert board.winner(one.id) == 1
    assert board.done(RUN) == [("a", won.lease)]
    assert board.manifest(one.id) == b"m"
    assert board.manifest(two.id) is None
    assert board.figures(RUN) == board.figures() == {
        "n1": NodeFigures(leases=2, open=1, committed=1, pages=7, wire_bytes=7000),
        "n2": NodeFigures(leases=1, lost=1, wasted_bytes=50),
    }  # fmt: skip
    assert board.figures("another") == {}
    newest, oldest = board.listing(None, 10)
    assert (newest.id, newest.nodes, newest.state) == (two.id, ("n1",), BoardState.LEASED)
    assert (oldest.id, oldest.nodes, oldest.state) == (one.id, ("n1",), BoardState.DONE)
    assert [task.id for task in board.listing(BoardState.DONE, 10)] == [one.id]
    assert [task.id for task in board.listing(None, 1)] == [two.id]
    assert again.node == "n1"


def test_nodes_are_invited_heard_of_and_revoked(reopen: Reopen) -> None:
    board = reopen()
    assert board.invite("n1", "home", "key", 5.0)
    heard = NodeRow(
        name="n1", group="ignored", slots=4, joined=9.0, seen=50.0, life=2, up_seconds=30.0,
        reference_seconds=0.5, speed=1e6, bandwidth=3e5,
    )  # fmt: skip
    board.save(Changes(nodes={"n1": heard, "n2": NodeRow(name="n2", seen=51.0)}))
    assert board.revoke("n2")
    assert not board.revoke("nobody")
    nodes = reopen().nodes()
    found = nodes["n1"]
    assert (found.group, found.token_key, found.joined) == ("home", "key", 5.0)
    assert (found.slots, found.seen, found.life, found.speed) == (4, 50.0, 2, 1e6)
    assert (found.reference_seconds, found.bandwidth) == (0.5, 3e5)
    assert [nodes[name].revoked for name in ("n1", "n2")] == [False, True]
    board = reopen()
    board.save(Changes(nodes={"n2": NodeRow(name="n2", seen=60.0)}))
    assert board.nodes()["n2"].revoked, "a beat does not let it in again"
    assert not board.invite("n2", "", "new key", 70.0), "its earlier tokens would be good again"
    assert board.nodes()["n2"].revoked
    assert board.invite("n1", "work", "newer", 71.0)
    assert (board.nodes()["n1"].group, board.nodes()["n1"].token_key) == ("work", "newer")


def test_the_newest_connect_times_of_a_host_are_kept(reopen: Reopen) -> None:
    board = reopen()
    many = {(f"n{number}", "a.test"): (0.01, float(number)) for number in range(70)}
    board.save(Changes(connects={**many, ("n1", "b.test"): (0.2, 1.0)}))
    board.save(Changes(connects={("n69", "a.test"): (0.5, 99.0)}))
    connects = reopen().connects()
    assert connects["b.test"] == {"n1": 0.2}
    assert set(connects["a.test"]) == {f"n{number}" for number in range(6, 70)}
    assert connects["a.test"]["n69"] == 0.5


def test_audits_are_told_by_run(reopen: Reopen) -> None:
    board = reopen()
    (one,) = board.add_tasks([new_task("a")])
    audit = Audit(
        task=one.id, site="a", first="n1", second="n2", pages=9, differing=1,
        examples=("http://a.test/x",),
    )  # fmt: skip
    board.save(Changes(audits=[audit]))
    assert reopen().audits(RUN) == [audit]
