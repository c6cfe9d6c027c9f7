"""CAN, a content-addressable network in the plane (Ratnasamy et al. 2001), as SARSS uses it.

Every machine owns a box of the coordinate space, and a host's tasks go to the owner of the box that
it lies in. A machine **joins** at its own coordinate: the box there is split across its longest
side, halfway between the two coordinates, so that each keeps its own. One that **leaves** hands its
box to the neighbour with which it makes a box again, or else to the one with the smallest; when it
**fails**, neighbours wait as long as their own volume, so the smallest takes over. **Routing** is
greedy, to the neighbour whose box is closest to the key: about (d/4)·n^(1/d) hops.

Invariant (`check`): the boxes fill the space and do not overlap. A join, leave or hop is O(boxes).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headgate.features.grid.placement.batches import FloatArray, as_floats

__all__ = ["Box", "Can"]

_TASKS_THAT_WAIT = 5


@dataclass(frozen=True, slots=True)
class Box:
    """From ``low`` to below ``high``."""

    low: tuple[float, float]
    high: tuple[float, float]
    owner: int

    @property
    def volume(self) -> float:
        return (self.high[0] - self.low[0]) * (self.high[1] - self.low[1])

    def holds(self, point: FloatArray) -> bool:
        return all(self.low[d] <= point[d] < self.high[d] for d in (0, 1))

    def distance(self, point: FloatArray) -> float:
        away = [max(self.low[d] - point[d], 0.0, point[d] - self.high[d]) for d in (0, 1)]
        return float(np.hypot(*away))

    def touches(self, other: Box) -> bool:
        """Along an edge, not at a corner only."""
        for d in (0, 1):
            beside = self.high[d] == other.low[d] or other.high[d] == self.low[d]
            e = 1 - d
            if beside and self.low[e] < other.high[e] and other.low[e] < self.high[e]:
                return True
        return False

    def joined(self, other: Box) -> Box | None:
        """Both as one box of this owner, where they make one."""
        for d in (0, 1):
            e = 1 - d
            alike = (self.low[e], self.high[e]) == (other.low[e], other.high[e])
            if alike and (self.high[d] == other.low[d] or other.high[d] == self.low[d]):
                low = min(self.low, other.low)
                return Box(low, max(self.high, other.high), self.owner)
        return None


@dataclass(slots=True)
class Can:
    """Machines by number; ``places`` are those of the machines that are here."""

    low: tuple[float, float]
    high: tuple[float, float]
    boxes: list[Box] = field(default_factory=list)
    places: dict[int, FloatArray] = field(default_factory=dict)

    def owner(self, point: FloatArray) -> int:
        return self._box_at(point).owner

    def join(self, machine: int, place: FloatArray) -> None:
        place = self._inside(place)
        self.places[machine] = place
        if not self.boxes:
            self.boxes.append(Box(self.low, self.high, machine))
            return
        box = self._box_at(place)
        self.boxes.remove(box)
        self.boxes += _split(box, self.places[box.owner], machine, place)

    def leave(self, machine: int) -> dict[int, float]:
        """In order; who takes over, and how large a part of the machine's space."""
        del self.places[machine]
        orphans = [box for box in self.boxes if box.owner == machine]
        self.boxes = [box for box in self.boxes if box.owner != machine]
        whole = sum(box.volume for box in orphans)
        heirs: dict[int, float] = {}
        while orphans and self.places:
            # A piece may touch no other machine before another piece has been given away.
            box = next(box for box in orphans if any(map(box.touches, self.boxes)))
            orphans.remove(box)
            heir = self._heir(box)
            heirs[heir] = heirs.get(heir, 0.0) + box.volume / whole
            self._give(box, heir)
        return heirs

    def fail(self, machine: int) -> int | None:
        """Silent; who takes over all of it: the neighbour with the smallest space."""
        near = self.neighbours(machine)
        del self.places[machine]
        orphans = [box for box in self.boxes if box.owner == machine]
        self.boxes = [box for box in self.boxes if box.owner != machine]
        if not near:
            return None
        heir = min(near, key=lambda other: (self.volume(other), other))
        for box in orphans:
            self._give(box, heir)
        return heir

    def volume(self, machine: int) -> float:
        return sum(box.volume for box in self.boxes if box.owner == machine)

    def neighbours(self, machine: int) -> set[int]:
        own = [box for box in self.boxes if box.owner == machine]
        touching = {other.owner for other in self.boxes for box in own if box.touches(other)}
        return touching - {machine}

    def route(self, start: int, key: FloatArray) -> list[int]:
        """The machines on the way to the owner of ``key``, both ends with it."""
        key = self._inside(key)
        way, goal = [start], self.owner(key)
        while way[-1] != goal:
            near = self.neighbours(way[-1]) - set(way)
            if not near:
                # Only with boxes of several pieces: step back to where there is another way.
                near = {goal}
            way.append(min(near, key=lambda other: (self._distance(other, key), other)))
        return way

    def receiver(self, key: FloatArray, waiting: dict[int, int]) -> int:
        """The machine that takes a host's task: the owner; where five wait there, the neighbour
        with the fewest, and so on as long as there are fewer."""
        here = self.owner(self._inside(key))
        while waiting.get(here, 0) >= _TASKS_THAT_WAIT:
            near = self.neighbours(here)
            least = min(near, key=lambda other: (waiting.get(other, 0), other), default=here)
            if waiting.get(least, 0) >= waiting.get(here, 0):
                break
            here = least
        return here

    def check(self) -> None:
        whole = (self.high[0] - self.low[0]) * (self.high[1] - self.low[1])
        assert not self.boxes or np.isclose(sum(box.volume for box in self.boxes), whole)
        assert {box.owner for box in self.boxes} == set(self.places)
        for k, box in enumerate(self.boxes):
            assert box.volume > 0
            for other in self.boxes[:k]:
                apart = (box.high[d] <= other.low[d] or other.high[d] <= box.low[d] for d in (0, 1))
                assert any(apart)

    def _box_at(self, point: FloatArray) -> Box:
        point = self._inside(point)
        return next(box for box in self.boxes if box.holds(point))

    def _inside(self, point: FloatArray) -> FloatArray:
        """The edge on the far side belongs to no box: a point on it or beyond is moved in."""
        return as_floats(np.clip(point, self.low, np.nextafter(self.high, self.low)))

    def _distance(self, machine: int, key: FloatArray) -> float:
        return min(box.distance(key) for box in self.boxes if box.owner == machine)

    def _heir(self, orphan: Box) -> int:
        near = [box for box in self.boxes if box.touches(orphan)]
        merging = [box for box in near if orphan.joined(box) is not None]
        return min(merging or near, key=lambda box: (self.volume(box.owner), box.owner)).owner

    def _give(self, box: Box, owner: int) -> None:
        """With whatever it makes one box with."""
        given = Box(box.low, box.high, owner)
        for own in [other for other in self.boxes if other.owner == owner]:
            joined = given.joined(own)
            if joined is not None:
                self.boxes.remove(own)
                self._give(joined, owner)
                return
        self.boxes.append(given)


def _split(box: Box, kept: FloatArray, machine: int, place: FloatArray) -> tuple[Box, Box]:
    """Halfway between the two coordinates where the longest side has room between them, else across
    the other side; in the middle where the owner's own coordinate is elsewhere or the same."""
    sides = [box.high[d] - box.low[d] for d in (0, 1)]
    for d in sorted((0, 1), key=lambda d: -sides[d]):
        cut = float(kept[d] + place[d]) / 2
        between = min(kept[d], place[d]) < cut <= max(kept[d], place[d])
        if box.holds(kept) and between and box.low[d] < cut < box.high[d]:
            break
    else:
        d = int(np.argmax(sides))
        cut = (box.low[d] + box.high[d]) / 2
    middle_high, middle_low = list(box.high), list(box.low)
    middle_high[d] = middle_low[d] = cut
    below, above = (
        (box.low, (middle_high[0], middle_high[1])),
        ((middle_low[0], middle_low[1]), box.high),
    )
    mine, theirs = (below, above) if place[d] < cut else (above, below)
    return Box(*theirs, box.owner), Box(*mine, machine)
