"""From sites and a budget to a plan: the one way in for the command line and for Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from headgate.model.budget import Budget
from headgate.model.errors import PlanningError
from headgate.model.plan import LATE_AFTER_SECONDS, Plan, PlannedSite, RateSegment, Verdict
from headgate.model.quota import QuotaUse
from headgate.model.site import Site
from headgate.model.timetable import RatePiece, Timetable
from headgate.model.units import BytesPerSecond
from headgate.planning.arrays import FloatArray
from headgate.planning.bounds import Bounds, lower_bounds, with_linear_bound
from headgate.planning.capacity import Capacity
from headgate.planning.policies import DEFAULT_POLICY, POLICIES, Policy, find_policy
from headgate.planning.problem import Problem
from headgate.planning.quota import within_quota
from headgate.planning.remedies import find_remedy
from headgate.planning.schedule import Schedule
from headgate.planning.water_filling import deadlines_can_be_met

__all__ = ["budget_capacity", "compare", "plan"]

_WEEK = 7 * 86400.0
_MOST_WEEKS = 1024
_MOST_SITES_FOR_LINEAR_BOUND = 120
"""Its programme has a hundred variables per site."""


def plan(
    sites: Sequence[Site],
    budget: Budget,
    policy: str = DEFAULT_POLICY,
    *,
    start: datetime | None = None,
    seed: int = 0,
    quota_used: float = 0.0,
) -> Plan:
    """Who gets how many bytes per second, and when.

    ``start`` is needed for a timetable, which must know the hour, and for a quota, of which
    ``quota_used`` bytes are gone by then; the same seed gives the same plan.
    """
    chosen = find_policy(policy)
    problem, schedule = _solve(sites, budget, chosen, _Start(start, quota_used), seed)
    return _plan(sites, budget, chosen, problem, schedule, _bounds(problem, schedule))


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
        problem, schedule = _solve(sites, budget, policy, _Start(start), seed)
        bounds = bounds or _bounds(problem, schedule)
        plans.append(_plan(sites, budget, policy, problem, schedule, bounds))
    return plans


@dataclass(frozen=True, slots=True)
class _Start:
    """Of the run: when, where that is known, and what of the quota is gone by then."""

    moment: datetime | None
    quota_used: float = 0.0

    def moment_for(self, what: str) -> datetime:
        if self.moment is None:
            raise PlanningError(f"a {what} needs to know when the crawl starts; give start")
        return self.moment


def _solve(
    sites: Sequence[Site], budget: Budget, policy: Policy, start: _Start, seed: int
) -> tuple[Problem, Schedule]:
    """Timetable and quota are unrolled week by week until the schedule ends within them."""
    weeks = 1
    while True:
        problem = _problem(sites, budget, start, weeks)
        schedule = policy.schedule(problem, np.random.default_rng(seed))
        for_good = problem.capacity.is_constant and budget.quota is None
        if for_good or schedule.makespan <= weeks * _WEEK:
            return problem, schedule
        if weeks == _MOST_WEEKS:
            raise PlanningError("the plan would take more than 19 years; give it more bandwidth")
        needed = int(min(schedule.makespan / _WEEK, _MOST_WEEKS)) + 1
        weeks = min(max(2 * weeks, needed), _MOST_WEEKS)


def _problem(sites: Sequence[Site], budget: Budget, start: _Start, weeks: int) -> Problem:
    work = np.array([_expected_bytes(site) for site in sites], dtype=np.float64)
    caps = np.array([_cap(site) for site in sites], dtype=np.float64)
    deadlines = np.array([_deadline(site) for site in sites], dtype=np.float64)
    usable = float(np.sort(caps)[::-1][: budget.crawlers].sum()) if len(sites) else 1.0
    capacity = _capacity(budget, start, weeks, usable)
    return Problem(work, deadlines, caps, capacity, budget.crawlers, budget.objective)


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


def budget_capacity(budget: Budget, start: datetime, weeks: int) -> Capacity:
    """The budget over so many weeks, its quota left out, for a crawl that follows it; unlimited
    is a terabyte/s."""
    return _capacity(replace(budget, quota=None), _Start(start), weeks, usable=1e12)


def _capacity(budget: Budget, start: _Start, weeks: int, usable: float) -> Capacity:
    """The budget in pieces, an unlimited one as what the sites can use at the most."""
    if isinstance(budget.bandwidth, Timetable):
        pieces = _unrolled(budget.bandwidth, start.moment_for("timetable"), weeks)
    else:
        pieces = [(0.0, float(budget.bandwidth))]
    if any(np.isinf(rate) for _, rate in pieces) and np.isinf(usable):
        raise PlanningError(
            "with unlimited bandwidth the sites' own speeds decide; give each site a max_rate"
        )
    if not any(rate > 0 for _, rate in pieces):
        raise PlanningError("bandwidth must be above 0")
    pieces = [(at, usable if np.isinf(rate) else rate) for at, rate in pieces]
    if budget.quota is not None:
        use = QuotaUse(budget.quota, start.quota_used, start.moment_for("quota"))
        pieces = within_quota(pieces, use, horizon=weeks * _WEEK)
    return Capacity.of(pieces)


def _unrolled(timetable: Timetable, start: datetime, weeks: int) -> list[tuple[float, float]]:
    """So many weeks of the timetable, ending with a piece that allows something."""
    pieces: list[tuple[float, float]] = []
    for piece in timetable.pieces(start):
        if pieces and piece.start >= weeks * _WEEK and pieces[-1][1] > 0:
            return pieces
        if not pieces or piece.rate != pieces[-1][1]:
            pieces.append((piece.start, float(piece.rate)))
    raise AssertionError("a timetable has no end")


def _bounds(problem: Problem, schedule: Schedule) -> Bounds:
    bounds = lower_bounds(problem)
    late = schedule.tardiness(problem)
    unproven = late > bounds.tardiness * 1.001 + 1e-3
    if problem.capped and unproven and len(problem) <= _MOST_SITES_FOR_LINEAR_BOUND:
        return with_linear_bound(bounds, problem, schedule.makespan)
    return bounds


def _plan(
    sites: Sequence[Site],
    budget: Budget,
    policy: Policy,
    problem: Problem,
    schedule: Schedule,
    bounds: Bounds,
) -> Plan:
    planned = _planned_sites(sites, schedule)
    return Plan(
        policy=policy.name,
        budget=budget,
        budget_pieces=_pieces_until(problem.capacity, schedule.makespan),
        verdict=_verdict(problem, planned, bounds),
        sites=planned,
        order=tuple(sites[site].name for site in schedule.order),
        remedy=find_remedy(problem, {site.name: site.late for site in planned if site.late}),
        tardiness_bound=bounds.tardiness,
        makespan_bound=bounds.makespan,
        total_time_bound=bounds.total_time,
    )


def _verdict(problem: Problem, planned: Sequence[PlannedSite], bounds: Bounds) -> Verdict:
    if not any(site.late for site in planned):
        return Verdict.FEASIBLE
    proven = bounds.tardiness > LATE_AFTER_SECONDS * len(problem)
    return Verdict.INFEASIBLE if proven or not deadlines_can_be_met(problem) else Verdict.OPEN


def _planned_sites(sites: Sequence[Site], schedule: Schedule) -> tuple[PlannedSite, ...]:
    segments: list[list[RateSegment]] = [[] for _ in sites]
    columns: tuple[FloatArray, ...] = (schedule.starts, schedule.ends, schedule.rates)
    for site, start, end, rate in zip(
        schedule.sites.tolist(), *(column.tolist() for column in columns), strict=True
    ):
        segments[site].append(RateSegment(start, end, rate))
    return tuple(
        PlannedSite(
            site.name, float(site.expect or 0), site.deadline, start, end, tuple(segments[index])
        )
        for index, (site, start, end) in enumerate(
            zip(sites, schedule.site_starts.tolist(), schedule.site_ends.tolist(), strict=True)
        )
    )


def _pieces_until(capacity: Capacity, end: float) -> tuple[RatePiece, ...]:
    return tuple(
        RatePiece(start, BytesPerSecond(rate))
        for start, rate in zip(capacity.starts.tolist(), capacity.rates.tolist(), strict=True)
        if start <= end
    )
