"""Tasks that are wanted no further: who has one brings what there is, and nobody gets it anew."""

from __future__ import annotations

from headgate.features.grid.coordinator.requests import EndingTasks
from headgate.features.grid.protocol import StopTask
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import BoardState, BoardTask, BoardTerms, LeaseEnding
from headgate.features.grid.scheduler.task_choice import Asker


def board_of(*hosts: str) -> Board:
    board = Board(BoardTerms(60.0))
    for number, host in enumerate(hosts, 1):
        board.add(
            BoardTask(
                number,
                f"s{number}",
                host=host,
                value=0.0,
                due=None,
                expected_bytes=0.0,
                expected_seconds=0.0,
                nodes_at_once=1,
                audit_of=None,
                not_group=None,
            )
        )
    return board


def test_one_that_nobody_has_is_dropped_at_once() -> None:
    board = board_of("a", "b")
    EndingTasks(board).end(1, "enough")
    assert [task.id for task in board.tasks.in_state(BoardState.DROPPED)] == [1]
    held = board.claim(Asker("anna", "c1"), 0.0, 0.0)
    assert held is not None
    assert held.task.id == 2


def test_who_has_one_hears_of_it_until_it_is_given_back() -> None:
    board = board_of("a")
    ending = EndingTasks(board)
    held = board.claim(Asker("anna", "c1"), 0.0, 0.0)
    assert held is not None
    assert not ending.orders([held.row.lease])
    ending.end(1, "enough")
    for _ in range(2):
        assert ending.orders([held.row.lease]) == (StopTask(lease=held.row.lease, why="enough"),)
    board.give_back("anna", LeaseEnding.LEFT, 1.0)
    ending.drop_waiting()
    assert board.claim(Asker("bert", "c2"), 1.0, 1.0) is None


def test_what_a_manager_before_gave_out_is_ended_and_the_rest_dropped() -> None:
    board = board_of("a", "b")
    held = board.claim(Asker("anna", "c1"), 0.0, 0.0)
    assert held is not None
    ending = EndingTasks(board)
    ending.end_all("started again")
    assert [stop.lease for stop in ending.orders([held.row.lease])] == [held.row.lease]
    assert [task.id for task in board.tasks.in_state(BoardState.DROPPED)] == [2]


def test_a_lease_that_is_to_end_leaves_its_task_to_others_should_its_node_vanish() -> None:
    board = board_of("a")
    ending = EndingTasks(board)
    held = board.claim(Asker("anna", "c1"), 0.0, 0.0)
    assert held is not None
    ending.end_lease(held.row.lease, "others can help")
    assert [stop.why for stop in ending.orders([held.row.lease])] == ["others can help"]
    board.give_back("anna", LeaseEnding.LEFT, 1.0)
    ending.drop_waiting()
    again = board.claim(Asker("bert", "c2"), 1.0, 1.0)
    assert again is not None
    assert not ending.orders([again.row.lease])
