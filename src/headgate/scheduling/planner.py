"""Makes a plan from sites and a budget; the entry point for the command line and Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from msgspec import structs

from headgate.model.budget import Budget
from headgate.model.errors import PlanningError
from headgate.model.plan import LATE_AFTER_SECONDS, Plan, PlannedSite, RateSegment, Remedy, Verdict
from headgate.model.site import OnDeadline, Site
from headgate.model.timetable import RatePiece
from headgate.model.units import BytesPerSecond
from headgate.scheduling.bounds import Bounds, lower_bounds, with_linear_bound
from headgate.scheduling.capacity import WEEK_SECONDS, Capacity, Demand, RunStart, unrolled
from headgate.scheduling.event_schedule import event_schedule
from headgate.scheduling.policies import DEFAULT_POLICY, POLICIES, Policy, find_policy
from headgate.scheduling.problem import Problem, Schedule
from headgate.scheduling.tardiness import edd_order, mdd_order
from headgate.scheduling.water_filling import deadlines_can_be_met, least_budget_scale

__all__ = ["compare", "feasibility", "plan", "verdict_for"]

_MOST_WEEKS = 1024
_MOST_SITES_FOR_LINEAR_BOUND = 120
"""Its programme has a hundred variables per site."""


def plan(
    sites: Sequence[Site],
    budget: Budget,
    policy: str | Policy = DEFAULT_POLICY,
    *,
    start: datetime | None = None,
    seed: int = 0,
    quota_used: float = 0.0,
) -> Plan:
    """Who gets how many bytes per second, and when.

    ``start`` is needed for a timetable, which must know the hour, and for a quota, of which
    ``quota_used`` bytes were used before; the same seed gives the same plan.
    """
    chosen = find_policy(policy) if isinstance(policy, str) else policy
    solved = _solve(sites, budget, chosen, RunStart(start, quota_used), seed)
    return solved.plan(_bounds(solved.problem, solved.schedule))


def compare(
    sites: Sequence[Site], budget: Budget, *, start: datetime | None = None, seed: int = 0
) -> list[Plan]:
    """A plan by every policy that fits so many sites and crawlers; the default one first.

    What is proven of one plan holds for all, so they share the bounds of the default.
    """
    plans: list[Plan] = []
    bounds: Bounds | None = None
    for policy in POLICIES.values():
        if policy.all_at_once and len(sites) > budget.crawlers:
            continue
        solved = _solve(sites, budget, policy, RunStart(start), seed)
        bounds = bounds or _bounds(solved.problem, solved.schedule)
        plans.append(solved.plan(bounds))
    return plans


def verdict_for(
    sites: Sequence[Site],
    budget: Budget,
    *,
    start: datetime | None = None,
    quota_used: float = 0.0,
) -> Verdict:
    """What is known about meeting all deadlines, without a plan: at a small part of its cost."""
    last = max((float(site.deadline) for site in sites if site.deadline is not None), default=0.0)
    weeks = int(min(max(last, 0.0) / WEEK_SECONDS + 1, _MOST_WEEKS))
    return feasibility(_problem(sites, budget, RunStart(start, quota_used), weeks))


def _solve(
    sites: Sequence[Site], budget: Budget, policy: Policy, start: RunStart, seed: int
) -> _Solved:
    """Timetable and quota are unrolled week by week until the schedule ends within them."""
    weeks = 1
    while True:
        problem = _problem(sites, budget, start, weeks)
        # The paper's policies know nothing of stopping: theirs are cut.
        schedule = policy.schedule(problem, np.random.default_rng(seed)).stopped(problem)
        for_good = problem.capacity.is_constant and budget.quota is None
        if for_good or schedule.makespan <= weeks * WEEK_SECONDS:
            return _Solved(
                sites, budget, policy=policy, seed=seed, problem=problem, schedule=schedule
            )
        if weeks == _MOST_WEEKS:
            raise PlanningError("the plan would take more than 19 years; give it more bandwidth")
        needed = int(min(schedule.makespan / WEEK_SECONDS, _MOST_WEEKS)) + 1
        weeks = min(max(2 * weeks, needed), _MOST_WEEKS)


def _problem(sites: Sequence[Site], budget: Budget, start: RunStart, weeks: int) -> Problem:
    work = np.array([_expected_bytes(site) for site in sites], dtype=np.float64)
    caps = np.array([_cap(site) for site in sites], dtype=np.float64)
    deadlines = np.array([_deadline(site) for site in sites], dtype=np.float64)
    usable = float(np.sort(caps)[::-1][: budget.crawlers].sum()) if len(sites) else 1.0
    capacity = unrolled(budget, start, weeks, Demand(float(work.sum()), usable))
    stops = np.array([site.on_deadline is OnDeadline.STOP for site in sites], dtype=np.bool_)
    return Problem(
        work,
        deadlines,
        caps=caps,
        stops=stops,
        capacity=capacity,
        slots=budget.crawlers,
        objective=budget.objective,
    )


def _expected_bytes(site: Site) -> float:
    if site.expect is None:
        raise PlanningError(f"site {site.name!r} has no expected size; set expect, like '120 MB'")
    if not 0 < site.expect < np.inf:
        raise PlanningError(f"site {site.name!r}: expect must be a size above 0")
    return site.expect * site.statistics.alpha


def _cap(site: Site) -> float:
    if site.max_rate is None:
        return np.inf
    if not site.max_rate > 0:
        raise PlanningError(f"site {site.name!r}: max_rate must be a rate above 0")
    return site.max_rate


def _deadline(site: Site) -> float:
    if site.deadline is None:
        return np.inf
    if np.isnan(site.deadline):
        raise PlanningError(f"site {site.name!r}: deadline must be a duration")
    return site.deadline


def _bounds(problem: Problem, schedule: Schedule) -> Bounds:
    bounds = lower_bounds(problem, problem.work - schedule.left(problem))
    missed = float(schedule.shortfall(problem).sum())
    unproven = missed > bounds.shortfall * 1.001 + 1e-3
    hard = problem.capped or problem.may_stop
    if hard and unproven and len(problem) <= _MOST_SITES_FOR_LINEAR_BOUND:
        return with_linear_bound(bounds, problem, schedule.makespan)
    return bounds


@dataclass(frozen=True, slots=True)
class _Solved:
    """A problem of sites and a schedule for it."""

    sites: Sequence[Site]
    budget: Budget
    policy: Policy
    seed: int
    problem: Problem
    schedule: Schedule

    def plan(self, bounds: Bounds) -> Plan:
        problem, schedule = self.problem, self.schedule
        planned = self._planned_sites()
        return Plan(
            policy=self.policy.name,
            budget=self.budget,
            budget_pieces=_pieces_until(problem.capacity, schedule.makespan),
            verdict=_verdict(problem, planned, bounds),
            sites=planned,
            order=tuple(self.sites[site].name for site in schedule.order),
            remedy=find_remedy(problem, self._time_lacking()),
            shortfall_bound=bounds.shortfall,
            makespan_bound=bounds.makespan,
            total_time_bound=bounds.total_time,
            closer_bound_with=bounds.closer_with,
            left_seconds=float(schedule.left(problem).sum()) / problem.capacity.peak,
        )

    def _time_lacking(self) -> dict[str, float]:
        """How late sites are if none is stopped with something left."""
        problem, schedule = self.problem, self.schedule
        if schedule.left(problem).any():
            problem = problem.all_go_on
            schedule = self.policy.schedule(problem, np.random.default_rng(self.seed))
        late = schedule.lateness(problem).tolist()
        return {
            site.name: seconds for site, seconds in zip(self.sites, late, strict=True) if seconds
        }

    def _planned_sites(self) -> tuple[PlannedSite, ...]:
        schedule = self.schedule
        segments: list[list[RateSegment]] = [[] for _ in self.sites]
        columns = (schedule.sites, schedule.starts, schedule.ends, schedule.rates)
        for site, start, end, rate in zip(*(column.tolist() for column in columns), strict=True):
            segments[site].append(RateSegment(start, end, rate))
        of_sites = (schedule.site_starts, schedule.site_ends, schedule.left(self.problem))
        return tuple(
            PlannedSite(
                site.name,
                float(site.expect or 0),
                deadline=site.deadline,
                start=start,
                end=end,
                segments=tuple(parts),
                left_bytes=left / site.statistics.alpha,
                max_rate=site.max_rate,
            )
            for site, parts, start, end, left in zip(
                self.sites, segments, *(column.tolist() for column in of_sites), strict=True
            )
        )


def _verdict(problem: Problem, planned: Sequence[PlannedSite], bounds: Bounds) -> Verdict:
    if not any(site.late or site.left_bytes for site in planned):
        return Verdict.FEASIBLE
    proven = bounds.shortfall > LATE_AFTER_SECONDS * len(problem)
    return Verdict.INFEASIBLE if proven or not deadlines_can_be_met(problem) else Verdict.OPEN


def _pieces_until(capacity: Capacity, end: float) -> tuple[RatePiece, ...]:
    return tuple(
        RatePiece(start, BytesPerSecond(rate))
        for start, rate in zip(capacity.starts.tolist(), capacity.rates.tolist(), strict=True)
        if start <= end
    )


# Whether all deadlines can be met, without making a plan; if not, what would let them be met.


# Whether all deadlines can be met, with every site complete, without making a plan.
#
# Exact where every site has a crawler (water-filling) and where no cap binds (one site at a time is
# optimal); with caps and fewer crawlers the simple orders are tried, and the answer may stay open.


def feasibility(problem: Problem) -> Verdict:
    """In O(n log n), or what water-filling takes.

    >>> problem = Problem.from_arrays([60.0, 40.0], [6.0, 10.0], budget=10.0)
    >>> feasibility(problem), feasibility(Problem.from_arrays([61.0], [6.0], budget=10.0))
    (<Verdict.FEASIBLE: 'feasible'>, <Verdict.INFEASIBLE: 'infeasible'>)
    """
    if not deadlines_can_be_met(problem):
        return Verdict.INFEASIBLE
    if len(problem) <= problem.slots or not problem.capped or some_order_is_on_time(problem):
        return Verdict.FEASIBLE
    proven = lower_bounds(problem).shortfall > LATE_AFTER_SECONDS * len(problem)
    return Verdict.INFEASIBLE if proven else Verdict.OPEN


def some_order_is_on_time(problem: Problem) -> bool:
    """Whether a list schedule by one of three simple orders leaves nothing late or undone."""
    durations = problem.work / problem.capacity.peak
    alone = problem.work / np.minimum(problem.caps, problem.capacity.peak)
    orders = (
        edd_order(durations, problem.deadlines),
        np.argsort(problem.deadlines - alone, kind="stable"),
        mdd_order(durations, problem.deadlines),
    )
    return any(
        event_schedule(problem, order).shortfall(problem).sum() <= LATE_AFTER_SECONDS
        for order in orders
    )


_MOST_SITES_TO_TRY = 1000
_MOST_SCALE = 64.0
_PRECISION = 1e-3
"""Relative, of the bandwidth that is enough."""


def find_remedy(problem: Problem, late: dict[str, float]) -> Remedy:
    """What would let all deadlines be met: more bandwidth, or more time for some sites.

    Remedies for a problem; ``late`` names sites and how late they are if none is stopped.

    The extra time is that lateness: with it that very schedule meets every deadline, and where it
    is optimal no smaller total will do.
    """
    needed = least_budget_scale(problem)
    enough = needed
    if needed and len(problem) > problem.slots:  # without deadlines nothing is needed
        enough = _enough(problem, needed, on_time_now=not late)
    mean = problem.capacity.mean_rate
    return Remedy(
        needed_bandwidth=None if needed is None else needed * mean,
        enough_bandwidth=None if enough is None else enough * mean,
        scale=None if problem.capacity.is_constant else needed,
        relax=late,
    )


def _enough(problem: Problem, needed: float, *, on_time_now: bool) -> float | None:
    """With fewer crawlers than sites: the least scale at which a schedule on time was found."""
    if _some_order_is_on_time(problem, needed):
        return needed
    if len(problem) > _MOST_SITES_TO_TRY:
        return 1.0 if on_time_now else None
    low, high = needed, 1.0
    if not on_time_now:
        high = max(needed, 1.0)
        while not _some_order_is_on_time(problem, high):
            low, high = high, 2 * high
            if high > _MOST_SCALE * max(needed, 1.0):
                return None  # caps or crawlers bind, not the budget
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if _some_order_is_on_time(problem, middle):
            high = middle
        else:
            low = middle
    return high


def _some_order_is_on_time(problem: Problem, scale: float) -> bool:
    wider = structs.replace(problem, capacity=problem.capacity.scaled(scale))
    return some_order_is_on_time(wider)
