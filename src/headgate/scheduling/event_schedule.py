"""EVENT: the list schedule that re-sets all rates whenever something happens.

Given an order of sites, at every event (a site ends, the budget turns):

    for each running site, in order:  rate = min(cap, what is left of the budget)
    while budget and crawlers are left:  start the next site of the order at min(cap, what is left)

A site keeps its crawler from start to end, but its rate may fall to 0 while more urgent ones need
the budget. One that stops at its deadline is dropped there, an event of its own, and is not started
after it. Where no cap binds this is one site after the other at the full rate, which no
schedule beats on makespan, sum of execution times or lateness once the order is right (dominance
theorem, docs/algorithms/event.md).

Cost: O(m) per event, n + turns events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headgate.model.budget import Objective
from headgate.model.plan import LATE_AFTER_SECONDS
from headgate.scheduling.arrays import IntArray
from headgate.scheduling.capacity import NOTHING_LEFT
from headgate.scheduling.problem import Problem, Schedule, ScheduleBuilder

__all__ = ["EventSimulator", "ScheduleOutcome", "event_schedule"]

_SAME_MOMENT = 1 + 1e-12
"""A site stops at an event so near to its deadline."""


def event_schedule(problem: Problem, order: IntArray | Sequence[int]) -> Schedule:
    """The schedule that serves sites in the given order.

    >>> problem = Problem.from_arrays([60.0, 40.0], budget=10.0, caps=[6.0, np.inf])
    >>> event_schedule(problem, [0, 1]).site_ends.tolist()
    [10.0, 10.0]
    """
    builder = ScheduleBuilder(len(problem))
    EventSimulator(problem).run(list(order), builder=builder)
    return builder.build()


@dataclass(frozen=True, slots=True)
class ScheduleOutcome:
    """What an order leads to."""

    shortfall: float
    """Total lateness, and what is left undone in seconds of the whole line (problem.py)."""
    makespan: float
    total_time: float

    def merit(self, objective: Objective) -> tuple[float, float]:
        """Smaller is better: the shortfall first, to the millisecond, then the objective."""
        value = self.makespan if objective is Objective.MAKESPAN else self.total_time
        return round(self.shortfall, 3), value


class EventSimulator:
    """Simulates orders of one problem; uses plain lists, since it accesses single numbers."""

    def __init__(self, problem: Problem) -> None:
        self._work: list[float] = problem.work.tolist()
        self._caps: list[float] = problem.caps.tolist()
        self._deadlines: list[float] = problem.deadlines.tolist()
        stop_at = np.where(problem.stops, np.maximum(problem.deadlines, 0.0), np.inf)
        self._stop_at: list[float] = stop_at.tolist()
        self._full_rate = problem.capacity.peak
        self._slots = problem.slots
        self._capacity = problem.capacity

    def run(  # noqa: C901 - the hot loop of the search: calls would double its cost
        self,
        order: Sequence[int],
        *,
        most_shortfall: float = np.inf,
        builder: ScheduleBuilder | None = None,
    ) -> ScheduleOutcome | None:
        """Simulate; None as soon as the shortfall passes ``most_shortfall``."""
        work, caps, deadlines, stop_at = self._work, self._caps, self._deadlines, self._stop_at
        running: list[int] = []
        remaining: list[float] = []
        started: list[float] = []
        time = last_end = shortfall = total_time = 0.0
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
                if stop_at[site] - time < step:
                    step = stop_at[site] - time
            while upcoming is not None:
                if stop_at[upcoming] <= time * _SAME_MOMENT:
                    shortfall += work[upcoming] / self._full_rate
                    last_end = max(last_end, stop_at[upcoming])
                    if builder is not None:
                        builder.stop(upcoming, stop_at[upcoming])
                    upcoming = next(waiting, None)
                    continue
                if len(running) == self._slots or left <= NOTHING_LEFT * budget:
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
                if stop_at[upcoming] - time < step:
                    step = stop_at[upcoming] - time
                upcoming = next(waiting, None)
            if not running and upcoming is None:
                break  # the last ones were dropped before their turn
            until = turn if step == turn - time else time + step
            if builder is not None:
                for site, rate in zip(running, rates, strict=True):
                    builder.add(site, time, min(until, stop_at[site]), rate)
            ended = []
            for k, rate in enumerate(rates):
                site = running[k]
                remaining[k] -= rate * step
                if remaining[k] <= NOTHING_LEFT * work[site]:
                    ended.append(k)
                elif stop_at[site] <= until * _SAME_MOMENT:
                    ended.append(k)
                    undone = remaining[k] / self._full_rate
                    if undone > LATE_AFTER_SECONDS:
                        shortfall += undone
                        if builder is not None:
                            builder.stop(site, stop_at[site])
            for k in reversed(ended):
                site = running[k]
                late = until - deadlines[site]
                if late > LATE_AFTER_SECONDS and stop_at[site] == np.inf:
                    shortfall += late
                total_time += until - started[k]
                last_end = until
                del running[k], remaining[k], started[k]
            time = until
            if shortfall > most_shortfall:
                return None
            if time >= turn:
                budget, turn = self._capacity.rate_at(time), self._capacity.next_turn(time)
        return ScheduleOutcome(shortfall, last_end, total_time)
