"""One policy on the six sites: latest end, sum of execution times, total lateness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from headgate.model.budget import Objective
from headgate.scheduling.policies import DEFAULT_POLICY, POLICIES
from headgate.scheduling.problem import Problem, Schedule

__all__ = ["INSUFFICIENT_POLICIES", "SUFFICIENT_POLICIES", "InstantResult", "run_instant"]

SUFFICIENT_POLICIES = (
    *("M-MAXT", "M-SUMT", "PROBandwidth", "Random", "GA", "DE"),
    DEFAULT_POLICY,
)
INSUFFICIENT_POLICIES = (
    *("M-STET", "PRODataAmount", "PROBandwidth", "GA", "DE"),
    DEFAULT_POLICY,
)
_DRAWS = {"Random": 40}
"""Runs of which the mean counts; one is enough for any other policy."""


@dataclass(frozen=True, slots=True)
class InstantResult:
    """Seconds."""

    policy: str
    max_time: float
    total_time: float
    lateness: float


def run_instant(policy: str, problem: Problem, seed: int) -> InstantResult:
    """Searches run once per objective, as in the paper, each judged by its own."""
    seeds = [[seed, draw] for draw in range(_DRAWS.get(policy, 1))]
    for_makespan = [_schedule(policy, problem, Objective.MAKESPAN, each) for each in seeds]
    for_total = [_schedule(policy, problem, Objective.TOTAL_TIME, each) for each in seeds]
    return InstantResult(
        policy,
        float(np.mean([schedule.makespan for schedule in for_makespan])),
        float(np.mean([schedule.total_time for schedule in for_total])),
        float(np.mean([schedule.tardiness(problem) for schedule in for_makespan])),
    )


def _schedule(policy: str, problem: Problem, objective: Objective, seed: list[int]) -> Schedule:
    rng = np.random.default_rng(seed)
    return POLICIES[policy].schedule(replace(problem, objective=objective), rng)
