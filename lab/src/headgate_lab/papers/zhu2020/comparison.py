"""All policies on the fifty sites, instance by instance, and the means over instances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TypeAlias

import numpy as np

from headgate.scheduling.policies import DEFAULT_POLICY, POLICIES
from headgate.scheduling.problem import Problem, Schedule
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.zhu2020.families import (
    CAP_SHARES,
    CRITICAL_KBIT,
    FAMILIES,
    LATER,
    fifty_sites,
)

__all__ = [
    "BANDWIDTHS",
    "PAPER_POLICIES",
    "Cell",
    "Comparison",
    "NeverWorse",
    "Outcome",
    "Task",
    "compare",
    "comparison_tasks",
    "mean_outcome",
    "never_worse",
    "run_task",
]

BANDWIDTHS = (520.0, 530.0, 540.0)
PAPER_POLICIES = (
    *("ReAlloc-MAXT", "ReAlloc-SUMT", "ReAlloc-PROBandwidth"),
    *("AllocOnce", "ReAlloc-PRODataAmount"),
)
_ROUNDING_SECONDS = 1e-3
"""Our policy compares lateness to the millisecond, so the verdict on it does."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one policy on one instance, or the mean over instances."""

    lateness: float
    makespan: float
    total_time: float
    on_time_percent: float
    obj1: float
    """ln makespan + ln lateness, lateness counted as a second at the least."""
    obj2: float
    """ln total time + ln lateness."""

    @classmethod
    def of(cls, problem: Problem, schedule: Schedule) -> Outcome:
        late = schedule.lateness(problem)
        log_late = np.log(max(float(late.sum()), 1.0))
        return cls(
            float(late.sum()),
            schedule.makespan,
            schedule.total_time,
            100.0 * float((late == 0).mean()),
            float(np.log(schedule.makespan) + log_late),
            float(np.log(schedule.total_time) + log_late),
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """What is varied: one line of the tables per policy."""

    family: str
    caps: str
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Task:
    """One instance to run all policies on. A value, so that other processes can do it."""

    cell: Cell
    seed: int
    instance: int


Comparison: TypeAlias = dict[Cell, dict[str, list[Outcome]]]
"""Per cell and policy the outcomes, instance by instance."""


def comparison_tasks(instances: int, seed: int) -> list[Task]:
    """Families x caps x bandwidths; half as many instances where caps call for a search. With later
    deadlines, families P and Q at the critical bandwidth."""
    return [
        Task(Cell(family, caps, bandwidth), seed, instance)
        for caps, shares in CAP_SHARES.items()
        for family in (FAMILIES if caps not in LATER else FAMILIES[:2])
        for bandwidth in (BANDWIDTHS if caps not in LATER else (CRITICAL_KBIT,))
        for instance in range(instances if shares is None else max(1, instances // 2))
    ]


def run_task(task: Task) -> dict[str, Outcome]:
    """Every policy on one instance."""
    cell = task.cell
    problem = fifty_sites(
        cell.family, cell.caps, cell.bandwidth, seed=task.seed, instance=task.instance
    )
    return {
        policy: Outcome.of(
            problem,
            POLICIES[policy].schedule(problem, np.random.default_rng([task.seed, task.instance])),
        )
        for policy in (*PAPER_POLICIES, DEFAULT_POLICY)
    }


def compare(tasks: Sequence[Task], mapper: Mapper) -> Comparison:
    """Run the tasks and gather them by cell."""
    gathered: defaultdict[Cell, defaultdict[str, list[Outcome]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for task, outcomes in zip(tasks, mapper(run_task, tasks), strict=True):
        for policy, outcome in outcomes.items():
            gathered[task.cell][policy].append(outcome)
    return {cell: dict(by_policy) for cell, by_policy in gathered.items()}


def mean_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    columns = np.mean([astuple(outcome) for outcome in outcomes], axis=0)
    return Outcome(*(float(column) for column in columns))


@dataclass(frozen=True, slots=True)
class NeverWorse:
    """On how many instances the default is at most as late as the best of the paper's policies."""

    caps: str
    instances: int
    kept: int
    broken_by: tuple[str, ...]
    """Policies that were less late somewhere."""


def never_worse(comparison: Comparison) -> list[NeverWorse]:
    """Counted per kind of caps, over all families and bandwidths."""
    return [_never_worse(caps, comparison) for caps in {cell.caps: None for cell in comparison}]


def _never_worse(caps: str, comparison: Comparison) -> NeverWorse:
    instances, kept = 0, 0
    broken_by: set[str] = set()
    for cell, by_policy in comparison.items():
        if cell.caps != caps:
            continue
        for k, ours in enumerate(by_policy[DEFAULT_POLICY]):
            limit = ours.lateness - _ROUNDING_SECONDS
            better = [name for name in PAPER_POLICIES if by_policy[name][k].lateness < limit]
            instances += 1
            kept += not better
            broken_by.update(better)
    return NeverWorse(caps, instances, kept, tuple(sorted(broken_by)))
