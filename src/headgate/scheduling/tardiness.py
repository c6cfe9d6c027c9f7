"""The order in which to crawl sites one after the other so that total lateness is least.

One site at a time at the full rate is a single machine with processing times p_i = D_i / U, and
1||sum T_j is solved by decomposition (Lawler 1977; Potts and Van Wassenhove 1982): sort by
deadline, take the longest job j at position a; in some optimal order j is preceded by exactly the
jobs up to some position k >= a, and each k splits the problem in two. Two tests leave few k: the
next job must not be due before j would end (C < d_{k+1}), and no job moved before j may be one
that j's end leaves time for (C >= d_i + p_i).

Also here: EDD (earliest due date), MDD (modified due date: serve argmin max(t + p_i, d_i), within
some per cent of the optimum at O(n log n)) and Smith's backward rule (least sum of end times
among the orders that meet all deadlines).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.scheduling.arrays import FloatArray, IntArray
from headgate.scheduling.problem import Problem

__all__ = ["edd_order", "mdd_order", "simple_orders", "smith_order", "total_tardiness_order"]

_MOST_JOBS = 300
"""Subproblems are memoized by the numbers of their jobs; with more jobs, the limit is hardly ever
met anyway."""


def edd_order(durations: FloatArray, deadlines: FloatArray) -> IntArray:
    """Earliest due date first; shortest first among equals."""
    return np.lexsort((durations, deadlines))


def mdd_order(durations: FloatArray, deadlines: FloatArray) -> IntArray:
    """Modified due date first, in O(n log n).

    A job moves once from the heap ordered by deadline to the one ordered by duration: when it can
    no longer end in time.
    """
    durations_, deadlines_ = durations.tolist(), deadlines.tolist()
    by_deadline = [(d, p, i) for i, (p, d) in enumerate(zip(durations_, deadlines_, strict=True))]
    by_last_start = [(d - p, i) for d, p, i in by_deadline]
    doomed: list[tuple[float, float, int]] = []
    """Of equals the one due first: sizes may be guesses, and all equal."""
    heapq.heapify(by_deadline)
    heapq.heapify(by_last_start)
    gone = [False] * len(durations_)
    in_time = [True] * len(durations_)
    order: list[int] = []
    time = 0.0
    while len(order) < len(durations_):
        while by_last_start and by_last_start[0][0] < time:
            job = heapq.heappop(by_last_start)[1]
            if not gone[job]:
                in_time[job] = False
                heapq.heappush(doomed, (durations_[job], deadlines_[job], job))
        while by_deadline and (gone[by_deadline[0][2]] or not in_time[by_deadline[0][2]]):
            heapq.heappop(by_deadline)
        if doomed and (not by_deadline or time + doomed[0][0] <= by_deadline[0][0]):
            job = heapq.heappop(doomed)[2]
        else:
            job = heapq.heappop(by_deadline)[2]
        gone[job] = True
        order.append(job)
        time += durations_[job]
    return np.array(order, dtype=np.intp)


def smith_order(durations: FloatArray, deadlines: FloatArray) -> IntArray | None:
    """The least sum of end times that meets all deadlines; None when no order meets them.

    Backwards from the end: among the jobs that may end now, the longest goes last.
    """
    time = float(durations.sum())
    by_deadline = np.argsort(-deadlines, kind="stable").tolist()
    allowed: list[tuple[float, int]] = []
    backwards: list[int] = []
    following = 0
    for _ in range(len(durations)):
        while following < len(by_deadline) and (
            deadlines[by_deadline[following]] >= time * (1 - 1e-12)
        ):
            job = by_deadline[following]
            heapq.heappush(allowed, (-float(durations[job]), job))
            following += 1
        if not allowed:
            return None
        duration, job = heapq.heappop(allowed)
        backwards.append(job)
        time += duration
    return np.array(backwards[::-1], dtype=np.intp)


def total_tardiness_order(
    durations: FloatArray, deadlines: FloatArray, *, most_subproblems: int = 20_000
) -> IntArray | None:
    """An order of least total lateness; None when more subproblems than allowed would be needed.

    >>> durations, deadlines = np.array([4.0, 3.0, 2.0]), np.array([5.0, 5.0, 5.0])
    >>> total_tardiness_order(durations, deadlines).tolist()
    [2, 1, 0]
    """
    edd = edd_order(durations, deadlines)
    if len(edd) > _MOST_JOBS:
        return None
    search = _Decomposition(durations[edd].tolist(), deadlines[edd].tolist(), most_subproblems)
    try:
        search.least(tuple(range(len(edd))), 0.0)
    except _TooManySubproblemsError:
        return None
    return edd[search.order(tuple(range(len(edd))), 0.0)]


class _TooManySubproblemsError(Exception):
    pass


_Jobs = tuple[int, ...]


@dataclass(slots=True)
class _Decomposition:
    """Jobs are numbers in EDD order, so a tuple of jobs is always sorted by deadline."""

    durations: list[float]
    deadlines: list[float]
    allowance: int
    memo: dict[tuple[_Jobs, float], tuple[float, int, int]] = field(default_factory=dict)
    """(jobs, start) -> (least total lateness, position of the longest job, position it moves to);
    positions of -1: the jobs in EDD order are optimal."""

    def least(self, jobs: _Jobs, start: float) -> float:
        """With its own stack: Python's is not deep enough for some hundred jobs."""
        stack = [self._solve(jobs, start)]
        answer: float | None = None
        while stack:
            try:
                part = next(stack[-1]) if answer is None else stack[-1].send(answer)
            except StopIteration as solved:
                answer = solved.value
                stack.pop()
            else:
                answer = None
                stack.append(self._solve(*part))
        assert answer is not None
        return answer

    def order(self, jobs: _Jobs, start: float) -> list[int]:
        """Of jobs whose `least` is known."""
        order: list[int] = []
        waiting = [(jobs, start)]
        while waiting:
            jobs, start = waiting.pop()
            _, longest, place = self.memo.get((jobs, round(start, 9)), (0.0, -1, -1))
            if longest < 0:
                order.extend(jobs)
                continue
            end = start + sum(self.durations[job] for job in jobs[: place + 1])
            before = jobs[:longest] + jobs[longest + 1 : place + 1]
            waiting += [(jobs[place + 1 :], end), ((jobs[longest],), start), (before, start)]
        return order

    def _solve(self, jobs: _Jobs, start: float) -> Generator[tuple[_Jobs, float], float, float]:
        """Asks for the answers to smaller problems, and returns its own."""
        key = (jobs, round(start, 9))
        known = self.memo.get(key)
        if known is not None:
            return known[0]
        late, tardy = self._edd_lateness(jobs, start)
        if tardy <= 1:
            self.memo[key] = (late, -1, -1)
            return late
        if len(self.memo) >= self.allowance:
            raise _TooManySubproblemsError
        longest = max(range(len(jobs)), key=lambda k: (self.durations[jobs[k]], k))
        best = (math.inf, -1)
        for place, end in self._places(jobs, start, longest):
            late = max(0.0, end - self.deadlines[jobs[longest]])
            late += yield jobs[:longest] + jobs[longest + 1 : place + 1], start
            late += yield jobs[place + 1 :], end
            best = min(best, (late, place))
        self.memo[key] = (best[0], longest, best[1])
        return best[0]

    def _edd_lateness(self, jobs: Sequence[int], start: float) -> tuple[float, int]:
        late, tardy, time = 0.0, 0, start
        for job in jobs:
            time += self.durations[job]
            if time > self.deadlines[job]:
                late += time - self.deadlines[job]
                tardy += 1
        return late, tardy

    def _places(self, jobs: _Jobs, start: float, longest: int) -> list[tuple[int, float]]:
        """Positions worth trying for the longest job, with its end there."""
        end = start + sum(self.durations[job] for job in jobs[:longest])
        end += self.durations[jobs[longest]]
        places = []
        lives_until = -np.inf  # the largest d_i + p_i among the jobs that would move before
        for place in range(longest, len(jobs)):
            if place > longest:
                moved = jobs[place]
                end += self.durations[moved]
                lives_until = max(lives_until, self.deadlines[moved] + self.durations[moved])
            if end < lives_until:
                continue
            if place + 1 < len(jobs) and end >= self.deadlines[jobs[place + 1]]:
                continue
            places.append((place, end))
        # Rounding can strike out every place; the last one and the first are then both safe to try.
        return places or [(longest, start + sum(self.durations[j] for j in jobs[: longest + 1]))]


def simple_orders(problem: Problem) -> Iterator[IntArray]:
    """Cheap orders: the start of a search, or its substitute.

    By deadline, modified deadline, slack, and what else the problem suggests: O(n log n).
    """
    durations = problem.work / problem.capacity.rates.mean()
    alone = problem.work / np.minimum(problem.caps, problem.capacity.peak)
    yield edd_order(durations, problem.deadlines)
    yield mdd_order(durations, problem.deadlines)
    yield np.lexsort((-alone, problem.deadlines - alone))  # least slack; longest first among equals
    if problem.may_stop:
        goes_on = mdd_order(durations, problem.deadlines)
        yield goes_on[np.argsort(problem.stops[goes_on], kind="stable")]
    if not np.isfinite(problem.deadlines).all():
        yield np.argsort(-alone, kind="stable")  # longest first: what ends last starts first
