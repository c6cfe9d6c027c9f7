"""Simulates m slots: sites run at granted rates, and a site that ends passes its grant to the next.

What the round-based schedules of Zhu et al. 2020 have in common; they differ in when they set the
grants anew. ``Slots`` holds who runs and who waits, and goes forward from one such moment to the
next. Ends are known as moments, never found by subtracting until nothing is left; what remains of
a site at a moment of change follows from its end.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from headgate.planning.arrays import FloatArray, IntArray
from headgate.planning.problem import Problem
from headgate.planning.schedule import ScheduleBuilder

__all__ = ["Allocate", "Slots"]

Allocate: TypeAlias = Callable[[FloatArray, FloatArray, float, FloatArray], FloatArray]
"""(work, seconds left to the deadlines, budget, caps) -> rates, all for the sites that run."""

_NEGLIGIBLE = 1e-9
"""A site with this share of its work left, or less, has ended: that much is rounding."""
_SAME_MOMENT = 1e-12
"""Relative; ends so near to a moment of change fall on it."""


@dataclass(slots=True, eq=False)
class Slots:
    """``running`` is never longer than m, and shorter only when nobody waits."""

    problem: Problem
    running: list[int]
    waiting: deque[int]
    left: FloatArray
    """Bytes to go, per site."""
    granted: FloatArray
    """The rate of a site's slot; the site takes it as far as its cap allows."""
    time: float
    builder: ScheduleBuilder

    @classmethod
    def filled(cls, problem: Problem, order: IntArray) -> Slots:
        """At time 0, with the first m sites of the order running."""
        queue = [int(site) for site in order]
        return cls(
            problem,
            queue[: problem.slots],
            deque(queue[problem.slots :]),
            problem.work.copy(),
            np.zeros(len(problem)),
            0.0,
            ScheduleBuilder(len(problem)),
        )

    def wait_for_capacity(self) -> float:
        """Go forward to where the budget is not 0, and return it."""
        capacity = self.problem.capacity
        while (budget := capacity.rate_at(self.time)) == 0:
            self.time = capacity.next_turn(self.time)
        return budget

    def allocate(self, allocate: Allocate, budget: float) -> None:
        """Set the grants of the running sites anew."""
        sites = self.running
        problem = self.problem
        seconds_left = problem.deadlines[sites] - self.time
        self.granted[sites] = allocate(self.left[sites], seconds_left, budget, problem.caps[sites])

    def last_end(self) -> float:
        """When the last running site ends at the current grants."""
        return max(self._end_of(site, self.time) for site in self.running)

    def serve_until(self, moment: float) -> None:
        """Go forward; a site that ends until then passes its slot and grant to the next."""
        begun = dict.fromkeys(self.running, self.time)
        ends = [(self._end_of(site, self.time), site) for site in self.running]
        heapq.heapify(ends)
        while (
            ends and self._left_at(moment, *ends[0]) <= _NEGLIGIBLE * self.problem.work[ends[0][1]]
        ):
            end, site = heapq.heappop(ends)
            end = min(end, moment)
            self.builder.add(site, begun[site], end, self._rate(site))
            if self.waiting:
                start = end if end < moment * (1 - _SAME_MOMENT) else moment
                heir = self.waiting.popleft()
                self.granted[heir] = self.granted[site]
                begun[heir] = start
                heapq.heappush(ends, (self._end_of(heir, start), heir))
        for end, site in ends:
            if begun[site] < moment:
                self.builder.add(site, begun[site], moment, self._rate(site))
                self.left[site] = self._left_at(moment, end, site)
        self.running = [site for _, site in ends]
        self.time = moment

    def _rate(self, site: int) -> float:
        return float(min(self.granted[site], self.problem.caps[site]))

    def _end_of(self, site: int, start: float) -> float:
        return start + float(self.left[site]) / self._rate(site)

    def _left_at(self, moment: float, end: float, site: int) -> float:
        return (end - moment) * self._rate(site)
