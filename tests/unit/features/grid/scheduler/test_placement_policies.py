"""Which node gets which task: by distance, by zones, by lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pytest
from tests.unit.features.grid.scheduler.test_board import task

from headgate.features.grid.scheduler.placement_policies import (
    ByDistance,
    ByLists,
    ByZone,
    Connects,
    CoordinateSpace,
    StartBarrier,
)
from headgate.features.grid.scheduler.records import BoardTask, NodeRow
from headgate.model.grid import Mode


@dataclass
class MadeUpGrid:
    nodes: dict[str, NodeRow]
    tasks: list[BoardTask] = field(default_factory=list)
    times: dict[str, dict[str, float]] = field(default_factory=dict)
    holding: dict[str, int] = field(default_factory=dict)
    arrivals: int = 0

    def here(self) -> Mapping[str, NodeRow]:
        return self.nodes

    def held(self, node: str) -> int:
        return self.holding.get(node, 0)

    def waiting(self) -> Sequence[BoardTask]:
        return self.tasks

    def waits(self, task: int) -> bool:
        return any(one.id == task for one in self.tasks)

    def came(self) -> int:
        return self.arrivals

    def add(self, *tasks: BoardTask) -> None:
        self.tasks += tasks
        self.arrivals += len(tasks)

    def connects(self) -> Connects:
        return self.times


def nodes(*names: str, group: str = "") -> dict[str, NodeRow]:
    return {name: NodeRow(name=name, group=group) for name in names}


def test_a_node_gets_the_host_for_which_it_is_the_best() -> None:
    times = {"h1": {"a": 0.01, "b": 0.1}, "h2": {"a": 0.1, "b": 0.01}}
    grid = MadeUpGrid(nodes("a", "b"), [task(1), task(2)], times)
    placing = ByDistance(grid, grid.connects)
    assert placing.choose("b", grid.tasks) is grid.tasks[1]
    assert placing.choose("a", grid.tasks) is grid.tasks[0]


def test_no_node_idles_because_another_is_nearer() -> None:
    times = {"h1": {"a": 0.01, "b": 0.1}}
    grid = MadeUpGrid(nodes("a", "b"), [task(1)], times)
    assert ByDistance(grid, grid.connects).choose("b", grid.tasks) is grid.tasks[0]


def test_promises_and_unknown_hosts_go_in_their_order() -> None:
    times = {"h1": {"a": 0.01, "b": 0.9}}
    promised = task(1, due=5.0)
    grid = MadeUpGrid(nodes("a", "b"), [promised, task(2)], times)
    assert ByDistance(grid, grid.connects).choose("b", grid.tasks) is promised
    grid = MadeUpGrid(nodes("a", "b"), [task(3), task(2)])
    assert ByDistance(grid, grid.connects).choose("b", grid.tasks) is grid.tasks[0]


def test_load_outweighs_a_small_distance_and_not_a_large_one() -> None:
    near = {"h1": {"a": 0.010, "b": 0.011}, "h2": {"a": 0.010, "b": 0.050}}
    grid = MadeUpGrid(nodes("a", "b"), [task(2), task(1)], near, {"a": 9, "b": 1})
    assert ByDistance(grid, grid.connects).choose("b", grid.tasks) is grid.tasks[1]


def test_the_group_stands_for_a_node_that_never_met_a_host() -> None:
    grid = MadeUpGrid(
        {**nodes("a1", "a2", group="a"), **nodes("b1", group="b")},
        [task(1), task(2)],
        {"h1": {"a1": 0.2, "b1": 0.01}, "h2": {"a1": 0.01, "b1": 0.2}},
    )
    assert ByDistance(grid, grid.connects).choose("a2", grid.tasks) is grid.tasks[1]


def test_coordinates_tell_what_was_never_measured() -> None:
    """Two clusters: what one node of a cluster measured holds for the other."""
    rng = np.random.default_rng(7)
    times: dict[str, dict[str, float]] = {}
    for k in range(24):
        own, other = ("a", "b") if k % 2 else ("b", "a")
        near = {f"{own}1": 0.01, f"{own}2": 0.012, f"{other}1": 0.1, f"{other}2": 0.11}
        kept = rng.permutation(list(near))[:3]
        times[f"h{k}"] = {str(name): near[str(name)] for name in kept}
    grid = MadeUpGrid(nodes("a1", "a2", "b1", "b2"), [], times)
    found = CoordinateSpace(grid, np.random.default_rng(1)).distances()
    for k in range(24):
        own, other = ("a", "b") if k % 2 else ("b", "a")
        host = found[f"h{k}"]
        assert max(host[f"{own}1"], host[f"{own}2"]) < min(host[f"{other}1"], host[f"{other}2"])


def test_zones_give_every_task_to_one_node_and_take_over_from_who_is_gone() -> None:
    times = {
        f"h{k}": {n: 0.01 * (1 + (k + i) % 4) for i, n in enumerate("abcd")} for k in range(40)
    }
    grid = MadeUpGrid(nodes(*"abcd"), [task(k) for k in range(40)], times)
    placing = ByZone(grid, CoordinateSpace(grid, np.random.default_rng(3)))

    def all_given() -> dict[str, int]:
        """Everybody asks in turn until nothing is left."""
        left, given = list(grid.tasks), dict.fromkeys(grid.nodes, 0)
        for _ in range(200):
            for node in grid.nodes:
                found = placing.choose(node, left)
                if found is not None:
                    left.remove(found)
                    given[node] += 1
        assert not left
        return given

    given = all_given()
    assert sum(given.values()) == 40
    del grid.nodes["a"]
    assert sum(all_given().values()) == 40


def test_who_comes_after_the_first_gets_the_tasks_of_its_zone() -> None:
    """The first node that asks is alone, and has the whole space for a moment."""
    times = {
        f"h{k}": {n: (0.01, 0.05, 0.1, 0.05)[(k - i) % 4] for i, n in enumerate("abcd")}
        for k in range(20)
    }
    grid = MadeUpGrid(nodes("a"), [task(k) for k in range(20)], times)
    placing = ByZone(grid, CoordinateSpace(grid, np.random.default_rng(3)))
    assert placing.choose("a", grid.tasks) is grid.tasks[0]
    grid.nodes = nodes(*"abcd")
    got = {name: placing.choose(name, grid.tasks) for name in grid.nodes}
    assert None not in got.values()
    assert len({one.id for one in got.values() if one is not None}) == 4


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.PULL])
def test_lists_give_every_task_to_one_node(mode: Mode) -> None:
    tasks = [task(k, expected_seconds=float(k), expected_bytes=1e4 * k) for k in range(1, 31)]
    grid = MadeUpGrid(nodes("a", "b", "c"), tasks)
    grid.nodes["a"].reference_seconds = 1.0
    grid.nodes["b"].reference_seconds = 2.0
    grid.nodes["c"].reference_seconds = 2.0
    placing = ByLists(grid, mode)
    owners: dict[str, list[int]] = {name: [] for name in grid.nodes}
    for one in tasks:
        for name in grid.nodes:
            if placing.choose(name, [one]) is one:
                owners[name].append(one.id)
    assert sorted(chain(*owners.values())) == list(range(1, 31))
    if mode is Mode.BATCH:
        loads = [sum(owners["a"]), 2 * sum(owners["b"]), 2 * sum(owners["c"])]
        assert max(loads) <= 1.02 * min(loads)
    before = {name: set(found) for name, found in owners.items()}
    del grid.nodes["b"]
    orphans = [one for one in tasks if one.id in before["b"]]
    assert all(
        placing.choose("a", [one]) is one or placing.choose("c", [one]) is one for one in orphans
    ), "who is gone has no list"


def test_lists_are_as_long_as_the_nodes_bandwidths_allow() -> None:
    here = {
        "slow": NodeRow(name="slow", bandwidth=100.0),
        "fast": NodeRow(name="fast", bandwidth=400.0),
        "fast, but seldom": NodeRow(name="fast, but seldom", bandwidth=400.0, speed=50.0, slots=2),
        "not limited": NodeRow(name="not limited"),  # as the usual one, by what is known
    }
    tasks = [task(number, expected_seconds=60.0) for number in range(700)]
    placing = ByLists(MadeUpGrid(here, tasks), Mode.BATCH)
    given = {name: sum(placing.choose(name, [one]) is one for one in tasks) for name in here}
    assert given == {"slow": 100, "fast": 400, "fast, but seldom": 100, "not limited": 100}


@pytest.mark.parametrize("lie", [1e300, 1e-300])
@pytest.mark.parametrize("told", ["speed", "reference_seconds", "bandwidth"])
def test_a_node_that_lies_about_its_speed_leaves_work_to_others(told: str, lie: float) -> None:
    here = {name: NodeRow(name=name, **{told: 10.0}) for name in ("a", "b", "c")}  # type: ignore[arg-type]
    here["liar"] = NodeRow(name="liar", **{told: lie})  # type: ignore[arg-type]
    tasks = [task(number, expected_seconds=60.0) for number in range(1000)]
    placing = ByLists(MadeUpGrid(here, tasks), Mode.BATCH)
    chosen = [placing.choose(name, tasks) for name in here]
    assert sum(one is not None for one in chosen) >= 3


def test_who_is_done_with_its_list_looks_at_no_other() -> None:
    """It asks every few seconds, and there may be thousands that wait for others."""
    grid = MadeUpGrid(nodes("a", "b"), [task(number) for number in range(100)])
    placing = ByLists(grid, Mode.ROUND_ROBIN)
    while (given := placing.choose("a", grid.tasks)) is not None:
        grid.tasks.remove(given)
    assert len(grid.tasks) == 50
    others = iter(grid.tasks)
    assert placing.choose("a", others) is None
    assert next(others) is grid.tasks[0]


def test_tasks_that_come_are_dealt_though_all_lists_are_done() -> None:
    grid = MadeUpGrid(nodes("a", "b"), [task(1), task(2)])
    placing = ByLists(grid, Mode.ROUND_ROBIN)

    def given_to_all() -> set[int]:
        given = [placing.choose(name, grid.tasks) for name in grid.nodes]
        grid.tasks = [one for one in grid.tasks if one not in given]
        return {one.id for one in given if one is not None}

    assert given_to_all() == {1, 2}
    assert not given_to_all()
    grid.add(task(2), task(3))  # one that was lost, and a new one
    assert given_to_all() == {2, 3}


# Nodes that start together.


def test_it_ends_when_nobody_has_come_for_a_while() -> None:
    gathering = StartBarrier(5.0)
    assert gathering.wait(now=10.0, last_came=10.0) == 5.0
    assert gathering.wait(now=14.0, last_came=14.0) == 5.0
    assert gathering.wait(now=19.0, last_came=14.0) == 0.0
    assert gathering.wait(now=19.5, last_came=19.5) == 0.0, "who comes later finds it over"


def test_it_ends_while_nodes_still_come() -> None:
    gathering, now = StartBarrier(5.0), 0.0
    while gathering.wait(now, last_came=now) > 0:
        now += 1.0
    assert now == 30.0


def test_there_may_be_none() -> None:
    assert StartBarrier().wait(now=1.0, last_came=1.0) == 0.0
    gathering = StartBarrier(5.0)
    gathering.is_over(1.0)
    assert gathering.wait(now=2.0, last_came=2.0) == 0.0
