"""Plans made by hand, for tests of what is shown of them."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from headgate.model.budget import Budget, Objective
from headgate.model.plan import Plan, PlannedSite, RateSegment, Remedy, Verdict
from headgate.model.timetable import RatePiece, Timetable
from headgate.model.units import BytesPerSecond

__all__ = ["make_plan", "make_site", "make_stopped_site", "make_timetable_plan"]

LINE = BytesPerSecond(100.0)
Parts = Sequence[tuple[float, float, float]]


def make_site(name: str, parts: Parts, deadline: float | None = None) -> PlannedSite:
    """A site crawled in (start, end, rate) parts."""
    segments = tuple(RateSegment(*part) for part in parts)
    size = sum((end - start) * rate for start, end, rate in parts)
    return PlannedSite(
        name, size, deadline=deadline, start=parts[0][0], end=parts[-1][1], segments=segments
    )


def make_stopped_site(name: str, parts: Parts, deadline: float, left: float) -> PlannedSite:
    """One that is stopped at its deadline with something left; without parts it had no turn."""
    segments = tuple(RateSegment(*part) for part in parts)
    size = sum((end - start) * rate for start, end, rate in parts) + left
    start = parts[0][0] if parts else deadline
    return PlannedSite(
        name, size, deadline=deadline, start=start, end=deadline, segments=segments, left_bytes=left
    )


def make_plan(
    *sites: PlannedSite,
    bandwidth: BytesPerSecond | Timetable = LINE,
    pieces: Sequence[tuple[float, float]] = ((0.0, 100.0),),
    verdict: Verdict | None = None,
    remedy: Remedy | None = None,
    bounds: tuple[float, float, float] = (0.0, 1.0, 1.0),
    objective: Objective = Objective.MAKESPAN,
) -> Plan:
    """A plan with bounds on tardiness, makespan and total time."""
    relax = {site.name: site.late or 1.0 for site in sites if site.late or site.left_bytes}
    return Plan(
        "headgate",
        Budget(bandwidth, objective=objective),
        tuple(RatePiece(start, BytesPerSecond(rate)) for start, rate in pieces),
        verdict or (Verdict.INFEASIBLE if relax else Verdict.FEASIBLE),
        sites,
        tuple(site.name for site in sites),
        remedy or Remedy(80.0, 90.0, None, relax),
        *bounds,
        left_seconds=sum(site.left_bytes for site in sites) / LINE,
    )


def make_timetable_plan(*sites: PlannedSite, remedy: Remedy) -> Plan:
    """Under 100 B/s from eight, 50 B/s from nine; starts at eight."""
    table = Timetable.parse(["08:00 100 B/s", "09:00 50 B/s"], ZoneInfo("UTC"))
    pieces = ((0.0, 100.0), (3600.0, 50.0), (86400.0, 100.0))
    return make_plan(*sites, bandwidth=table, pieces=pieces, remedy=remedy)
