"""Nodes that start together."""

from __future__ import annotations

from headgate.control.gathering import Gathering


def test_it_ends_when_nobody_has_come_for_a_while() -> None:
    gathering = Gathering(5.0)
    assert gathering.wait(now=10.0, last_came=10.0) == 5.0
    assert gathering.wait(now=14.0, last_came=14.0) == 5.0
    assert gathering.wait(now=19.0, last_came=14.0) == 0.0
    assert gathering.wait(now=19.5, last_came=19.5) == 0.0, "who comes later finds it over"


def test_it_ends_while_nodes_still_come() -> None:
    gathering, now = Gathering(5.0), 0.0
    while gathering.wait(now, last_came=now) > 0:
        now += 1.0
    assert now == 30.0


def test_there_may_be_none() -> None:
    assert Gathering().wait(now=1.0, last_came=1.0) == 0.0
    gathering = Gathering(5.0)
    gathering.is_over(1.0)
    assert gathering.wait(now=2.0, last_came=2.0) == 0.0
