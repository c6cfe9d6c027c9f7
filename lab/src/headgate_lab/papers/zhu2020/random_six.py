"""The six sites with deadlines that nobody fitted: means over random ones.

The paper prints none. Here each is U(1, 4) of one time, which is chosen so that Eq. 1 asks for the
same rate as in the paper, 950 or 1300 kbit/s on a line of 1000."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headgate.scheduling.allocation import required_rate
from headgate.scheduling.problem import Problem
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.zhu2020.families import KBIT, six_sites
from headgate_lab.papers.zhu2020.instant import (
    INSUFFICIENT_POLICIES,
    SUFFICIENT_POLICIES,
    InstantResult,
    run_instant,
)

__all__ = ["ASKED", "RandomSix", "random_six", "random_six_sites"]

ASKED = {950: SUFFICIENT_POLICIES, 1300: INSUFFICIENT_POLICIES}
"""What Eq. 1 asks for, kbit/s, and who is tried there."""
_LOOSEST = 4.0


@dataclass(frozen=True, slots=True)
class RandomSix:
    """Seconds, over all instances."""

    asked: int
    policy: str
    instances: int
    mean: InstantResult
    spread: InstantResult
    """Standard deviations."""


def random_six_sites(asked: int, seed: int, number: int) -> Problem:
    """
    >>> problem = random_six_sites(1300, seed=1, number=0)
    >>> round(required_rate(problem.work, problem.deadlines) / KBIT, 6)
    1300.0
    """
    sites = six_sites()
    drawn = np.random.default_rng([seed, number]).uniform(1.0, _LOOSEST, len(sites))
    deadlines = drawn * required_rate(sites.work, drawn) / (asked * KBIT)
    return Problem.from_arrays(sites.work, deadlines, budget=sites.capacity.peak)


def random_six(instances: int, seed: int, mapper: Mapper) -> list[RandomSix]:
    tasks = [(asked, seed, number) for asked in ASKED for number in range(instances)]
    found = list(mapper(_played, tasks))
    by_asked = {asked: found[k * instances :][:instances] for k, asked in enumerate(ASKED)}
    return [
        RandomSix(asked, rows[0].policy, instances, *_summed_up(rows))
        for asked, results in by_asked.items()
        for rows in zip(*results, strict=True)
    ]


def _played(task: tuple[int, int, int]) -> list[InstantResult]:
    asked, seed, _ = task
    problem = random_six_sites(*task)
    return [run_instant(policy, problem, seed) for policy in ASKED[asked]]


def _summed_up(rows: Sequence[InstantResult]) -> tuple[InstantResult, InstantResult]:
    values = np.array([(row.max_time, row.total_time, row.lateness) for row in rows])
    name = rows[0].policy
    means, spreads = values.mean(axis=0).tolist(), values.std(axis=0).tolist()
    return InstantResult(name, *means), InstantResult(name, *spreads)
