"""The budget over time: a rate, a timetable or a quota, unrolled into pieces of constant rate."""

from __future__ import annotations

import math
from datetime import datetime

import msgspec
from msgspec.structs import replace

from headgate.model.budget import Budget
from headgate.model.errors import PlanningError
from headgate.model.quota import QuotaUse
from headgate.model.timetable import Timetable
from headgate.planning.capacity import Capacity
from headgate.planning.quota import within_quota

__all__ = ["WEEK_SECONDS", "Demand", "RunStart", "budget_capacity", "capacity_for", "unrolled"]

WEEK_SECONDS = 7 * 86400.0
_NO_LIMIT = 1e12
"""Bytes per second."""


class RunStart(msgspec.Struct, frozen=True):
    """The start of a run, if known, and the quota used by then."""

    moment: datetime | None
    quota_used: float = 0.0

    def moment_for(self, what: str) -> datetime:
        if self.moment is None:
            raise PlanningError(f"a {what} needs to know when the crawl starts; give start")
        return self.moment


def budget_capacity(budget: Budget, start: datetime, weeks: int) -> Capacity:
    """The budget over so many weeks without its quota, for a crawl that follows it; unlimited is 1
    TB/s."""
    return unrolled(replace(budget, quota=None), RunStart(start), weeks, Demand(0.0, _NO_LIMIT))


def capacity_for(
    budget: Budget,
    start: datetime,
    weeks: int,
    *,
    work: float,
    usable: float,
    quota_used: float = 0.0,
) -> Capacity:
    """The budget over so many weeks, cut to its quota, for a crawl of so many bytes that takes no
    more than ``usable`` bytes per second."""
    demand = Demand(work, min(usable, _NO_LIMIT))
    return unrolled(budget, RunStart(start, quota_used), weeks, demand)


class Demand(msgspec.Struct, frozen=True):
    """The demand of all sites together."""

    work: float
    usable: float
    """Bytes per second that they can use at most."""


def unrolled(budget: Budget, start: RunStart, weeks: int, demand: Demand) -> Capacity:
    """The budget in pieces; an unlimited one is the most that the sites can use."""
    usable = demand.usable
    if isinstance(budget.bandwidth, Timetable):
        pieces = _by_timetable(budget.bandwidth, start.moment_for("timetable"), weeks)
    else:
        pieces = [(0.0, float(budget.bandwidth))]
    if any(math.isinf(rate) for _, rate in pieces) and math.isinf(usable):
        raise PlanningError(
            "with unlimited bandwidth the sites' own speeds decide; give each site a max_rate"
        )
    if not any(rate > 0 for _, rate in pieces):
        raise PlanningError("bandwidth must be above 0")
    pieces = [(at, usable if math.isinf(rate) else rate) for at, rate in pieces]
    if budget.quota is not None:
        use = QuotaUse(budget.quota, start.quota_used, start.moment_for("quota"))
        if demand.work > use.left:  # else it never runs out
            spent = [(at, min(rate, usable)) for at, rate in pieces]
            pieces = within_quota(spent, use, horizon=weeks * WEEK_SECONDS)
    return Capacity.of(pieces)


def _by_timetable(timetable: Timetable, start: datetime, weeks: int) -> list[tuple[float, float]]:
    """So many weeks of the timetable, ending with a piece that allows something."""
    pieces: list[tuple[float, float]] = []
    for piece in timetable.pieces(start):
        if pieces and piece.start >= weeks * WEEK_SECONDS and pieces[-1][1] > 0:
            return pieces
        if not pieces or piece.rate != pieces[-1][1]:
            pieces.append((piece.start, float(piece.rate)))
    raise AssertionError("a timetable has no end")
