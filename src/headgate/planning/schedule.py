"""A schedule: rate segments of sites, and the figures by which schedules are compared."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headgate.model.plan import LATE_AFTER_SECONDS
from headgate.planning.arrays import FloatArray, IntArray
from headgate.planning.problem import Problem

__all__ = ["Schedule", "ScheduleBuilder"]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Segments in order of their start; a site's first start and last end are its own.

    A site keeps its slot from its start to its end, even while its rate is 0. One that is stopped
    ends at its deadline; if it never had its turn, it starts there, too, and has no segment.
    """

    sites: IntArray
    starts: FloatArray
    ends: FloatArray
    rates: FloatArray
    site_starts: FloatArray
    site_ends: FloatArray

    @property
    def order(self) -> list[int]:
        """The sites by priority: simulations add simultaneous ones most urgent first. Those that
        are dropped before their turn come last."""
        by_end = np.argsort(self.site_ends, kind="stable")
        return list(dict.fromkeys([*self.sites.tolist(), *by_end.tolist()]))

    @property
    def makespan(self) -> float:
        return float(self.site_ends.max(initial=0.0))

    @property
    def total_time(self) -> float:
        """Sum of execution times, end - start."""
        return float((self.site_ends - self.site_starts).sum())

    def lateness(self, problem: Problem) -> FloatArray:
        """Seconds after the deadline per site: Zhu 2020, Eq. 2; 0 for those that stop there."""
        late = self.site_ends - problem.deadlines
        return np.where((late > LATE_AFTER_SECONDS) & ~problem.stops, late, 0.0)

    def left(self, problem: Problem) -> FloatArray:
        """Bytes left undone per site; 0 for those that do not stop."""
        left = problem.work.copy()
        np.subtract.at(left, self.sites, (self.ends - self.starts) * self.rates)
        rounding = np.maximum(LATE_AFTER_SECONDS * problem.capacity.peak, 1e-9 * problem.work)
        return np.where((left > rounding) & problem.stops, left, 0.0)

    def shortfall(self, problem: Problem) -> FloatArray:
        """Lateness, and what is left undone as seconds of the whole line (problem.py), per site."""
        return self.lateness(problem) + self.left(problem) / problem.capacity.peak

    def stopped(self, problem: Problem) -> Schedule:
        """The same schedule, cut at the deadlines of sites that stop there."""
        stop_at = np.where(problem.stops, np.maximum(problem.deadlines, 0.0), np.inf)
        dropped = np.flatnonzero(self.site_ends > stop_at + LATE_AFTER_SECONDS)
        if not len(dropped):
            return self
        builder = ScheduleBuilder(len(problem))
        ends = np.minimum(self.ends, stop_at[self.sites])
        columns = (self.sites, self.starts, ends, self.rates)
        for site, start, end, rate in zip(*(column.tolist() for column in columns), strict=True):
            builder.add(site, start, end, rate)
        for site in dropped.tolist():
            builder.stop(site, float(stop_at[site]))
        return builder.build()

    def tardiness(self, problem: Problem) -> float:
        return float(self.lateness(problem).sum())


@dataclass(slots=True)
class ScheduleBuilder:
    """Collects segments as a simulation goes forward; touching ones of equal rate become one."""

    count: int
    _segments: list[list[float]] = field(default_factory=list)
    _last_of: dict[int, int] = field(default_factory=dict)
    _stopped: dict[int, float] = field(default_factory=dict)

    def add(self, site: int, start: float, end: float, rate: float) -> None:
        if end <= start or rate <= 0:
            return
        last = self._last_of.get(site)
        if last is not None:
            segment = self._segments[last]
            if segment[2] == start and segment[3] == rate:
                segment[2] = end
                return
        self._last_of[site] = len(self._segments)
        self._segments.append([site, start, end, rate])

    def stop(self, site: int, at: float) -> None:
        """The site is dropped with something left to do."""
        self._stopped[site] = at

    def build(self) -> Schedule:
        table = np.array(self._segments, dtype=np.float64).reshape(-1, 4)
        table = table[np.argsort(table[:, 1], kind="stable")]
        sites = table[:, 0].astype(np.intp)
        site_starts = np.full(self.count, np.inf)
        site_ends = np.zeros(self.count)
        np.minimum.at(site_starts, sites, table[:, 1])
        np.maximum.at(site_ends, sites, table[:, 2])
        for site, at in self._stopped.items():
            site_starts[site], site_ends[site] = min(site_starts[site], at), at
        return Schedule(sites, table[:, 1], table[:, 2], table[:, 3], site_starts, site_ends)
