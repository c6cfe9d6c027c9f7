"""EVENT: the list schedule that re-sets all rates whenever something happens.

Given an order of sites, at every event (a site ends, the budget turns):

    for each running site, in order:  rate = min(cap, what is left of the budget)
    while budget and crawlers are left:  start the next site of the order at min(cap, what is left)

A site keeps its crawler from start to end, but its rate may fall to 0 while more urgent ones need
the budget. Where no cap binds this is one site after the other at the full rate, which no
schedule beats on makespan, sum of execution times or lateness once the order is right (dominance
theorem, docs/algorithms/event.md).

Cost: O(m) per event, n + turns events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headgate.model.plan import LATE_AFTER_SECONDS
from headgate.planning.arrays import IntArray
from headgate.planning.problem import Problem
from headgate.planning.schedule import Schedule, ScheduleBuilder

__all__ = ["EventSimulator", "Outcome", "event_schedule"]

NOTHING_LEFT = 1e-9
"""Part of the budget too small to start a site with, and of a site's bytes too small to matter."""


def event_schedule(problem: Problem, order: IntArray | Sequence[int]) -> Schedule:
    """The schedule that serves sites in the given order.

    >>> problem = Problem.of([60.0, 40.0], budget=10.0, caps=[6.0, np.inf])
    >>> event_schedule(problem, [0, 1]).site_ends.tolist()
    [10.0, 10.0]
    """
    builder = ScheduleBuilder(len(problem))
    EventSimulator(problem).run(list(order), builder=builder)
    return builder.build()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an order leads to."""

    tardiness: float
    makespan: float
    total_time: float


class EventSimulator:
    """Runs orders of one problem; plain lists, because single numbers are what it touches."""

    def __init__(self, problem: Problem) -> None:
        self._work: list[float] = problem.work.tolist()
        self._caps: list[float] = problem.caps.tolist()
        self._deadlines: list[float] = problem.deadlines.tolist()
        self._slots = problem.slots
        self._capacity = problem.capacity

    def run(  # noqa: C901 - the hot loop of the search: calls would double its cost
        self,
        order: Sequence[int],
        *,
        most_tardiness: float = np.inf,
        builder: ScheduleBuilder | None = None,
    ) -> Outcome | None:
        """Simulate; None as soon as total lateness passes ``most_tardiness``."""
        work, caps, deadlines = self._work, self._caps, self._deadlines
        running: list[int] = []
        remaining: list[float] = []
        started: list[float] = []
        time = tardiness = total_time = 0.0
        budget, turn = self._capacity.rate_at(0.0), self._capacity.next_turn(0.0)
        waiting = iter(order)
        upcoming = next(waiting, None)
        while running or upcoming is not None:
            left, step = budget, turn - time
            rates = []
            for site, rest in zip(running, remaining, strict=True):
                rate = caps[site] if caps[site] < left else left
                left -= rate
                rates.append(rate)
                if rate > 0 and rest < rate * step:
                    step = rest / rate
            while left > NOTHING_LEFT * budget and upcoming is not None:
                if len(running) == self._slots:
                    break
                rest = work[upcoming]
                rate = caps[upcoming] if caps[upcoming] < left else left
                left -= rate
                running.append(upcoming)
                remaining.append(rest)
                started.append(time)
                rates.append(rate)
                if rest < rate * step:
                    step = rest / rate
                upcoming = next(waiting, None)
            until = turn if step == turn - time else time + step
            if builder is not None:
                for site, rate in zip(running, rates, strict=True):
                    builder.add(site, time, until, rate)
            ended = []
            for k, rate in enumerate(rates):
                remaining[k] -= rate * step
                if remaining[k] <= NOTHING_LEFT * work[running[k]]:
                    ended.append(k)
            for k in reversed(ended):
                late = until - deadlines[running[k]]
                if late > LATE_AFTER_SECONDS:
                    tardiness += late
                total_time += until - started[k]
                del running[k], remaining[k], started[k]
            time = until
            if tardiness > most_tardiness:
                return None
            if time >= turn:
                budget, turn = self._capacity.rate_at(time), self._capacity.next_turn(time)
        return Outcome(tardiness, time, total_time)
