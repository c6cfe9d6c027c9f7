"""The question planning answers, and the form of its answer: rate segments of sites."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np
from msgspec import structs

from headgate.model.budget import Objective
from headgate.model.plan import LATE_AFTER_SECONDS
from headgate.scheduling.arrays import BoolArray, FloatArray, IntArray
from headgate.scheduling.capacity import Capacity

__all__ = ["Problem", "Schedule", "ScheduleBuilder"]


class Problem(msgspec.Struct, frozen=True, eq=False):
    """The question planning answers: so much work, these deadlines and caps, this capacity, m
    slots.

    A site may be one that stops: at its deadline it is dropped, whatever is left of it. It is never
    late; what it did not get is left undone. So that bytes left undone and seconds of lateness can
    be weighed against each other, they are added up as the *shortfall*: each second of lateness
    counts as one, and bytes left undone count as the seconds that the whole line would need for
    them, at its highest rate. A second of the line given to a site that stops then gains what it
    costs one late site: a site that stops is neither starved for nothing nor preferred.

    One entry per site in each array; sites are known by their index here.
    """

    work: FloatArray
    """Bytes the line must carry, alpha_i D_i in the paper's terms. Positive."""
    deadlines: FloatArray
    """Seconds from now; infinity: none; zero or less: overdue."""
    caps: FloatArray
    """Maximum bytes per second of a site; infinity: only the budget limits it. Positive."""
    stops: BoolArray
    """Whether the site ends at its deadline, whatever is left; says nothing without a deadline."""
    capacity: Capacity
    slots: int
    """Maximum number of sites crawled at once, m. At least 1."""
    objective: Objective = Objective.MAKESPAN

    @classmethod
    def from_arrays(
        cls,
        work: object,
        deadlines: object = None,
        *,
        budget: float | Capacity,
        caps: object = None,
        stops: object = None,
        slots: int | None = None,
        objective: Objective = Objective.MAKESPAN,
    ) -> Problem:
        """A problem from anything array-like; without slots every site has one."""
        work_ = np.asarray(work, dtype=np.float64)
        unbounded = np.full(len(work_), np.inf)
        return cls(
            work_,
            unbounded if deadlines is None else np.asarray(deadlines, dtype=np.float64),
            caps=unbounded if caps is None else np.asarray(caps, dtype=np.float64),
            stops=np.zeros(len(work_), np.bool_)
            if stops is None
            else np.asarray(stops, dtype=np.bool_),
            capacity=budget if isinstance(budget, Capacity) else Capacity.constant(budget),
            slots=max(len(work_), 1) if slots is None else slots,
            objective=objective,
        )

    def __len__(self) -> int:
        return len(self.work)

    @property
    def rounding(self) -> FloatArray:
        """Bytes per site that count as nothing left."""
        rounding: FloatArray = np.maximum(LATE_AFTER_SECONDS * self.capacity.peak, 1e-9 * self.work)
        return rounding

    @property
    def capped(self) -> bool:
        """Whether some cap can bind at some time."""
        return bool((self.caps < self.capacity.peak).any())

    @property
    def may_stop(self) -> bool:
        """Whether some site can be dropped before its end."""
        return bool((self.stops & np.isfinite(self.deadlines)).any())

    @property
    def all_go_on(self) -> Problem:
        """The same problem, with no site stopping at its deadline."""
        return structs.replace(self, stops=np.zeros_like(self.stops))


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A schedule: rate segments of sites, and the figures by which schedules are compared.

    Segments in order of their start; a site's first start and last end are its own.

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
        return np.where((left > problem.rounding) & problem.stops, left, 0.0)

    def shortfall(self, problem: Problem) -> FloatArray:
        """Lateness, and what is left undone as seconds of the whole line (`Problem`), per site."""
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
        return Schedule(
            sites,
            table[:, 1],
            ends=table[:, 2],
            rates=table[:, 3],
            site_starts=site_starts,
            site_ends=site_ends,
        )
