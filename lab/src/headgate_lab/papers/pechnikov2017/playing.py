"""Simulates a pull: machines ask, work, and ask again; times and speeds are the true ones, which
the algorithm does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from headgate.features.grid.placement.batches import FloatArray
from headgate.features.grid.placement.pull import Part, Pull

__all__ = ["Played", "play_pull"]


@dataclass(frozen=True, slots=True)
class Played:
    makespan: float
    done: list[Part]
    """In the order of their ends."""
    lost_share: float
    """Work on second copies that did not count, as a part of all work."""


def play_pull(
    pull: Pull, work: FloatArray, speeds: FloatArray, asking: Sequence[int] | None = None
) -> Played:
    """``asking`` is the order in which machines ask at the start (default: by number)."""
    return _Play(pull, work, speeds).to_the_end(asking or range(len(speeds)))


class _Play:
    def __init__(self, pull: Pull, work: FloatArray, speeds: FloatArray) -> None:
        self._pull, self._work, self._speeds = pull, work, speeds
        self._ends: list[tuple[float, int, Part]] = []
        """When a machine will have done its part."""
        self._started: dict[int, float] = {}
        self._idle: list[int] = []
        self._lost = 0.0

    def to_the_end(self, asking: Sequence[int]) -> Played:
        now, done = 0.0, []
        self._idle = list(asking)
        self._ask(now)
        while self._ends:
            now, machine, part = heappop(self._ends)
            self._idle.append(machine)
            if self._pull.ended(part):
                done.append(part)
                self._stop_copies(part, now)
            self._ask(now)
        return Played(now, done, self._lost / float(self._work.sum()))

    def _ask(self, now: float) -> None:
        asking, self._idle = self._idle, []
        for machine in asking:
            part = self._pull.next_part()
            if part is None:
                self._idle.append(machine)
                continue
            seconds = part.share * float(self._work[part.site] / self._speeds[machine])
            self._started[machine] = now
            heappush(self._ends, (now + seconds, machine, part))

    def _stop_copies(self, part: Part, now: float) -> None:
        copies = [entry for entry in self._ends if entry[2] == part]
        if not copies:
            return
        for entry in copies:
            self._ends.remove(entry)
            machine = entry[1]
            self._lost += (now - self._started[machine]) * float(self._speeds[machine])
            self._idle.append(machine)
        heapify(self._ends)
