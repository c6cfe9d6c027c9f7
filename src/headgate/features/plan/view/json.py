"""A plan as JSON. The keys are public: ``version`` is raised when one changes its meaning or is
removed.

Seconds from the start of the run, bytes, bytes per second. What is not a finite number is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from headgate.model.plan import Foreseen, Guess, Plan, PlannedSite
from headgate.model.timetable import Timetable

__all__ = ["comparison_as_json", "plan_as_json"]


def plan_as_json(plan: Plan) -> str:
    return _dumped(_plan(plan))


def comparison_as_json(plans: Sequence[Plan]) -> str:
    return _dumped({"plans": [_plan(plan) for plan in plans]})


def _dumped(document: dict[str, Any]) -> str:
    return json.dumps({"version": 1, **document}, indent=2, allow_nan=False)


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "policy": plan.policy,
        "feasible": plan.feasible,
        "verdict": str(plan.verdict),
        "verdict_at_best": None if plan.at_best is None else str(plan.at_best),
        "verdict_at_worst": None if plan.at_worst is None else str(plan.at_worst),
        "needed_bandwidth": _number(plan.remedy.needed_bandwidth),
        "enough_bandwidth": _number(plan.remedy.enough_bandwidth),
        "budget": _budget(plan),
        "zone": plan.budget.timetable_zone,
        "quota": _quota(plan),
        "objective": str(plan.budget.objective),
        "makespan": _number(plan.makespan),
        "total_time": _number(plan.total_time),
        "tardiness": _number(plan.tardiness),
        "left_bytes": _number(plan.left_bytes),
        "shortfall": _number(plan.shortfall),
        "late_sites": list(plan.late_sites),
        "stopped_sites": list(plan.stopped_sites),
        "relax": {name: _number(seconds) for name, seconds in plan.remedy.relax.items()},
        "scale": _number(plan.remedy.scale),
        "bounds": {
            "makespan": _number(plan.makespan_bound),
            "total_time": _number(plan.total_time_bound),
            "shortfall": _number(plan.shortfall_bound),
        },
        "sites": [_site(site) for site in plan.sites],
    }


def _budget(plan: Plan) -> float | list[dict[str, float | None]] | None:
    """One rate, or the rates by timetable and quota during the plan."""
    if not isinstance(plan.budget.bandwidth, Timetable) and plan.budget.quota is None:
        return _number(plan.budget_pieces[0].rate)
    makespan = plan.makespan
    return [
        {"start": _number(piece.start), "rate": _number(piece.rate)}
        for piece in plan.budget_pieces
        if piece.start < makespan
    ]


def _quota(plan: Plan) -> dict[str, Any] | None:
    quota = plan.budget.quota
    if quota is None:
        return None
    return {"bytes": quota.bytes, "period": str(quota.period), "zone": str(quota.zone)}


def _site(site: PlannedSite) -> dict[str, Any]:
    return {
        "name": site.name,
        "bytes": _number(site.bytes),
        "deadline": _number(site.deadline),
        "start": _number(site.start),
        "end": _number(site.end),
        "late": _number(site.late),
        "left_bytes": _number(site.left_bytes),
        "foreseen_end": _foreseen(site.foreseen),
        "guess": _guess(site.guess),
        "segments": [
            {
                "start": _number(segment.start),
                "end": _number(segment.end),
                "rate": _number(segment.rate),
            }
            for segment in site.segments
        ],
    }


def _foreseen(foreseen: Foreseen | None) -> dict[str, float | None] | None:
    if foreseen is None:
        return None
    return {
        "earliest": _number(foreseen.earliest),
        "likely": _number(foreseen.likely),
        "latest": _number(foreseen.latest),
    }


def _guess(guess: Guess | None) -> dict[str, Any] | None:
    if guess is None:
        return None
    return {
        "size_by": guess.size_by or None,
        "bytes_range": None if guess.bytes_range is None else list(guess.bytes_range),
        "server_speed": guess.server_speed,
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
