"""CAN: boxes fill the space whatever joins, leaves and fails; routes arrive."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate.features.grid.placement.can import Can

coordinates = st.tuples(st.floats(0, 100), st.floats(0, 100)).map(np.array)


class CanMachine(RuleBasedStateMachine):
    """The oracle of an owner is the box that holds the point; of a route, that it ends there."""

    def __init__(self) -> None:
        super().__init__()
        self.can = Can((0.0, 0.0), (100.0, 100.0))
        self.next = 0

    @rule(place=coordinates)
    def join(self, place: np.ndarray) -> None:
        self.can.join(self.next, place)
        self.next += 1

    @precondition(lambda self: len(self.can.places) > 1)
    @rule(lot=st.integers(0, 1000))
    def leave(self, lot: int) -> None:
        machine = sorted(self.can.places)[lot % len(self.can.places)]
        heirs = self.can.leave(machine)
        assert abs(sum(heirs.values()) - 1) < 1e-9

    @precondition(lambda self: len(self.can.places) > 1)
    @rule(lot=st.integers(0, 1000))
    def fail(self, lot: int) -> None:
        machine = sorted(self.can.places)[lot % len(self.can.places)]
        near = self.can.neighbours(machine)
        volumes = {other: self.can.volume(other) for other in near}
        assert self.can.fail(machine) in [k for k in near if volumes[k] == min(volumes.values())]

    @precondition(lambda self: self.can.places)
    @rule(lot=st.integers(0, 1000), key=coordinates)
    def route(self, lot: int, key: np.ndarray) -> None:
        way = self.can.route(sorted(self.can.places)[lot % len(self.can.places)], key)
        assert way[-1] == self.can.owner(key)
        assert len(way) <= 2 * len(self.can.places)

    @invariant()
    def whole(self) -> None:
        self.can.check()


TestCanMachine = CanMachine.TestCase
TestCanMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@given(st.lists(coordinates, min_size=2, max_size=12, unique_by=lambda p: (p[0], p[1])))
def test_only_joins_leave_every_machine_a_box_of_its_own(places: list[np.ndarray]) -> None:
    can = Can((0.0, 0.0), (101.0, 101.0))
    for machine, place in enumerate(places):
        can.join(machine, place)
    assert len(can.boxes) == len(places)


def test_each_keeps_its_own_coordinate() -> None:
    can = Can((0.0, 0.0), (100.0, 50.0))
    can.join(0, np.array([10.0, 10.0]))
    can.join(1, np.array([30.0, 10.0]))
    assert can.owner(np.array([19.0, 40.0])) == 0
    assert can.owner(np.array([21.0, 40.0])) == 1


def test_a_box_goes_to_the_neighbour_that_makes_a_box_of_it() -> None:
    can = Can((0.0, 0.0), (100.0, 100.0))
    for machine, place in enumerate(([10.0, 10.0], [90.0, 10.0], [90.0, 90.0])):
        can.join(machine, np.array(place))
    assert can.leave(2) == {1: 1.0}
    assert len(can.boxes) == 2


def test_a_sixth_task_goes_to_the_neighbour_with_the_fewest() -> None:
    can = Can((0.0, 0.0), (100.0, 50.0))
    for machine, x in enumerate((10.0, 50.0, 90.0)):
        can.join(machine, np.array([x, 25.0]))
    key = np.array([50.0, 25.0])
    assert can.receiver(key, {1: 4}) == 1
    assert can.receiver(key, {0: 2, 1: 5, 2: 1}) == 2
    assert can.receiver(key, {0: 5, 1: 5, 2: 5}) == 1
